"""Patterns of references: zoo:parse-* for included models, path:/runs/* for folders."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from core.errors import SpecError
from core.models.describing import zoo_models
from core.models.files.checkpoints import ADAPTER, CONFIG
from core.models.references import PATTERN, parse_ref
from core.models.zoo import zoo_folder


def matching_refs(text: str, adapters: bool = False) -> tuple[str, ...]:
    """List the references that a reference or a pattern names.

    Included models come in the manifest's order, folders by name.

    Args:
        text: The reference or pattern.
        adapters: Whether folders with an adapter are included.

    Raises:
        SpecError: If a pattern matches nothing, or is not of kind zoo: or path:.
        ModelError: If the text is not a reference, or names folders on a shared instance.
    """
    text = text.strip()
    if not PATTERN.search(text):
        return (str(parse_ref(text)),)
    kind, _, name = text.partition(":")
    if kind == "zoo":
        included = [str(entry["ref"]) for entry in zoo_models()]
        included = included or [
            f"zoo:{folder.name}" for folder in sorted((zoo_folder() / "models").glob("*"))
        ]
        refs = [ref for ref in included if fnmatchcase(ref, text)]
    elif kind == "path":
        parse_ref("path:.")  # refuses folders on a shared instance
        where = Path(name).expanduser()
        folders = sorted(where.parent.glob(where.name))
        marks = (CONFIG, ADAPTER) if adapters else (CONFIG,)
        held = [folder for folder in folders if any((folder / mark).is_file() for mark in marks)]
        refs = [str(parse_ref(f"path:{folder}")) for folder in held]
    else:
        raise SpecError(
            f"{text!r} is a pattern, which works for zoo: and path: only; name Hub models one by "
            "one."
        )
    if not refs:
        raise SpecError(f"No model matches {text!r}; check the pattern.")
    return tuple(refs)
