"""Tables of the barrier: each pair of models, and means over pairs of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.permutations import calc_barrier, excess_of
from core.maths.statistics import bootstrap_interval, sentence_ratios
from core.studies.alignment.barrier.tasks import SHARES

ONE_ORIGIN, OTHER_ORIGINS = "one origin", "other origins"
BARRIERS = (
    *("source", "target", "relation", "order", "barrier", "low", "high", "share"),
    *("source_loss", "target_loss", "middle_loss"),
)
PATHS = ("relation", "order", "share", "excess_loss", "low", "high", "pairs")
Pair = tuple[str, str]


def barrier_tables(
    values: Mapping[Pair, Value],
    ways: Mapping[Pair, Sequence[str]],
    relations: Mapping[Pair, str],
    counts: np.ndarray,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make BARRIERS, a row for each pair and way, and PATHS, means over the pairs of one relation.

    Args:
        values: What `measure_barrier` returned.
        ways: The ways of each pair, as it was asked.
        relations: Whether the models of a pair come from one origin.
        counts: How often each sentence is drawn, (draw, sentence).
    """
    rows: list[dict[str, Any]] = []
    together: dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    for pair, value in values.items():
        for way, losses in zip(ways[pair], np.asarray(value["losses"]), strict=True):
            if not np.isfinite(losses).all():
                continue
            mean, drawn = sentence_ratios(losses, np.asarray(value["tokens"]), counts)
            at, barrier = calc_barrier(mean, SHARES)
            low, high = bootstrap_interval(barrier, excess_of(drawn, SHARES)[:, at])
            ends = (mean[0], mean[-1], mean[len(SHARES) // 2])
            row = (*pair, relations[pair], way, barrier, float(low), float(high), SHARES[at], *ends)
            rows.append(dict(zip(BARRIERS, row, strict=True)))
            together.setdefault((relations[pair], way), []).append((mean, drawn))
    means = []
    for (relation, way), paths in together.items():
        excess, drawn = (
            excess_of(np.mean(parts, axis=0), SHARES) for parts in zip(*paths, strict=True)
        )
        low, high = bootstrap_interval(excess, drawn)
        means += [
            dict(zip(PATHS, (relation, way, *values_at, len(paths)), strict=True))
            for values_at in zip(SHARES, excess, low, high, strict=True)
        ]
    return pd.DataFrame(rows, columns=list(BARRIERS)), pd.DataFrame(means, columns=list(PATHS))
