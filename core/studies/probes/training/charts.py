"""Charts of probes through training by tokens seen: the best layer, every layer, and the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import SpecError
from core.results.drawing.axes import span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, graded
from core.results.drawing.panels import Panels
from core.results.drawing.style import BLUE, GREY
from core.results.drawing.training import (
    along_training,
    loss_chart,
    named_steps,
    step_tips,
    stepped,
)
from core.results.drawing.vega import Chart
from core.results.names import short_name
from core.studies.probes.trees.charts import baseline_rules, kind_of
from core.studies.probes.trees.tables import CHAIN, CONTROL, POSITION, metric_label

if TYPE_CHECKING:
    import pandas as pd

    from core.results.drawing.axes import Plane
    from core.results.export import Result

HEIGHT = 260
METRICS = ("uuas", "dspr")
BEST, UNREAL = "best layer", "best layer, control trees"


def best_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """The best layer of each step with its band and number, control trees dotted, baselines grey.

    Args:
        result: Of probes through training.
        metric: "uuas" or "dspr".

    Raises:
        SpecError: If the result has no scores of that metric.
    """
    import pandas as pd

    best, scores = result.tables["best"], result.table
    best = best[best["metric"] == metric]
    if best.empty:
        raise SpecError(f"This result has no scores of {metric!r}: no step could be probed.")
    control = scores[
        (scores["metric"] == metric)
        & scores["probe"].str.endswith(CONTROL)
        & scores["layer"].notna()
    ]
    control = control.merge(best[["model", "layer"]], on=["model", "layer"])
    plain = scores[
        (scores["metric"] == metric)
        & scores["layer"].isna()
        & ~scores["probe"].str.endswith(CONTROL)
    ]
    plain = plain[plain["model"].isin([CHAIN, POSITION])]
    label, kind = metric_label(metric), kind_of(metric)
    parts = [best.assign(name=BEST), control.assign(name=UNREAL)]
    rows = named_steps(pd.concat(parts, ignore_index=True))
    ends = span_of(rows["value"], rows["low"], rows["high"], plain["value"])
    rows, plane = along_training(
        rows, "value", label, ends, kind=kind, height=HEIGHT, context=context
    )
    looks = {BEST: Look(BLUE)}
    if len(control):
        looks[UNREAL] = Look(BLUE, shape="square", dash=(2, 3), width=1.6)
    rules, baselines = baseline_rules(plain, plane)
    looks |= baselines
    named = [line.assign(step=line["name"]) for line in rules]
    drawn = pd.concat([rows, *named], ignore_index=True)
    numbers = _numbers(rows[rows["name"] == BEST], plane)
    chart = curves(drawn, plane, looks, step_tips("value", label, kind), under=[numbers])
    below = "numbers: layer; bands: 95 % intervals over sentences and probes"
    below += "; control trees: range of two draws" if (control["probes"] == 2).any() else ""
    title = f"Best layer of each step, up to {_final(result)}"
    return stepped(chart, drawn, plane, title, below, list(looks))


def layers_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Every layer by tokens seen, with a ring at the best of each step.

    Args:
        result: Of probes through training.
        metric: "uuas" or "dspr".
    """
    scores = result.table
    rows = scores[
        (scores["metric"] == metric) & scores["layer"].notna() & (scores["probe"] == "distance")
    ]
    label, kind = metric_label(metric), kind_of(metric)
    layers = sorted({int(layer) for layer in rows["layer"]})
    rows = named_steps(rows).assign(name=[f"layer {layer}" for layer in rows["layer"]])
    looks = graded([f"layer {layer}" for layer in layers], point=False, band=False)
    rows, plane = along_training(
        rows, "value", label, span_of(rows["value"]), kind=kind, height=HEIGHT, context=context
    )
    best = result.tables["best"]
    best = best[best["metric"] == metric]
    best, _ = along_training(best, "value", label, (0.0, 1.0), context=context)
    chart = curves(rows, plane, looks, step_tips("value", label, kind), under=[_rings(best, plane)])
    below = "rings: best layer of the step; bands are in the table"
    return stepped(chart, rows, plane, "Every layer", below, list(looks))


def draw_training(result: Result, metric: str = METRICS[0], *, context: Context = PAGE) -> Panels:
    """The best layer in one score, the loss, and every layer."""
    best = best_chart(result, metric, context=context)
    losses = result.tables["loss"]
    loss = [loss_chart(losses, context=context)] if len(losses) > 1 else []
    return Panels([best, *loss, layers_chart(result, metric, context=context)], across=2)


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Every chart that can be drawn of the result, by file name; the main one first."""
    charts: dict[str, Chart] = {}
    for metric in METRICS:
        if (result.tables["best"]["metric"] == metric).any():
            charts |= {
                f"{metric}-best": best_chart(result, metric, context=context),
                f"{metric}-layers": layers_chart(result, metric, context=context),
            }
    if len(result.tables["loss"]) > 1:
        charts["loss"] = loss_chart(result.tables["loss"], context=context)
    return charts


def _numbers(rows: pd.DataFrame, plane: Plane) -> Any:
    """The layer's number above each point, for `under` of `curves`."""
    numbered = rows.assign(number=[f"{layer:.0f}" for layer in rows["layer"]])

    def make(x: dict[str, Any]) -> Any:
        words = Chart(numbered).mark_text(dy=-13, fontSize=plane.context.letter)
        return words.encode(x=x, y=plane.y_of(), text="number:N")

    return make


def _rings(rows: pd.DataFrame, plane: Plane) -> Any:
    """A ring at each row's place, for `under` of `curves`."""

    def make(x: dict[str, Any]) -> Any:
        rings = Chart(rows).mark_point(
            size=130, strokeWidth=1.6, color=GREY, filled=False, opacity=1
        )
        return rings.encode(x=x, y=plane.y_of())

    return make


def _final(result: Result) -> str:
    return short_name(str(result.spec["end"]))
