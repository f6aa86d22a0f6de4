"""Branches and tags of a model on the Hub, by which the steps of a training run are published."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from core.errors import ModelError
from core.models.hub import client as hub
from core.models.hub.asking import ask_json, is_offline
from core.models.hub.errors import failures, is_unreachable
from core.models.references import parse_ref
from core.runs.process.remembered import Memory

LISTED_FOR = 3_600.0  # seconds before a list is asked for again: longer than most studies run
MOST_REVISIONS = 100_000  # revisions of all models that are remembered
_DIGITS = re.compile(r"(\d+)")


def natural_key(text: str) -> tuple[int | str, ...]:
    """Split a name into text and numbers, so that names sort by the numbers in them.

    Example:
        >>> sorted(["step1000", "step50", "step0"], key=natural_key)
        ['step0', 'step50', 'step1000']
    """
    return tuple(int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text)))


def matching_revisions(name: str, pattern: str) -> tuple[str, ...]:
    """List the branches and tags of a model that a pattern such as "step*" names, by the numbers in
    their names. Raises ModelError as `list_revisions` does."""
    matching = [revision for revision in list_revisions(name) if fnmatchcase(revision, pattern)]
    return tuple(sorted(matching, key=natural_key))


def list_revisions(name: str) -> tuple[str, ...]:
    """List the branches and tags of a model, asked for once an hour; without the Hub, those that
    were downloaded earlier. Raises ModelError if the Hub cannot be asked or refuses, or its answer
    is no list."""
    key = (hub.endpoint(), name)
    if listed := _listed.fresh(key):
        return listed
    if is_offline():
        return _downloaded(name, None)
    try:
        answer, _ = ask_json(f"{hub.endpoint()}/api/models/{name}/refs", None, hub.login())
        revisions = _read(answer, name)
    except failures() as error:
        if is_unreachable(error):
            return _listed.last(key) or _downloaded(name, error)
        raise hub.refusal(error, name, None) from error
    _listed.put(key, revisions)
    return revisions


def _read(answer: object, name: str) -> tuple[str, ...]:
    """Read the names of branches and tags, without those that no reference can hold."""
    if not isinstance(answer, dict):
        raise ValueError("it does not list revisions")
    entries = [*(answer.get("branches") or ()), *(answer.get("tags") or ())]
    named = [str(entry.get("name")) for entry in entries if isinstance(entry, dict)]
    return tuple(dict.fromkeys(revision for revision in named if _can_be_named(name, revision)))


def _can_be_named(name: str, revision: str) -> bool:
    try:
        parse_ref(f"hub:{name}@{revision}")
    except ModelError:
        return False
    return True


def _downloaded(name: str, error: Exception | None) -> tuple[str, ...]:
    """List the revisions that were downloaded earlier, if any."""
    folder = hub.model_folder(name) / "refs"
    noted = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    revisions = tuple(sorted(note for note in noted if hub.earlier_download(name, note)))
    if not revisions:
        raise hub.refusal(error, name, None) from error
    return revisions


# by endpoint and name
_listed: Memory[tuple[str, ...]] = Memory(
    MOST_REVISIONS, seconds=LISTED_FOR, weigh=lambda revisions: 1 + len(revisions)
)
