"""Tidy tables of a study of polar probes, every number with its band.

Bands are made as in `core.maths.structural.bands`: all rows are scored on the same resamples of
the test sentences, and the spread over probes, or over draws of control labels, is in the band.
"""

from __future__ import annotations

import numpy as np

from core.maths.arrays import Value
from core.maths.structural.bands import Group, Sample

SCORES = ("model", "layer", "labels", "metric", "value", "low", "high", "dev", "probes", "sd")
LAS, UAS, UUAS, LABEL, DIRECTION = METRICS = ("las", "uas", "uuas", "label", "direction")
COUNTS = {LAS: "labelled", UAS: "directed", UUAS: "hits", LABEL: "named", DIRECTION: "oriented"}


def polar_groups(value: Value, sample: Sample, *, control: bool = False) -> dict[str, Group]:
    """Scores by metric in percent, of those that a task's output holds; with `control`, of probes
    on control labels."""
    layers = np.asarray(value["layers"])[np.asarray(value["draws"]) == 0].tolist()
    by_layer = len(layers), -1
    dev = 100.0 * np.asarray(value.get("dev", np.full(len(layers), np.nan)), np.float64)
    chosen = dev.reshape(by_layer).mean(axis=1)
    groups = {}
    for metric, name in COUNTS.items():
        if name in value:
            parts = np.asarray(value[name])
            parts = parts.reshape(*by_layer, parts.shape[-1])
            group = Group.of_shares(parts, value["edges"], sample, layers, chosen)
            groups[metric] = group.pooled(shared=control)
    return groups
