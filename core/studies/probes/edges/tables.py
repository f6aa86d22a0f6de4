"""Tidy tables of an edge-probing study, every number with its band.

Accuracies are resampled over test sentences, code lengths over the training sentences that were
coded. These are not coded anew, so that the band of a code length shows how much it depends on
single sentences, not on their order. Differences and margins are computed on the same resamples.
Draws of control labels enter as in `core.maths.structural.bands.banded_sum`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.structural.bands import ProbeScores, Sample, draw_sample
from core.studies.kit import Result, Value
from core.studies.probes.edges.tasks import LOOKUP, MAJORITY, PLACES
from core.studies.probes.trees import comparisons
from core.studies.probes.trees.tables import (
    EMBEDDINGS,
    LABELS,
    TAGS,
    WINDOW,
    Rows,
    Scores,
    as_table,
    best_row,
    rows_where,
    score_rows,
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
MARGINS = (*comparisons.MARGINS[:2], "probe", *comparisons.MARGINS[2:])
COLUMNS = {
    "edges": SCORES,
    "codes": (
        *("model", "layer", "probe", "labels", "kilobits", "uniform_kilobits", "compression"),
        *("penalty", "reach"),
    ),
    "differences": (*comparisons.DIFFERENCES[:3], "probe", *comparisons.DIFFERENCES[3:]),
    "edge_margins": MARGINS,
    "best_layers": (*comparisons.BEST_LAYERS[:1], "probe", *comparisons.BEST_LAYERS[1:]),
    "added": (*MARGINS, "level"),
}  # of the tables
ACCURACY, UNSEEN, BITS = "accuracy", "unseen", "bits"
REAL, CONTROL, SELECTIVITY = LABELS
SIGNS = {UNSEEN: 0, BITS: -1}  # of selectivity: of bits it is the control's minus the real ones
GAIN = "gain"  # of a layer beside the static window over the window alone
COUNTS = {
    ACCURACY: ("correct", "items"),
    UNSEEN: ("unseen_correct", "unseen"),
    BITS: ("bits", "coded"),
}  # of a task's output, of which metrics are ratios
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
NAMES = {"pos": "part of speech", "label": "dependency label", "distance": "head distance"}


def samples(value: Value, draws: int, seed: int) -> dict[str, Sample]:
    """Resamples of the sentences of each metric, the same for every row of a target."""
    return {
        metric: draw_sample(np.asarray(value[whole]), draws, seed)
        for metric, (_, whole) in COUNTS.items()
    }


def groups_of(value: Value, sample: Mapping[str, Sample], control: bool = False) -> Scores:
    """Scores by metric: accuracies in percent, code lengths in bits a label; with `control`, a
    column for each draw of the control labels, at the layers at which they were fitted."""
    sets = slice(1, None) if control else slice(0, 1)
    dev = 100.0 * np.asarray(value["dev"], dtype=np.float64)[:, sets].mean(axis=1)
    fitted = np.isfinite(dev)
    layers = np.asarray(value["layers"])[fitted].tolist()
    groups = {}
    for metric, (part, whole) in COUNTS.items():
        ends = {"scale": 1.0, "highest": np.inf} if metric == BITS else {}
        parts = np.asarray(value[part])[fitted, sets]
        group = ProbeScores.of_shares(
            parts, value[whole], sample[metric], layers, dev[fitted], **ends
        )
        groups[metric] = group.pooled(shared=control)
    return groups


def best_score_of(ref: str, target: str, value: Value, draws: int, seed: int) -> pd.Series | None:
    """Score a task's classifiers at the model's layer with the best accuracy: a row of
    `SCORES`."""
    sample = samples(value, draws, seed)
    groups = groups_of(value, sample)
    frames = score_rows(groups, model=ref, probe=target, labels=REAL)
    return best_row(as_table(frames, SCORES), ref, ACCURACY)


def code_rows(model: str | Sequence[str], probe: str, value: Value) -> list[Rows]:
    """Rows of `codes`: total lengths, with that of the uniform code of as many labels; of a model,
    or of several baselines, which have no layer."""
    bits = np.asarray(value["bits"], dtype=np.float64).sum(axis=-1)
    uniform = float(np.sum(value["coded"])) * np.log2(len(np.asarray(value["classes"])))
    totals = {REAL: bits[:, 0]}
    if bits.shape[1] > 1:
        totals[CONTROL] = bits[:, 1:].mean(axis=1)
    coded = {labels: np.isfinite(total) for labels, total in totals.items()}
    return [
        {
            "model": model if isinstance(model, str) else np.array(model)[coded[labels]],
            "layer": np.asarray(value["layers"])[coded[labels]] if isinstance(model, str) else None,
            "probe": probe,
            "labels": labels,
            "kilobits": total[coded[labels]] / 1000,
            "uniform_kilobits": uniform / 1000,
            "compression": uniform / np.maximum(total[coded[labels]], 1e-9),
            "penalty": np.asarray(value["penalties"])[coded[labels]],
            "reach": np.asarray(value["reach"])[coded[labels]] if "reach" in value else None,
        }
        for labels, total in totals.items()
    ]


def rows_of(result: Result, metric: str = ACCURACY) -> dict[str, pd.DataFrame]:
    """Rows of the tables that belong to one measure, to selectivity, or to what layers add."""
    if metric == GAIN:
        return {"added": rows_where(result.tables["added"], metric=ACCURACY)}
    if metric == SELECTIVITY:
        return {"edges": rows_where(result.table, metric=ACCURACY, labels=SELECTIVITY)}
    rows = {
        "edges": rows_where(result.table, metric=metric, labels=REAL),
        "edge_margins": rows_where(result.tables["edge_margins"], metric=metric),
    }
    return rows | ({"codes": result.tables["codes"]} if metric == BITS else {})
