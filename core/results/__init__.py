"""Results of studies: their numbers, tables, sentences, papers and files.

`core.results.load(folder)` reads a result that a study has written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.results.reading import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import `load` on first use, so that importing this package is fast."""
    if name == "load":
        from core.results.reading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
