"""The best layer of each step: is it significantly best, and is it that of the final model?"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.maths.statistics import corrected_level
from core.maths.structural.bands import Group, summary
from core.studies.probes.trees.comparisons import best_place, lead
from core.studies.probes.trees.tables import as_table

PEAKS = (
    *("model", "metric", "layer", "value", "low", "high", "clear"),
    *("end_layer", "ahead", "ahead_low", "ahead_high"),
)


def find_peaks(groups: Mapping[str, Mapping[str, Group]]) -> pd.DataFrame:
    """Find the best layer, one row per model and score: PEAKS.

    Args:
        groups: Scores by model, in the order of training; the last is the final model.

    Returns:
        `layer` is the best on the development sentences. `clear` tells whether the band of its
        difference from every other layer is above 0. `ahead` is its score minus that of the final
        model's best layer in this same model, with its band: where the band is above 0, the best
        layer is another than the final model's. The band of `ahead` has simultaneous coverage over
        all steps (Bonferroni).
    """
    if not groups:
        return as_table([], PEAKS).astype({"end_layer": "Int64"})
    end, rows = list(groups.values())[-1], []
    together = corrected_level(len(groups) - 1)
    for model, of_model in groups.items():
        for metric, group in of_model.items():
            place, last = best_place(group), end[metric].layers[best_place(end[metric])]
            estimate, lead_over_rest = summary((1, group)), lead(group, place)
            every = lead(group, place, together)
            where = [layer for at, layer in enumerate(group.layers) if at != place]
            ahead = {
                name: (every[name][where.index(last)] if last in where else 0.0) for name in every
            }
            rows.append(
                (
                    *(model, metric, group.layers[place]),
                    *(float(estimate[name][place]) for name in ("value", "low", "high")),
                    bool(len(where)) and bool((lead_over_rest["low"] > 0).all()),
                    *(last, *(float(ahead[name]) for name in ("value", "low", "high"))),
                )
            )
    table = pd.DataFrame(rows, columns=list(PEAKS))
    return table.astype({"layer": "Int64", "end_layer": "Int64"})
