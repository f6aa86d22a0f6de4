"""Tables of task arithmetic: scores of sums, who harms whom, and how alike the changes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.resampled import Resampled
from core.maths.statistics import LEVEL, corrected_level, sentence_counts
from core.studies.weights.arithmetic.spec import ADDED, ALONE, Sum
from core.studies.weights.arithmetic.tasks import has_others

ARITHMETIC = (
    *("model", "metric", "way", "added", "scale", "score", "low", "high", "score_change"),
    *(
        "score_change_low",
        "score_change_high",
        "random_score",
        "score_excess",
        "score_excess_low",
        "score_excess_high",
        "level",
        "chance",
    ),
)
ALIKE = ("model", "other", "layer", "cosine", "conflict", "changed")


def build_arithmetic(
    values: Mapping[str, Value],
    sums: Mapping[str, Sequence[Sum]],
    metrics: Mapping[str, str],
    chances: Mapping[str, float],
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Build ARITHMETIC, a row for each scored model and sum: `score_change` from the fine-tune
    itself, `score_excess` over the mean with the others' changes rotated at random, NaN where none
    is added. The intervals of all sums with another's whole change hold together."""
    rows: list[tuple[Any, ...]] = []
    harms = sum(_is_harm(each) for ref in values for each in sums[ref])
    for model, value in values.items():
        total = np.asarray(value["total"])
        counts = sentence_counts(len(total), draws, np.random.default_rng(seed))
        score = Resampled.of(value["hits"], total, counts)
        whole = next(
            n for n, each in enumerate(sums[model]) if (each.way, each.scale) == (ALONE, 1)
        )
        for place, each in enumerate(sums[model]):
            level = corrected_level(harms) if _is_harm(each) else LEVEL
            scored = score.at(place)
            excess: tuple[Any, ...] = (np.nan,) * 4
            if has_others(each.factors):
                rivals = np.asarray(value["random"])[:, place]
                random = Resampled.of(rivals, total, counts).over_changes()
                excess = (random.value, *(scored - random).with_interval(level))
            rows.append(
                (
                    *(model, metrics[model], each.way, each.added, each.scale),
                    *scored.with_interval(level),
                    *(scored - score.at(whole)).with_interval(level),
                    *excess,
                    *(level, chances[model]),
                )
            )
    return pd.DataFrame(rows, columns=list(ARITHMETIC))


def harms_in(table: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of ARITHMETIC that say what another's change, added whole, does to a score."""
    return table[(table["way"] == ADDED) & (table["scale"] == 1)].reset_index(drop=True)


def _is_harm(added: Sum) -> bool:
    """Whether a sum adds another's change whole."""
    return added.way == ADDED and added.scale == 1


def build_alike(value: Value, refs: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Build ALIKE, whole and by layer: cosines and signs of the changes of every two fine-tunes. Of
    whole changes, inner products and norms are summed over matrices before they are divided."""
    layers = np.array([int(layer) for _, layer in value["places"]])
    sums = {name: np.asarray(value[name]) for name in ("products", "changed", "conflicts")}
    whole, by_layer = [], []
    for first, second in combinations(range(len(refs)), 2):
        row = {"model": refs[first], "other": refs[second]}
        whole.append(row | _alike(sums, first, second, np.ones(len(layers), dtype=np.bool_)))
        by_layer += [
            row | {"layer": int(layer) + 1} | _alike(sums, first, second, layers == layer)
            for layer in dict.fromkeys(sorted(layers))
        ]
    plain = [name for name in ALIKE if name != "layer"]
    return pd.DataFrame(whole, columns=plain), pd.DataFrame(by_layer, columns=list(ALIKE))


def _alike(
    sums: Mapping[str, np.ndarray], first: int, second: int, matrices: np.ndarray
) -> dict[str, float]:
    products, changed, conflicts = (part[matrices].sum(0) for part in sums.values())
    lengths = float(np.sqrt(products[first, first] * products[second, second]))
    both = int(changed[first, second])
    return {
        "cosine": float(products[first, second]) / lengths if lengths else np.nan,
        "conflict": float(conflicts[first, second]) / both if both else np.nan,
        "changed": both,
    }
