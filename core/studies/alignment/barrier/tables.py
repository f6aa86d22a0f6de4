"""Tables of the barrier, of the loss and of a task's score: each pair of models, and means over
pairs of one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.barrier import calc_barrier, excess_of
from core.maths.resampled import Resampled
from core.maths.statistics import corrected_level, ratio, sentence_counts
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
BASE_LOSSES = ("model", "above_base", "low", "high", "level")
MIDPOINT = len(SHARES) // 2  # number of the point
SCORED_WAYS = (RAW, MATCHED)  # in which a task is scored
Pair = tuple[str, str]


def barrier_tables(
    values: Mapping[Pair, Value],
    ways: Mapping[Pair, Sequence[str]],
    relations: Mapping[Pair, str],
    counts: np.ndarray,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make BARRIERS, a row for each pair and way, and PATHS, means over the pairs of one relation,
    from the values of `measure_barrier`; `counts` says how often each sentence is drawn, (draw,
    sentence)."""
    rows: list[tuple[Any, ...]] = []
    together: dict[tuple[str, str], list[Resampled]] = {}
    for pair, value in values.items():
        for way, losses in zip(ways[pair], np.asarray(value["losses"]), strict=True):
            if not np.isfinite(losses).all():
                continue
            line = Resampled.of(losses, value["tokens"], counts)
            rows.append((*pair, relations[pair], way, *_peak(line), *_ends(line)))
            together.setdefault((relations[pair], way), []).append(line)
    means: list[tuple[Any, ...]] = []
    for kind, paths in together.items():
        columns = (SHARES, *_excess(_mean(paths)).with_interval())
        means += [(*kind, *numbers, len(paths)) for numbers in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=list(BARRIERS)), pd.DataFrame(means, columns=list(PATHS))


def base_table(
    values: Mapping[Pair, Value], relations: Mapping[Pair, str], base: str, counts: np.ndarray
) -> pd.DataFrame:
    """Make BASE_LOSSES: how far the loss halfway between the base and each model of its origin is
    above the base's own, with intervals that hold for all of them."""
    pairs = [pair for pair in values if base in pair and relations[pair] == ONE_ORIGIN]
    level = corrected_level(len(pairs))
    rows: list[tuple[Any, ...]] = []
    for pair in pairs:
        losses = np.asarray(values[pair]["losses"])[0]  # as they are
        if not np.isfinite(losses).all():
            continue
        above = losses[MIDPOINT] - losses[0 if pair[0] == base else -1]
        excess = Resampled.of(above, values[pair]["tokens"], counts).with_interval(level)
        rows.append((pair[pair[0] == base], *map(float, excess), level))
    return pd.DataFrame(rows, columns=list(BASE_LOSSES))


def score_tables(
    values: Mapping[Pair, Value],
    ways: Mapping[Pair, Sequence[str]],
    relations: Mapping[Pair, str],
    metrics: Mapping[str, tuple[str, float]],
    draws: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make SCORED, a row for each scored model, other and way, and SCORE_PATHS, means over the
    pairs of one relation and metric, from the values of `score_line`; `metrics` holds what each
    model is scored by, with its majority baseline."""
    rows: list[tuple[Any, ...]] = []
    together: dict[tuple[str, str, str], list[Resampled]] = {}
    for pair, value in values.items():
        metric, chance = metrics[pair[0]]
        total, relation = np.asarray(value["total"]), relations[pair]
        counts = sentence_counts(len(total), draws, np.random.default_rng(seed))
        hits = dict(zip(ways[pair], np.asarray(value["hits"]), strict=True))
        random = np.asarray(value["random"])
        hits |= {TURNED: random.mean(0)} | ({KEPT: value["kept"]} if "kept" in value else {})
        for way, right in hits.items():
            if right.min() < 0:
                continue
            changes = ratio(random, total) if way == TURNED else None
            line = replace(Resampled.of(right, total, counts), changes=changes)
            peak = _peak(line.mapped(np.negative))
            rows.append((*pair, relation, way, metric, *peak, *_ends(line), chance))
            together.setdefault((relation, way, metric), []).append(line)
    chances = dict(metrics.values())
    means: list[tuple[Any, ...]] = []
    for kind, paths in together.items():
        line = _mean(paths)
        columns = (SHARES, *line.with_interval(), *_excess(line).with_interval())
        more = (len(paths), chances[kind[2]])
        means += [(*kind, *numbers, *more) for numbers in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=list(SCORED)), pd.DataFrame(means, columns=list(SCORE_PATHS))


def _peak(line: Resampled) -> tuple[float, float, float, float]:
    """Find the largest excess over the chord, its interval, and the share there."""
    at, barrier = calc_barrier(line.value, SHARES)
    _, low, high = _excess(line).at(at).with_interval()
    return barrier, float(low), float(high), SHARES[at]


def _ends(line: Resampled) -> tuple[float, float, float]:
    """Take the values at both ends and halfway."""
    return line.value[0], line.value[-1], line.value[MIDPOINT]


def _excess(line: Resampled) -> Resampled:
    """Subtract what lies between both ends."""
    return line.mapped(lambda part: excess_of(part, SHARES))


def _mean(lines: Sequence[Resampled]) -> Resampled:
    """Average over pairs; random changes of one number were drawn alike for all of them."""
    changes = [line.changes for line in lines if line.changes is not None]
    return replace(
        lines[0],
        value=np.mean([line.value for line in lines], axis=0),
        resamples=np.mean([line.resamples for line in lines], axis=0),
        changes=np.mean(changes, axis=0) if changes else None,
    )
