"""One short name for a model, the same in every headline, chart and table of every room."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath


def short_name(ref: str) -> str:
    """A reference as a reader says it: `parse-0` for zoo:parse-0, `name` for a hub model or a folder."""
    random, _, rest = ref.rpartition("random:")
    kind, _, name = rest.partition(":")
    short = PurePath(name).name if kind in ("hub", "path") else name
    return f"random {short or ref}" if random or ref.startswith("random:") else short or ref


def short_names(refs: Iterable[str]) -> dict[str, str]:
    """Short name by reference, with the full reference where two models would have the same one."""
    names = {ref: short_name(ref) for ref in refs}
    taken = list(names.values())
    return {ref: name if taken.count(name) == 1 else ref for ref, name in names.items()}


def corpus_name(ref: str, genres: Iterable[str]) -> str:
    """A corpus as charts and tables name it."""
    named = ", ".join(genres)
    return f"{ref} ({named})" if named else ref
