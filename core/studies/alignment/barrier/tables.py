"""Tables of the barrier, of the loss and of a task's score: each pair of models, and means over
pairs of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.permutations import calc_barrier, excess_of
from core.maths.statistics import bootstrap_interval, ratios, sentence_counts
from core.studies.alignment.barrier.scoring import KEPT, TURNED
from core.studies.alignment.barrier.tasks import MATCHED, RAW, SHARES

ONE_ORIGIN, OTHER_ORIGINS = "one origin", "other origins"
BARRIERS = (
    *("source", "target", "relation", "order", "barrier", "low", "high", "share"),
    *("source_loss", "target_loss", "middle_loss"),
)
PATHS = ("relation", "order", "share", "excess_loss", "low", "high", "pairs")
SCORED = (
    *("model", "other", "relation", "order", "metric", "score_barrier", "low", "high", "share"),
    *("score", "other_score", "middle_score", "chance"),
)
SCORE_PATHS = (
    *("relation", "order", "metric", "share", "score", "low", "high"),
    *("excess_score", "excess_score_low", "excess_score_high", "pairs", "chance"),
)
SCORED_WAYS = (RAW, MATCHED)  # in which a task is scored
Pair = tuple[str, str]
Line = tuple[np.ndarray, np.ndarray]  # (share,), and the same in each resample, (draw, share)


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
    rows: list[tuple[Any, ...]] = []
    together: dict[tuple[str, str], list[Line]] = {}
    for pair, value in values.items():
        for way, losses in zip(ways[pair], np.asarray(value["losses"]), strict=True):
            if not np.isfinite(losses).all():
                continue
            line = ratios(losses, value["tokens"], counts)
            rows.append((*pair, relations[pair], way, *_peak(line), *_ends(line)))
            together.setdefault((relations[pair], way), []).append(line)
    means: list[tuple[Any, ...]] = []
    for kind, paths in together.items():
        excess, drawn = (excess_of(part, SHARES) for part in _mean(paths))
        columns = (SHARES, excess, *bootstrap_interval(excess, drawn))
        means += [(*kind, *numbers, len(paths)) for numbers in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=list(BARRIERS)), pd.DataFrame(means, columns=list(PATHS))


def score_tables(
    values: Mapping[Pair, Value],
    ways: Mapping[Pair, Sequence[str]],
    relations: Mapping[Pair, str],
    metrics: Mapping[str, tuple[str, float]],
    draws: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make SCORED, a row for each scored model, other and way, and SCORE_PATHS, means over the
    pairs of one relation and metric.

    Args:
        values: What `score_line` returned, by scored model and other.
        ways: The ways of each, as it was asked.
        relations: As of `barrier_tables`.
        metrics: What each model is scored by, with its majority baseline.
        draws, seed: Of the bootstrap over sentences.
    """
    rows: list[tuple[Any, ...]] = []
    together: dict[tuple[str, str, str], list[Line]] = {}
    for pair, value in values.items():
        metric, chance = metrics[pair[0]]
        total, relation = np.asarray(value["total"]), relations[pair]
        counts = sentence_counts(len(total), draws, np.random.default_rng(seed))
        hits = dict(zip(ways[pair], np.asarray(value["hits"]), strict=True))
        hits[TURNED] = np.mean(value["random"], axis=0)
        if "kept" in value:
            hits[KEPT] = np.asarray(value["kept"])
        for way, right in hits.items():
            if right.min() < 0:
                continue
            line = ratios(right, total, counts)
            peak = _peak((-line[0], -line[1]))
            rows.append((*pair, relation, way, metric, *peak, *_ends(line), chance))
            together.setdefault((relation, way, metric), []).append(line)
    chances = dict(metrics.values())
    means: list[tuple[Any, ...]] = []
    for kind, paths in together.items():
        score, drawn = _mean(paths)
        excess, moved = (excess_of(part, SHARES) for part in (score, drawn))
        columns = [SHARES, score, *bootstrap_interval(score, drawn)]
        columns += [excess, *bootstrap_interval(excess, moved)]
        more = (len(paths), chances[kind[2]])
        means += [(*kind, *numbers, *more) for numbers in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=list(SCORED)), pd.DataFrame(means, columns=list(SCORE_PATHS))


def _peak(line: Line) -> tuple[float, float, float, float]:
    """Find the largest excess over the chord, its interval, and the share there."""
    at, barrier = calc_barrier(line[0], SHARES)
    low, high = bootstrap_interval(barrier, excess_of(line[1], SHARES)[:, at])
    return barrier, float(low), float(high), SHARES[at]


def _ends(line: Line) -> tuple[float, float, float]:
    """Take the values at both ends and halfway."""
    mean = line[0]
    return mean[0], mean[-1], mean[len(SHARES) // 2]


def _mean(lines: Sequence[Line]) -> Line:
    score, drawn = (np.mean(parts, axis=0) for parts in zip(*lines, strict=True))
    return score, drawn
