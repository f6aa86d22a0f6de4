"""Differences of scores from the base and from baselines on the same resamples, with bands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.probes.trees.tables import (
    METRICS,
    POSITION,
    PROBE_OF,
    WINDOW,
    Group,
    Sample,
    as_table,
    summary,
)

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCES = ("model", "base", "layer", "metric", "difference", "low", "high")
MARGINS = (
    "model",
    "layer",
    "metric",
    "rival",
    "rival_layer",
    "rival_value",
    "margin",
    "low",
    "high",
)
Scores = Mapping[str, Mapping[str, Group]]  # by model and metric


def difference_rows(groups: Scores, base: str, sample: Sample) -> pd.DataFrame:
    """Every model minus the base, at each layer that both have."""
    return as_table(differences(groups, base, dict.fromkeys(PROBE_OF, sample)), DIFFERENCES)


def margin_rows(groups: Scores, rivals: Scores, sample: Sample) -> pd.DataFrame:
    """Every model minus the position-only baseline, the static window, and untrained models at
    their best layer.

    Args:
        groups: Scores of the models.
        rivals: Scores of the baselines.
        sample: The test sentences.
    """
    choosers = {metric: METRICS[probe][0] for metric, probe in PROBE_OF.items()}
    frames = margins(
        groups, rivals, dict.fromkeys(PROBE_OF, sample), choosers.__getitem__, (POSITION, WINDOW)
    )
    return as_table(frames, MARGINS)


def differences(
    groups: Scores, base: str, samples: Mapping[str, Sample], **named: Any
) -> list[pd.DataFrame]:
    """Every model minus the base at each layer that both have, a frame per model and metric.

    Probes of one draw start from the same map, so that their differences are paired.

    Args:
        groups: Scores of the models.
        base: The model with which the others are compared; without it there are no frames.
        samples: The sentences over which each metric is resampled.
        named: Further columns.
    """
    import pandas as pd

    frames = []
    for model, scores in groups.items():
        if model == base or base not in groups:
            continue
        for metric, group in scores.items():
            shared = [layer for layer in group.layers if layer in groups[base][metric].layers]
            tuned, start = group.only(shared), groups[base][metric].only(shared)
            points, resampled = tuned.points - start.points, tuned.resampled - start.resampled
            estimate = summary(
                samples[metric], (1, Group(tuned.layers, tuned.ranks, points, resampled, tuned.dev))
            )
            columns = {"model": model, "base": base, "layer": shared, "metric": metric, **named}
            frames.append(pd.DataFrame(columns | {"difference": estimate.pop("value")} | estimate))
    return frames


def margins(
    groups: Scores,
    rivals: Scores,
    samples: Mapping[str, Sample],
    chooser: Callable[[str], str],
    unlayered: Collection[str],
    **named: Any,
) -> list[pd.DataFrame]:
    """Every model minus every baseline at the baseline's best layer, a frame per pair and metric.

    Args:
        groups, rivals: Scores of the models, and of the baselines.
        samples: The sentences over which each metric is resampled.
        chooser: Metric -> the metric whose score on the development sentences chooses the layer.
        unlayered: Baselines that have no layers.
        named: Further columns.
    """
    import pandas as pd

    frames = []
    for model, scores in groups.items():
        for rival, theirs in rivals.items():
            for metric, group in scores.items():
                dev = theirs[chooser(metric)].dev
                place = int(np.nanargmax(dev)) if np.isfinite(dev).any() else 0
                best = theirs[metric].only([theirs[metric].layers[place]])
                estimate = summary(
                    samples[metric], (1, group), (-1, best.only(best.layers * len(group.layers)))
                )
                columns = {
                    "model": model,
                    "layer": group.layers,
                    "metric": metric,
                    "rival": rival,
                    "rival_layer": None if rival in unlayered else best.layers[0],
                    "rival_value": float(best.points.mean()),
                    "margin": estimate.pop("value"),
                    **named,
                }
                frames.append(pd.DataFrame(columns | estimate))
    return frames
