"""References by their keys, as studies, measures and reports cite them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from core.errors import PalimpsestError
from core.results.papers import architectures, bibliography, language_models, statistical
from core.results.papers.reference import PALIMPSEST, Reference

_PARTS = (bibliography, statistical, language_models, architectures)
PAPERS = tuple(
    sorted((paper for part in _PARTS for paper in part.PAPERS), key=lambda paper: paper.key)
)


@cache
def registry() -> dict[str, Reference]:
    """Map every key to its reference."""
    return {reference.key: reference for reference in (PALIMPSEST, *PAPERS)}


def cite(keys: Iterable[str]) -> tuple[Reference, ...]:
    """Look up references by their keys, each once, in the order of their first mention.

    Raises:
        PalimpsestError: If a key is not in the registry.
    """
    named = tuple(dict.fromkeys(keys))
    absent = [key for key in named if key not in registry()]
    if absent:
        raise PalimpsestError(
            f"There is no reference {absent[0]!r}: add it to core/results/papers/bibliography.py."
        )
    return tuple(registry()[key] for key in named)
