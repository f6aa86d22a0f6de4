"""Patterns of references: zoo:parse-* for models of the box, path:/runs/* for folders."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from core.errors import SpecError
from core.models.describing import zoo_models
from core.models.files.checkpoints import ADAPTER, CONFIG
from core.models.references import PATTERN, parse_ref
from core.models.zoo import zoo_folder


def matching_refs(text: str, adapters: bool = False) -> tuple[str, ...]:
    """The references that a reference or a pattern names, in the box's order or by name.

    Args:
        text: The reference or pattern.
        adapters: Whether a folder with an adapter is meant as well as one with a model.

    Raises:
        SpecError: If a pattern matches nothing, or is of another kind than zoo: and path:.
        ModelError: If something is no reference, or folders are off on a shared instance.
    """
    text = text.strip()
    if not PATTERN.search(text):
        return (str(parse_ref(text)),)
    kind, _, name = text.partition(":")
    if kind == "zoo":
        included = [str(entry["ref"]) for entry in zoo_models()]
        included = included or [f"zoo:{folder.name}" for folder in sorted((zoo_folder() / "models").glob("*"))]
        refs = [ref for ref in included if fnmatchcase(ref, text)]
    elif kind == "path":
        parse_ref("path:.")  # refuses folders on a shared instance
        where = Path(name).expanduser()
        folders = sorted(where.parent.glob(where.name))
        marks = (CONFIG, ADAPTER) if adapters else (CONFIG,)
        held = [folder for folder in folders if any((folder / mark).is_file() for mark in marks)]
        refs = [str(parse_ref(f"path:{folder}")) for folder in held]
    else:
        raise SpecError(f"{text!r} is a pattern, which works for zoo: and path: only; name hub models one by one.")
    if not refs:
        raise SpecError(f"No model matches {text!r}.")
    return tuple(refs)
