"""Charts of probes through training by training step: the best layer, every layer, and the loss."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from core.results.drawing.axes import Plane, span_of
from core.results.drawing.curves import Look, graded
from core.results.drawing.style import BLUE
from core.results.drawing.training import (
    along_training,
    loss_chart,
    rings,
    step_chart,
)
from core.results.metrics import metric_label
from core.results.names import short_name
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.trees.charts import baseline_rules
from core.studies.probes.trees.tables import CHAIN, OF_CONTROL, POSITION, WINDOW

METRICS = ("uuas", "dspr")
BEST, UNREAL = "best layer", "best layer, control trees"


def best_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """The best layer of each step with its band and number, control trees dotted, baselines
    grey."""
    best, scores = result.tables["best"], result.table
    best = best[best["metric"] == metric]
    control = scores[
        (scores["metric"] == metric)
        & scores["probe"].str.endswith(OF_CONTROL)
        & scores["layer"].notna()
    ]
    control = control.merge(best[["model", "layer"]], on=["model", "layer"])
    plain = scores[
        (scores["metric"] == metric)
        & scores["layer"].isna()
        & ~scores["probe"].str.endswith(OF_CONTROL)
    ]
    plain = plain[plain["model"].isin([CHAIN, POSITION, WINDOW])]
    parts = [best.assign(name=BEST), control.assign(name=UNREAL)]
    looks = {BEST: Look(BLUE)}
    if len(control):
        looks[UNREAL] = Look(BLUE, shape="square", dash=(2, 3), width=1.6)
    below = "numbers: layer; bands: 95 % intervals over sentences and probes"
    below += "; control trees: range of two draws" if (control["probes"] == 2).any() else ""
    return step_chart(
        pd.concat(parts, ignore_index=True),
        "value",
        metric_label(metric),
        looks,
        f"Best layer of each step, up to {_final(result)}",
        below,
        rules=baseline_rules(plain),
        under=[partial(_numbers, best)],
        context=context,
    )


def layers_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Every layer by training step, with a ring at the best of each step."""
    scores = result.table
    rows = scores[
        (scores["metric"] == metric) & scores["layer"].notna() & (scores["probe"] == "distance")
    ]
    layers = sorted({int(layer) for layer in rows["layer"]})
    best = result.tables["best"]
    return step_chart(
        rows.assign(name=[f"layer {layer}" for layer in rows["layer"]]),
        "value",
        metric_label(metric),
        graded([f"layer {layer}" for layer in layers], point=False, band=False),
        "Every layer",
        "rings: best layer of the step; bands are in the table",
        ends=span_of(rows["value"]),
        under=[rings(best[best["metric"] == metric])],
        context=context,
    )


def draw_training(
    result: Result, metric: str = METRICS[0], *, context: Context = PAGE
) -> dict[str, Chart]:
    """The best layer in one score, the loss, and every layer."""
    charts = {f"{metric}-best": best_chart(result, metric, context=context)}
    if len(losses := result.tables["loss"]) > 1:
        charts["loss"] = loss_chart(losses, context=context)
    return charts | {f"{metric}-layers": layers_chart(result, metric, context=context)}


def _numbers(best: pd.DataFrame, plane: Plane, x: dict[str, Any]) -> Chart:
    """The layer's number above each point, for `under` of a `step_chart`."""
    rows, _ = along_training(best, plane.y, "", (0.0, 1.0), context=plane.context)
    rows = rows.assign(number=[f"{layer:.0f}" for layer in rows["layer"]])
    words = Chart(rows).mark_text(dy=-13, fontSize=plane.context.letter)
    return words.encode(x=x, y=plane.y_of(), text="number:N")


def _final(result: Result) -> str:
    return short_name(str(result.spec["end"]))
