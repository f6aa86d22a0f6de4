"""Folders of files that are written as a whole."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from core.errors import PalimpsestError

RECORD = "result.json"  # of a result; it names the files beside it


class ExportError(PalimpsestError):
    """A result that could not be written."""


def former_files(folder: Path) -> list[str]:
    """Read which files the result in a folder has beside its record; none if it has no record, or
    one that does not say."""
    try:
        names = json.loads((folder / RECORD).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str) and Path(name).name == name]


def try_folder(out: Path) -> None:
    """Check that files can be written to a folder, which is left as it is. Raises ExportError if
    not."""
    made: list[Path] = []
    try:
        for folder in (*reversed(out.parents), out):
            if not folder.is_dir():
                folder.mkdir()
                made.append(folder)
        trial = out / _partial_name()
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise _unwritable(out, error) from error
    finally:
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # another program has put something there
                folder.rmdir()


def write_folder(out: Path, files: Mapping[str, bytes], gone: Iterable[str] = ()) -> list[Path]:
    """Write files so that no reader of the folder sees only some of them: the first, which says
    what the others are, is removed before and written last. Raises ExportError and changes nothing
    if it cannot be written."""
    try:
        partial = (out if out.is_dir() else out.parent) / _partial_name()
        try:
            for name, content in files.items():
                (partial / name).parent.mkdir(parents=True, exist_ok=True)
                (partial / name).write_bytes(content)
            _move_files(partial, out, list(files), set(gone) - set(files))
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise _unwritable(out, error) from error
    return [out / name for name in files]


def _partial_name() -> str:
    return f".palimpsest-{secrets.token_hex(4)}.part"


def _unwritable(out: Path, error: OSError) -> ExportError:
    return ExportError(
        f"The result could not be written to {out}: {error.strerror}. "
        "Choose another folder with --out."
    )


def _move_files(partial: Path, out: Path, names: list[str], gone: Iterable[str]) -> None:
    """Move the whole folder where there is none yet; otherwise file by file, the first one last."""
    try:
        partial.rename(out)
    except OSError:
        if not out.is_dir():
            raise
        (out / names[0]).unlink(missing_ok=True)
        for name in gone:
            (out / name).unlink(missing_ok=True)
        for name in (*names[1:], names[0]):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).replace(out / name)
