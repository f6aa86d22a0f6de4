"""From right answers per sentence to scores, losses and their bands.

A score is the share of right answers; sentences are resampled with all their answers. A loss is the
unmodified fine-tune's score minus the swapped model's under the same draws, so answers that both
get wrong do not widen its band. The excess is the loss minus the mean loss under a random change of
equal size, with two sources of error: sentences, and draws of the random change. A reader looks for
the layers with a loss, so the bands of losses and excesses hold for all swapped layers of a model
together (Bonferroni).

Reference: none. Deviations: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.resampled import Resampled
from core.maths.statistics import corrected_level, sentence_counts
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS

EXCESS = ("excess", "excess_low", "excess_high")
COLUMNS = (
    *("model", "way", "layer", "score", "low", "high", "loss", "loss_low", "loss_high"),
    *(*EXCESS, "kept"),
)


def own_row(ref: str, value: Value, draws: int, seed: int) -> dict[str, Any]:
    """Score an unmodified model: model, score, low, high, sentences, items."""
    counts, total = _counts(value, draws, seed)
    score, low, high = Resampled.of(value["own"], total, counts).with_interval()
    return {
        "model": ref,
        "score": float(score),
        "low": float(low),
        "high": float(high),
        "sentences": len(total),
        "items": int(total.sum()),
    }


def exchange_rows(ref: str, value: Value, chance: float, draws: int, seed: int) -> pd.DataFrame:
    """Tabulate COLUMNS, a row per way and layer. `kept` is the share of the way from the majority
    baseline to the fine-tune's own score, NaN where that is no higher; `excess` is NaN except where
    there are random changes of the same layers."""
    counts, total = _counts(value, draws, seed)
    unmodified = Resampled.of(value["own"][None], total, counts)
    together = corrected_level(int(_swapped(value["layer"]).sum()))
    noise = {
        way: Resampled.of(value[f"noise/{way}"], total, counts).over_changes()
        for way in DONOR_WAYS
        if f"noise/{way}" in value
    }
    frames = []
    for way in (*BASE_WAYS, *(f"random {way}" for way in DONOR_WAYS if f"random/{way}" in value)):
        right = value[way.replace(" ", "/")]
        score = Resampled.of(right, total, counts)
        frame = _frame(ref, way, score, unmodified, together)
        if way in noise:
            compared = _swapped(value[f"noise/{way}"][0])
            excess = zip(EXCESS, (noise[way] - score).with_interval(together), strict=True)
            frame = frame.assign(
                **{name: np.where(compared, number, np.nan) for name, number in excess}
            )
        frames.append(frame[_swapped(right)])
    for way, mean in noise.items():
        frame = _frame(ref, f"noise {way}", mean, unmodified, together)
        frames.append(frame[_swapped(value[f"noise/{way}"][0])])
    table = pd.concat(frames, ignore_index=True)
    above = float(unmodified.value[0]) - chance
    table["kept"] = (table["score"] - chance) / above if above > 0 else np.nan
    return table.reindex(columns=COLUMNS)


def _swapped(right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether there is a swap of each layer, from right answers (layer, sentence)."""
    return np.asarray(np.asarray(right).min(axis=1) >= 0)


def _frame(
    ref: str, way: str, score: Resampled, unmodified: Resampled, level: float
) -> pd.DataFrame:
    """Scores and losses of one way, a row per layer."""
    loss = (unmodified - score).with_interval(level)
    cells = (ref, way, np.arange(len(score.value)), *score.with_interval(), *loss)
    return pd.DataFrame(dict(zip(COLUMNS[:9], cells, strict=True)))


def _counts(value: Value, draws: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    total = np.asarray(value["total"])
    return sentence_counts(len(total), draws, np.random.default_rng(seed)), total
