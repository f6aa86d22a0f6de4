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
from jaxtyping import Float

from core.maths.arrays import Value
from core.maths.resampled import Resampled
from core.maths.statistics import LEVEL, corrected_level, sentence_counts, sum_by_group
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
        parts: Of each group of items that are resampled together, (condition, group), such as a
            sentence's log-likelihood; in per cent where the metric is a share.
        wholes: (group,), such as its tokens; the metric is a ratio of sums.
        sign: 1 where higher is worse, -1 where higher is better.
    """

    parts: Float[np.ndarray, "condition group"]
    wholes: Float[np.ndarray, " group"]
    sign: int

    def resampled(self, draws: int, seed: int) -> Resampled:
        """The metric under every condition, on the same resamples of the groups."""
        counts = sentence_counts(len(self.wholes), draws, np.random.default_rng(seed))
        return Resampled.of(self.parts, self.wholes, counts)


def measured(value: Value) -> dict[str, Measured]:
    """The metrics that a task's output holds."""
    metrics = {}
    if "likelihood" in value:
        tokens = np.asarray(value["tokens"], dtype=np.float64)
        metrics[LOSS] = Measured(-np.asarray(value["likelihood"]), tokens, 1)
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
            alike = sum_by_group(right, groups, int(groups.max()) + 1)
            metrics[ACCURACY] = Measured(100 * alike, np.bincount(groups).astype(float), -1)
    if "right" in value:
        words = np.asarray(value["words"], dtype=np.float64)
        right = np.asarray(value["right"], dtype=np.float64)
        metrics[UAS] = Measured(100 * right, words, -1)
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
            score = each.resampled(draws, seed)
            intact = score.at(names == NONE)
            cost = score - intact if each.sign > 0 else intact - score
            for name in (NONE, PROBE, RANDOM, MATCHED):
                mine = names == name
                estimates = (*_estimate(score.at(mine)), *_estimate(cost.at(mine)))
                rows.append((model, layer, name, metric, *estimates, float(change[mine].mean())))
            for name in (RANDOM, MATCHED):
                theirs = names == name
                margin = _estimate(
                    cost.at(names == PROBE) - cost.at(theirs), corrected_level(layers[model])
                )
                rival = float(cost.value[theirs].mean())
                excess.append((model, layer, metric, name, rival, *margin))
    return {
        "removal": pd.DataFrame(rows, columns=list(REMOVAL)).astype({"layer": "Int64"}),
        "removal_excess": pd.DataFrame(excess, columns=list(EXCESS)).astype({"layer": "Int64"}),
    }


def _estimate(subspaces: Resampled, level: float = LEVEL) -> tuple[float, ...]:
    """Mean over subspaces with its interval, from resamples and from the spread over subspaces."""
    return tuple(map(float, subspaces.over_changes().with_interval(level)))
