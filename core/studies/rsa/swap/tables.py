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
from core.maths.statistics import (
    bootstrap_interval,
    corrected_level,
    ratios,
    sentence_counts,
    t_interval,
)
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS

FloatArray = NDArray[np.float64]
COLUMNS = (
    *("model", "way", "layer", "score", "low", "high", "loss", "loss_low", "loss_high"),
    *("excess", "excess_low", "excess_high", "kept"),
)


def own_row(ref: str, value: Value, draws: int, seed: int) -> dict[str, Any]:
    """Score an unmodified model: model, score, low, high, sentences, items."""
    counts, total = _counts(value, draws, seed)
    score, drawn = ratios(value["own"][None], total, counts)
    low, high = bootstrap_interval(score, drawn)
    return {
        "model": ref,
        "score": float(score[0]),
        "low": float(low[0]),
        "high": float(high[0]),
        "sentences": len(total),
        "items": int(total.sum()),
    }


def exchange_rows(ref: str, value: Value, chance: float, draws: int, seed: int) -> pd.DataFrame:
    """Tabulate COLUMNS, a row per way and layer. `kept` is the share of the way from the majority
    baseline to the fine-tune's own score, NaN where that is no higher; `excess` is NaN except where
    there are random changes of the same layers."""
    counts, total = _counts(value, draws, seed)
    unmodified, own_drawn = ratios(value["own"][None], total, counts)
    together = corrected_level(int(_swapped(value["layer"]).sum()))
    frames = []
    noise = {
        way: _noise(value[f"noise/{way}"], total, counts)
        for way in DONOR_WAYS
        if f"noise/{way}" in value
    }
    for way in (*BASE_WAYS, *(f"random {way}" for way in DONOR_WAYS if f"random/{way}" in value)):
        right = value[way.replace(" ", "/")]
        score, drawn = ratios(right, total, counts)
        band, loss = bootstrap_interval(score, drawn), unmodified - score
        loss_band = bootstrap_interval(loss, own_drawn - drawn, together)
        frame = _frame(ref, way, score, band, loss, loss_band)
        if way in noise:
            mean, mean_drawn, variance, degrees = noise[way]
            over_sentences = (mean_drawn - drawn).var(0)
            edges = t_interval(
                mean - score, [over_sentences, variance], [len(total) - 1, degrees], together
            )
            excess = {"excess": mean - score, "excess_low": edges[0], "excess_high": edges[1]}
            compared = _swapped(value[f"noise/{way}"][0])
            frame = frame.assign(
                **{name: np.where(compared, edge, np.nan) for name, edge in excess.items()}
            )
        frames.append(frame[_swapped(right)])
    for way, (mean, mean_drawn, variance, degrees) in noise.items():
        freedom, loss = [len(total) - 1, degrees], unmodified - mean
        band = t_interval(mean, [mean_drawn.var(0), variance], freedom)
        over_sentences = (own_drawn - mean_drawn).var(0)
        loss_band = t_interval(loss, [over_sentences, variance], freedom, together)
        frame = _frame(ref, f"noise {way}", mean, band, loss, loss_band)
        frames.append(frame[_swapped(value[f"noise/{way}"][0])])
    table = pd.concat(frames, ignore_index=True)
    above = float(unmodified[0]) - chance
    table["kept"] = (table["score"] - chance) / above if above > 0 else np.nan
    return table.reindex(columns=COLUMNS)


def _swapped(right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether there is a swap of each layer, from right answers (layer, sentence)."""
    return np.asarray(np.asarray(right).min(axis=1) >= 0)


def _frame(
    ref: str,
    way: str,
    score: FloatArray,
    band: tuple[FloatArray, FloatArray],
    loss: FloatArray,
    loss_band: tuple[FloatArray, FloatArray],
) -> pd.DataFrame:
    """Scores and losses of one way, a row per layer."""
    cells = (ref, way, np.arange(len(score)), score, *band, loss, *loss_band)
    return pd.DataFrame(dict(zip(COLUMNS[:9], cells, strict=True)))


def _counts(value: Value, draws: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    total = np.asarray(value["total"])
    return sentence_counts(len(total), draws, np.random.default_rng(seed)), total


def _noise(
    correct: NDArray[np.int64], total: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Average the score over random changes (layer,), also under every draw of sentences, with its
    variance over changes (layer,) and that one's degrees of freedom."""
    each = [ratios(draw, total, counts) for draw in np.asarray(correct)]
    scores = np.stack([score for score, _ in each])
    mean_drawn = np.mean([drawn for _, drawn in each], axis=0)
    return scores.mean(0), mean_drawn, scores.var(0, ddof=1) / len(scores), float(len(scores) - 1)
