"""Tidy tables of an edge-probing study, every number with its band.

Accuracies are resampled over test sentences, code lengths over the training sentences that were
coded. These are not coded anew, so that the band of a code length shows how much it depends on
single sentences, not on their order. Differences and margins are computed on the same resamples.
Draws of control labels enter as in `core.maths.structural.bands.summary`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.statistics import ratios
from core.maths.structural.bands import Group, Sample, draw_sample
from core.results.export import Result
from core.studies.probes.edges.tasks import LOOKUP, MAJORITY, PLACES
from core.studies.probes.trees.comparisons import BEST_LAYERS
from core.studies.probes.trees.tables import (
    EMBEDDINGS,
    TAGS,
    WINDOW,
    at_control,
    metric_rows,
)

SCORES = (
    "model",
    "layer",
    "probe",
    "labels",
    "metric",
    "value",
    "low",
    "high",
    "dev",
    "probes",
    "sd",
)
MARGINS = (
    "model",
    "layer",
    "probe",
    "metric",
    "rival",
    "rival_layer",
    "rival_value",
    "margin",
    "low",
    "high",
)
COLUMNS = {
    "edges": SCORES,
    "codes": (
        *("model", "layer", "probe", "labels", "kilobits", "uniform_kilobits", "compression"),
        *("penalty", "reach"),
    ),
    "differences": ("model", "base", "layer", "probe", "metric", "difference", "low", "high"),
    "edge_margins": MARGINS,
    "best_layers": (*BEST_LAYERS[:1], "probe", *BEST_LAYERS[1:]),
    "added": (*MARGINS, "level"),
}  # of the tables
ACCURACY, UNSEEN, BITS = METRICS = ("accuracy", "unseen", "bits")
REAL, CONTROL, SELECTIVITY = "real", "control", "selectivity"
GAIN = "gain"  # of a layer beside the static window over the window alone
CHOOSERS = dict.fromkeys(METRICS, ACCURACY)  # layers are chosen by accuracy, see `comparisons`
RIVALS = (MAJORITY, LOOKUP, PLACES)  # the rows of the task of baselines
SHOWN = {
    MAJORITY: "majority baseline",
    LOOKUP: "word-lookup baseline",
    PLACES: "position-only baseline",
    WINDOW: "static window",
    TAGS[0]: "parts of speech",
    TAGS[1]: "parts of speech of three words",
    EMBEDDINGS: "embeddings (layer 0)",
}  # what a reader sees for a cell
Groups = dict[str, Group]


def samples(value: Value, draws: int, seed: int) -> dict[str, Sample]:
    """Resamples of the sentences of each metric, the same for every row of a target."""
    test = draw_sample(np.asarray(value["items"]), draws, seed)
    return {
        ACCURACY: test,
        UNSEEN: test,
        BITS: draw_sample(np.asarray(value["coded"]), draws, seed),
    }


def groups_of(value: Value, sample: Mapping[str, Sample], control: bool = False) -> Groups:
    """Scores by metric: accuracies in percent, code lengths in bits a label.

    Args:
        value: Output of a task.
        sample: Of `samples`.
        control: Scores on control labels, a column per draw, instead of the real ones; of the
            layers at which they were fitted.
    """
    sets = slice(1, None) if control else slice(0, 1)
    chosen = np.asarray(value["dev"], dtype=np.float64)[:, sets].mean(axis=1)
    fitted = np.isfinite(chosen)
    wholes = {ACCURACY: "items", UNSEEN: "unseen", BITS: "coded"}
    parts = {ACCURACY: "correct", UNSEEN: "unseen_correct", BITS: "bits"}
    layers = tuple(int(layer) for layer in np.asarray(value["layers"])[fitted])
    groups = {}
    for metric in METRICS:
        scale = 1.0 if metric == BITS else 100.0
        above = np.asarray(value[parts[metric]], dtype=np.float64)[fitted, sets]
        below = np.broadcast_to(np.asarray(value[wholes[metric]], dtype=np.float64), above.shape)
        points, resampled = (scale * each for each in ratios(above, below, sample[metric].weights))
        resampled = resampled.reshape(-1, *points.shape)
        bounds = (0.0, np.inf) if metric == BITS else (0.0, 100.0)
        group = Group(layers, layers, points, resampled, 100.0 * chosen[fitted], bounds=bounds)
        groups[metric] = group.pooled(shared=control)
    return groups


def score_rows(
    model: str,
    probe: str,
    labels: str,
    groups: Groups,
    sample: Mapping[str, Sample],
    layered: bool = True,
) -> list[pd.DataFrame]:
    """Rows of SCORES for one model, or for a baseline, whose rows have no layer."""
    return [
        metric_rows(
            sample[metric],
            (1, group),
            model=model,
            layer=group.layers if layered else None,
            probe=probe,
            labels=labels,
            metric=metric,
            dev=group.dev if metric == ACCURACY else np.nan,
        )
        for metric, group in groups.items()
    ]


def selectivity_rows(
    model: str, probe: str, real: Groups, control: Groups, sample: Mapping[str, Sample]
) -> list[pd.DataFrame]:
    """Accuracy minus that on control labels, at the layers of these; bits of the control code minus
    the real bits."""
    real = at_control(real, control)
    return [
        metric_rows(
            sample[metric],
            (sign, real[metric]),
            (-sign, control[metric]),
            model=model,
            layer=control[metric].layers,
            probe=probe,
            labels=SELECTIVITY,
            metric=metric,
            dev=np.nan,
        )
        for metric, sign in ((ACCURACY, 1), (BITS, -1))
    ]


def code_rows(
    model: str, probe: str, value: Value, baselines: Sequence[str] = ()
) -> list[pd.DataFrame]:
    """Rows of `codes`: total lengths, with that of the uniform code of as many labels.

    With `baselines` the rows are these, and have no layer.
    """
    bits = np.asarray(value["bits"], dtype=np.float64).sum(axis=-1)
    uniform = float(np.sum(value["coded"])) * np.log2(len(np.asarray(value["classes"])))
    kinds = [(REAL, bits[:, 0])] + (
        [(CONTROL, bits[:, 1:].mean(axis=1))] if bits.shape[1] > 1 else []
    )
    frames = []
    for labels, total in kinds:
        columns = {
            "model": list(baselines) or model,
            "layer": None if baselines else np.asarray(value["layers"]),
            "probe": probe,
            "labels": labels,
            "kilobits": total / 1000,
            "uniform_kilobits": uniform / 1000,
            "compression": uniform / np.maximum(total, 1e-9),
            "penalty": np.asarray(value["penalties"]),
            "reach": np.asarray(value["reach"]) if "reach" in value else None,
        }
        frames.append(pd.DataFrame(columns, index=range(len(total))).dropna(subset="kilobits"))
    return frames


def rows_of(result: Result, metric: str = ACCURACY) -> dict[str, pd.DataFrame]:
    """Rows of the tables that belong to one measure, to selectivity, or to what layers add."""
    if metric == GAIN:
        added = result.tables["added"]
        return {"added": added[added["metric"] == ACCURACY]}
    selective = metric == SELECTIVITY
    measured, labels = (ACCURACY, SELECTIVITY) if selective else (metric, REAL)
    scores, margins = result.table, result.tables["edge_margins"]
    rows = {"edges": scores[(scores["metric"] == measured) & (scores["labels"] == labels)]}
    if not selective:
        rows["edge_margins"] = margins[margins["metric"] == metric]
    return rows | ({"codes": result.tables["codes"]} if metric == BITS else {})
