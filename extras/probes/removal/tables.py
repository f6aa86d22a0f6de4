"""Tidy tables of the study that erases a probe's subspace, every number with its interval.

Intervals have two sources of error: the sentences or pairs on which a model is scored, which are
resampled, and the random subspaces, of which there are few. A cost is a model's loss of quality
against itself with nothing erased, on the same resamples. How far it is above that of random
subspaces is asked at every layer of a model, so its intervals hold for all of them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from core.maths.arrays import Value
from core.maths.statistics import LEVEL, corrected_level, sentence_counts, t_interval
from core.results.metrics import metric_of, titles_of
from core.studies.probes.minimal_pairs.accuracy import correct
from core.studies.probes.minimal_pairs.templates import joined_groups
from extras.probes.removal.tasks import MATCHED, NONE, PROBE, RANDOM

REMOVAL = (
    *("model", "layer", "erased", "metric", "value", "low", "high"),
    *("cost", "cost_low", "cost_high", "change"),
)
EXCESS = ("model", "layer", "metric", "rival", "rival_value", "margin", "low", "high")
LOSS, ACCURACY, UAS = METRICS = ("loss", "accuracy", "uas")
RECORDS = {name: metric_of(name, "pairs") for name in METRICS}
TITLES = titles_of(METRICS, "pairs")


@dataclass(frozen=True)
class Measured:
    """One metric under every condition.

    Attributes:
        parts: (condition, item), such as a sentence's log-likelihood.
        wholes: (item,), such as its tokens; the metric is a ratio of sums.
        scale: 100 for a share in per cent.
        sign: 1 where higher is worse, -1 where higher is better.
        groups: Which items are resampled together, (item,), from 0.
    """

    parts: Float[np.ndarray, "condition item"]
    wholes: Float[np.ndarray, " item"]
    scale: float
    sign: int
    groups: Int[np.ndarray, " item"]

    def points(self) -> Float[np.ndarray, " condition"]:
        """The metric under every condition."""
        return np.asarray(self.scale * self.parts.sum(axis=1) / self.wholes.sum())

    def resampled(self, draws: int, seed: int) -> Float[np.ndarray, "draw condition"]:
        """The metric on resamples of the items, the same for every condition."""
        counts = sentence_counts(self.groups.max() + 1, draws, np.random.default_rng(seed))
        counts = counts[:, self.groups]
        return np.asarray(self.scale * (counts @ self.parts.T) / (counts @ self.wholes)[:, None])


def measured(value: Value) -> dict[str, Measured]:
    """The metrics that a task's output holds."""
    metrics = {}
    if "likelihood" in value:
        tokens = np.asarray(value["tokens"], dtype=np.float64)
        likelihood, alone = np.asarray(value["likelihood"]), np.arange(len(tokens))
        metrics[LOSS] = Measured(-likelihood, tokens, 1.0, 1, alone)
        kinds = [name.partition("/")[2] for name in value if name.startswith("good/")]
        if kinds:
            right = np.concatenate(
                [
                    correct(np.asarray(value[f"good/{kind}"]), np.asarray(value[f"bad/{kind}"]))
                    for kind in kinds
                ],
                axis=1,
            )
            groups = joined_groups({kind: value[f"good/{kind}"].shape[1] for kind in kinds})
            metrics[ACCURACY] = Measured(right, np.ones(right.shape[1]), 100.0, -1, groups)
    if "right" in value:
        words = np.asarray(value["words"], dtype=np.float64)
        right = np.asarray(value["right"], dtype=np.float64)
        metrics[UAS] = Measured(right, words, 100.0, -1, np.arange(len(words)))
    return metrics


def tables_of(
    values: Mapping[tuple[str, int], Value], draws: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Make the tables `removal` (REMOVAL) and `removal_excess` (EXCESS) of outputs by model and
    layer."""
    rows: list[tuple[object, ...]] = []
    excess: list[tuple[object, ...]] = []
    layers = Counter(model for model, _ in values)
    for (model, layer), value in values.items():
        names = np.array(value["conditions"])
        change = np.asarray(value["change"], dtype=np.float64)
        for metric, each in measured(value).items():
            points, drawn = each.points(), each.resampled(draws, seed)
            several = int(each.groups.max()) + 1
            cost, cost_drawn = (
                each.sign * (part - part[..., names == NONE]) for part in (points, drawn)
            )
            for name in (NONE, PROBE, RANDOM, MATCHED):
                mine = names == name
                estimates = [
                    *_estimate(points[mine], drawn[:, mine], several),
                    *_estimate(cost[mine], cost_drawn[:, mine], several),
                ]
                rows.append((model, layer, name, metric, *estimates, float(change[mine].mean())))
            for name in (RANDOM, MATCHED):
                theirs = names == name
                gap = cost[names == PROBE] - cost[theirs]
                gap_drawn = cost_drawn[:, names == PROBE] - cost_drawn[:, theirs]
                margin = _estimate(gap, gap_drawn, several, corrected_level(layers[model]))
                excess.append((model, layer, metric, name, float(cost[theirs].mean()), *margin))
    return {
        "removal": pd.DataFrame(rows, columns=list(REMOVAL)).astype({"layer": "Int64"}),
        "removal_excess": pd.DataFrame(excess, columns=list(EXCESS)).astype({"layer": "Int64"}),
    }


def _estimate(
    points: Float[np.ndarray, " subspace"],
    drawn: Float[np.ndarray, "draw subspace"],
    items: int,
    level: float = LEVEL,
) -> tuple[float, float, float]:
    """Mean over subspaces with its interval, from resamples and from the spread over subspaces."""
    mean = float(points.mean())
    variances, degrees = [float(drawn.mean(axis=1).var())], [float(max(items - 1, 1))]
    if len(points) > 1:
        variances.append(float(points.var(ddof=1)) / len(points))
        degrees.append(float(len(points) - 1))
    low, high = t_interval(mean, variances, degrees, level)
    return mean, float(low), float(high)
