"""References by their keys, as studies, measures and reports cite them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from core.errors import PalimpsestError
from core.results.papers.reference import PALIMPSEST, Reference
from core.results.words import as_record, read_toml

FILE = Path(__file__).with_name("references.toml")
PAPERS = tuple(
    as_record(Reference, {"key": key, "year": None} | record, f"{FILE}: {key}")
    for key, record in sorted(read_toml(FILE).items())
)

REGISTRY = {reference.key: reference for reference in (PALIMPSEST, *PAPERS)}


def cite(keys: Iterable[str]) -> tuple[Reference, ...]:
    """Look up references by their keys, each once, in the order of their first mention.

    Raises:
        PalimpsestError: If a key is not in the registry.
    """
    named = tuple(dict.fromkeys(keys))
    absent = [key for key in named if key not in REGISTRY]
    if absent:
        raise PalimpsestError(
            f"There is no reference {absent[0]!r}: add it to core/results/papers/{FILE.name}."
        )
    return tuple(REGISTRY[key] for key in named)
