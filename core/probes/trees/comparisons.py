"""Tables of differences: every model less the base, and less what knows positions alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.probes.trees.tables import METRICS, POSITION, PROBE_OF, Group, Sample, as_table, summary

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCES = ("model", "base", "layer", "metric", "difference", "low", "high")


def difference_rows(groups: Mapping[str, Mapping[str, Group]], base: str, sample: Sample) -> pd.DataFrame:
    """Every model less the base, layer by layer, with the band of the difference; layers that both have.

    Probes of one draw start from the same map, so their differences are taken pair by pair.
    """
    import pandas as pd

    frames = []
    for model, of_model in groups.items():
        if model == base or base not in groups:
            continue
        for metric, group in of_model.items():
            base_group = groups[base][metric]
            shared = [layer for layer in group.layers if layer in base_group.layers]
            model_side, base_side = group.only(shared), base_group.only(shared)
            paired = Group(
                model_side.layers,
                model_side.ranks,
                model_side.points - base_side.points,
                model_side.resampled - base_side.resampled,
                model_side.dev,
            )
            estimate = summary(sample, (1, paired))
            columns = {
                "model": model,
                "base": base,
                "layer": shared,
                "metric": metric,
                "difference": estimate.pop("value"),
            }
            frames.append(pd.DataFrame(columns | estimate))
    return as_table(frames, DIFFERENCES)


MARGINS = ("model", "layer", "metric", "rival", "rival_layer", "rival_value", "margin", "low", "high")


def margin_rows(
    groups: Mapping[str, Mapping[str, Group]], rivals: Mapping[str, Mapping[str, Group]], sample: Sample
) -> pd.DataFrame:
    """Every model less what knows positions alone: probes on the code, and untrained models in their best layer.

    A rival's layer is the one that is best on the development sentences, as a model's own is.

    Args:
        groups: Scores by model.
        rivals: Scores by rival.
        sample: The test sentences.
    """
    import pandas as pd

    frames = []
    for model, of_model in groups.items():
        for rival, theirs in rivals.items():
            for metric, group in of_model.items():
                chooser = theirs[METRICS[PROBE_OF[metric]][0]].dev
                place = int(np.nanargmax(chooser)) if np.isfinite(chooser).any() else 0
                best = theirs[metric].only([theirs[metric].layers[place]])
                estimate = summary(sample, (1, group), (-1, _repeated(best, len(group.layers))))
                columns = {
                    "model": model,
                    "layer": group.layers,
                    "metric": metric,
                    "rival": rival,
                    "rival_layer": None if rival == POSITION else best.layers[0],
                    "rival_value": float(best.points.mean()),
                    "margin": estimate.pop("value"),
                }
                frames.append(pd.DataFrame(columns | estimate))
    table = as_table(frames, MARGINS)
    return table.astype({"rival_layer": "Int64"})


def _repeated(group: Group, count: int) -> Group:
    """One row, as often as another group has layers."""
    return Group(
        group.layers * count, group.ranks * count, group.points.repeat(count, axis=0),
        group.resampled.repeat(count, axis=1), group.dev.repeat(count),
    )  # fmt: skip
