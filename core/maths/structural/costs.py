"""Processor seconds of training structural probes, fitted to one core."""

from __future__ import annotations

from collections.abc import Iterable

CONVERGED = 18  # epochs until most probes have converged
PROJECTED = 2.3e-10  # processor seconds per word, rank and dimension, in double precision
SINGLE = 0.4  # of the time in double precision; .35 with fast bfloat16
MEASURED = 8.5e-9  # processor seconds per word and rank, of distances


def training_seconds(
    probes: Iterable[str], rank: int, width: int, words: float, epochs: int, exact: bool = True
) -> float:
    """Estimate the processor seconds of training one probe of each kind.

    Args:
        probes: "distance", "depth" or both.
        rank: Of the maps; lowered to the width.
        width: Of the vectors.
        words: Of the text.
        epochs: Most epochs.
        exact: Whether in double precision.

    Example:
        >>> kinds = ("distance", "depth")
        >>> seconds = [training_seconds(some, 16, 128, 2_000, 40) for some in (kinds, kinds[:1])]
        >>> seconds[0] > seconds[1]
        True
    """
    rank = min(rank, width)
    once = sum(PROJECTED * rank * width + MEASURED * rank * (kind == "distance") for kind in probes)
    return (1.0 if exact else SINGLE) * min(epochs, CONVERGED) * words * once
