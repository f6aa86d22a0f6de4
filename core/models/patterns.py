"""Patterns of references: zoo:parse-* for included models, path:/runs/* for folders,
hub:NAME@step* for revisions of a Hub model."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from core.errors import SpecError
from core.models.files.adapters import is_adapter
from core.models.files.layout import ADAPTER, CONFIG
from core.models.hub.client import MAIN
from core.models.hub.revisions import matching_revisions, natural_key
from core.models.references import WILDCARDS, is_of_revisions, is_pattern, parse_ref
from core.models.zoo import CAUSAL, read_adapters, read_manifest, zoo_folder

MOST_REVISIONS = 100  # that a pattern may match where a study does not thin them


def every_match(patterns: Iterable[str]) -> tuple[str, ...]:
    """List the references that references and patterns name, each once."""
    return tuple(dict.fromkeys(ref for pattern in patterns for ref in matching_refs(pattern)))


def matching_refs(text: str, most: int | None = MOST_REVISIONS) -> tuple[str, ...]:
    """List the references that a reference or pattern names, at `most` so many revisions (None:
    all); second runs of a seed and, after a first wildcard, decoders are left out. Raises SpecError
    if a pattern matches nothing or too much, ModelError for no reference or a silent Hub."""
    text = text.strip()
    if not is_pattern(text):
        return (str(parse_ref(text)),)
    kind, _, name = text.partition(":")
    if kind == "zoo":
        begins = WILDCARDS.split(name, maxsplit=1)[0]
        included = [
            str(entry["ref"])
            for entry in read_manifest()
            if not entry.get("second_run_of") and (begins or entry.get("task") != CAUSAL)
        ]
        included = included or [
            f"zoo:{folder.name}"
            for folder in sorted((zoo_folder() / "models").glob("*"))
            if not is_adapter(folder)
        ]
        adapted = [str(entry["ref"]) for entry in read_adapters()]
        matches = ([ref for ref in refs if fnmatchcase(ref, text)] for refs in (included, adapted))
        refs = next(filter(None, matches), [])
    elif kind == "path":
        parse_ref("path:.")  # refuses folders on a shared instance
        folders = _matching_folders(Path(name.strip()).expanduser())
        marks = (CONFIG, ADAPTER)
        held = [folder for folder in folders if any((folder / mark).is_file() for mark in marks)]
        refs = [str(parse_ref(f"path:{folder}")) for folder in held]
    else:
        refs = list(_matching_revisions(text))
        if most is not None and len(refs) > most:
            raise SpecError(
                f"{text!r} matches {len(refs):,} revisions, and at most {most:,} are read: "
                "narrow the pattern."
            )
    if not refs:
        raise SpecError(f"No model matches {text!r}; check the pattern.")
    return tuple(refs)


def _matching_folders(pattern: Path) -> list[Path]:
    """List what a folder's last part matches; brackets are brackets where names with them match."""
    try:
        entries = sorted(pattern.parent.iterdir(), key=lambda entry: natural_key(entry.name))
    except (OSError, ValueError):
        return []
    readings = (pattern.name.replace("[", "[[]"), pattern.name)
    matches = ([e for e in entries if fnmatchcase(e.name, reading)] for reading in readings)
    return next(filter(None, matches), [])


def _matching_revisions(text: str) -> tuple[str, ...]:
    """List the revisions that a pattern matches; the main branch is the model without one."""
    if not is_of_revisions(text):
        raise SpecError(
            f"{text!r} is a pattern, which works for zoo:, path: and revisions (hub:NAME@step*) "
            "only; name Hub models one by one."
        )
    name, _, pattern = text.partition("@")
    model = str(parse_ref(name))
    revisions = matching_revisions(model.removeprefix("hub:"), pattern)
    return tuple(model if each == MAIN else f"{model}@{each}" for each in revisions)
