"""Folders of this computer, listed to choose a model from: which hold a checkpoint, of what kind.

Only folders below the working folder and the home folder are listed, or below one that was typed,
and only names are read. Names that begin with a dot and links that lead elsewhere are left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from core.errors import ModelError, listed
from core.limits import current_limits
from core.models.files.layout import lay_out

MOST_READ = 5_000  # names read of one folder
MOST_LISTED = 100  # folders listed of one folder


@dataclass(frozen=True)
class Listing:
    """A folder and the folders in it.

    Attributes:
        folder: Absolute, without links.
        checkpoint: Its kind of checkpoint; "" if it holds none, see `checkpoint_in`.
        folders: Name -> kind of checkpoint of each folder in it, sorted by name.
        outside: How many links to folders elsewhere are left out.
        more: Whether there are more folders than are listed.
        above: The folder that contains it; None at the top.
    """

    folder: Path
    checkpoint: str
    folders: dict[str, str]
    outside: int
    more: bool
    above: Path | None


def top_folders() -> tuple[Path, ...]:
    """Return the working folder and the home folder: what lies below them can be listed."""
    tops = [Path.cwd()]
    try:
        tops.append(Path.home())
    except RuntimeError:  # an account without a home
        return (tops[0].resolve(),)
    return tuple(dict.fromkeys(top.resolve() for top in tops))


def list_folders(folder: Path, tops: Sequence[Path]) -> Listing:
    """List the folders in a folder at or below one of `tops`, which are without links. Raises
    ModelError if the instance is shared, or the folder does not exist, is hidden, lies elsewhere,
    or cannot be read."""
    if current_limits().shared:
        raise ModelError(
            "A shared instance does not show folders of its computer: use zoo: or hub: models."
        )
    try:
        here = folder.resolve(strict=True)
        if not _within(here, tops):
            raise ModelError(
                f"{folder} is hidden, or lies outside {listed([*map(str, tops)])}: type it as "
                "path:FOLDER instead."
            )
        with os.scandir(here) as entries:
            names = list(islice((entry.name for entry in entries), MOST_READ + 1))
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{folder} cannot be listed ({reason}): choose another.") from error
    visible = (name for name in names[:MOST_READ] if not name.startswith("."))
    targets = {name: _folder_at(here / name) for name in sorted(visible, key=str.casefold)}
    folders = {name: target for name, target in targets.items() if target is not None}
    inside = {name: target for name, target in folders.items() if _within(target, tops)}
    return Listing(
        folder=here,
        checkpoint=checkpoint_in(here),
        folders={name: checkpoint_in(inside[name]) for name in islice(inside, MOST_LISTED)},
        outside=len(folders) - len(inside),
        more=len(inside) > MOST_LISTED or len(names) > MOST_READ,
        above=None if here in tops and not _within(here.parent, tops) else here.parent,
    )


def checkpoint_in(folder: Path) -> str:
    """Return the kind of checkpoint that a folder holds, by the names of its files: "safetensors",
    "bin", "gguf" or "adapter"; "" if it holds none or cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            held = lay_out((entry.name for entry in islice(entries, MOST_READ)), folder)
    except OSError:
        return ""
    if held.adapter:
        return "adapter"
    readable = held.config in held.names
    return held.format.removeprefix(".") if readable else ""


def _folder_at(path: Path) -> Path | None:
    """Return the folder at a path, without links; None if there is none."""
    try:
        return path.resolve(strict=True) if path.is_dir() else None
    except (OSError, RuntimeError):  # a circular link, or a folder that is not ours to enter
        return None


def _within(folder: Path, tops: Sequence[Path]) -> bool:
    """Whether a folder without links lies below one of the tops, and no hidden folder between."""
    return any(
        not any(part.startswith(".") for part in folder.relative_to(top).parts)
        for top in tops
        if folder.is_relative_to(top)
    )
