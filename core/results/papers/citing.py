"""Papers by their keys: what a study, a measure or a report cites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from core.errors import PalimpsestError
from core.results.papers.bibliography import PAPERS
from core.results.papers.reference import PALIMPSEST, Reference


@cache
def registry() -> dict[str, Reference]:
    """Every reference by its key."""
    return {reference.key: reference for reference in (PALIMPSEST, *PAPERS)}


def cite(keys: Iterable[str]) -> tuple[Reference, ...]:
    """The references of these keys, each once, in the order in which they are first named.

    Raises:
        PalimpsestError: If a key is not in the registry; names it.
    """
    named = tuple(dict.fromkeys(keys))
    absent = [key for key in named if key not in registry()]
    if absent:
        raise PalimpsestError(f"No reference is called {absent[0]!r}: add it to core/results/papers/bibliography.py.")
    return tuple(registry()[key] for key in named)
