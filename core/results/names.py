"""The short name of a model, the same in every headline, chart and table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath


def short_name(ref: str) -> str:
    """Shorten a reference: `parse-0` for zoo:parse-0, `name` for a Hub model or a folder."""
    random, _, rest = ref.rpartition("random:")
    kind, _, name = rest.partition(":")
    short = PurePath(name).name if kind in ("hub", "path") else name
    return f"random {short or ref}" if random or ref.startswith("random:") else short or ref


def short_names(refs: Iterable[str]) -> dict[str, str]:
    """Map references to short names, or to themselves where two models would have the same short name."""
    names = {ref: short_name(ref) for ref in refs}
    taken = list(names.values())
    return {ref: name if taken.count(name) == 1 else ref for ref, name in names.items()}


def corpus_name(ref: str, genres: Iterable[str]) -> str:
    """Name a corpus as charts and tables do."""
    named = ", ".join(genres)
    return f"{ref} ({named})" if named else ref
