"""Training on an axis: tables say how far each step is, plots share one axis of training steps, by
which sentences and references name checkpoints, the loss has its plot.

Steps are on a logarithmic axis, on which step 0 has no place: it stands at the left end, a stretch
apart from the first after it, and its tick says 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from core.models.steps import progress_of
from core.results.columns import Tip, tip_of
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, Mark, Rule, line_chart, reach
from core.results.drawing.style import GREY
from core.results.drawing.vega import Chart
from core.results.estimates import kind_in
from core.results.names import short_names
from core.results.numbers import Kind

LOSS = ("model", "steps", "tokens", "loss")
BY_STEP = "Training step (logarithmic)"
BY_NAME = "Checkpoints, by name"
LOW = 260
# how many times nearer to 0 than the first step the place of step 0 is
APART = 4.0


def with_progress(table: pd.DataFrame) -> pd.DataFrame:
    """Add `steps` and `tokens` to the table, after its column `model`; missing where no card and no
    name has them."""
    progress = {ref: progress_of(str(ref)) for ref in dict.fromkeys(table["model"])}
    made = table.copy()
    at = list(made.columns).index("model") + 1
    for place, name in enumerate(("steps", "tokens")):
        values = [progress[ref][place] for ref in made["model"]]
        made.insert(at + place, name, values)
        made[name] = made[name].astype(float).astype("Int64")
    return made


def loss_table(refs: Iterable[str]) -> pd.DataFrame:
    """Collect the losses on the models' cards: LOSS."""
    steps = [(ref, *progress_of(ref)) for ref in refs]
    table = pd.DataFrame([row for row in steps if row[3] is not None], columns=list(LOSS))
    return table.astype({"steps": "Int64", "tokens": "Int64", "loss": float})


def progress_notices(table: pd.DataFrame) -> list[str]:
    """Say what a reader must know of the axis, where cards and names say too little of these
    models."""
    models = table.drop_duplicates("model")
    unknown = models.loc[models["steps"].isna(), "model"]
    if len(models) and len(unknown) == len(models):
        return [
            "Neither cards nor names give the training steps, "
            "so the checkpoints are in the order of their names."
        ]
    if not len(unknown):
        return []
    names = ", ".join(str(ref) for ref in unknown)
    return [
        "Neither card nor name gives the training steps of some checkpoints, "
        f"which are in the tables but not in the charts: {names}."
    ]


def along_training(
    table: pd.DataFrame,
    y: str,
    y_title: str,
    ends: tuple[float, float],
    *,
    kind: Kind = "share",
    height: float = LOW,
    context: Context,
) -> tuple[pd.DataFrame, Plane]:
    """Add a column `place` to the rows, and make the plane whose x axis it is: steps, or else
    names. Rows of no step lack `steps` and `tokens`."""
    counts = {  # by way of Float64: a column of objects may hold missing values of any kind
        name: table[name].astype("Float64").astype(float)
        for name in ("steps", "tokens", "layer")
        if name in table.columns
    }
    axis: dict[str, Any] = {}
    if table["steps"].isna().all():
        order = {
            model: float(number) for number, model in enumerate(dict.fromkeys(table["model"]), 1)
        }
        place, title = table["model"].map(order), BY_NAME
        x_ends = (1.0, max(2.0, len(order)))
    else:
        steps = sorted({int(value) for value in table["steps"].dropna()})
        first = next((value for value in steps if value > 0), 1)
        bottom = first / APART
        place, title = counts["steps"].clip(lower=bottom), BY_STEP
        left = bottom if 0 in steps else float(first)
        x_ends = (left, max(float(max([*steps, first])), 2 * left))
        zero = f"datum.value < {first} ? '0'"
        axis["x_axis"] = {
            "values": [max(value, bottom) for value in steps],
            "labelExpr": f"{zero} : format(datum.value, datum.value < 1e5 ? ',' : '.2~s')",
            "labelOverlap": True,
        }
        axis["x_log"] = True
    plane = Plane(
        *("place", y, title, y_title, *ends, x_ends, kind, height), **axis, context=context
    )
    return table.assign(place=place, **counts), plane


def step_chart(
    rows: pd.DataFrame,
    y: str,
    y_title: str,
    looks: Mapping[str, Look],
    title: str,
    below: str = "",
    *,
    kind: Kind | None = None,
    ends: tuple[float, float] | None = None,
    rules: Sequence[Rule] = (),
    height: float = LOW,
    context: Context,
    **more: Any,
) -> Chart:
    """Draw a column through training: a line for each name, baselines as grey lines. Kind and ends
    are the column's where they are not given; `more` is `line_chart`'s."""
    names = short_names(dict.fromkeys(rows["model"]))
    kind = kind or kind_in(rows, y)
    placed, plane = along_training(
        rows.assign(step=rows["model"].map(names)), y, y_title, ends or reach(rows, y, rules),
        kind=kind, height=height, context=context,
    )  # fmt: skip
    rules = [replace(rule, columns={"step": rule.name, **rule.columns}) for rule in rules]
    tips = (Tip("step", "Checkpoint"), "tokens", "layer", Tip(y, y_title, kind), "low")
    return line_chart(
        placed, plane, looks, title, below, rules=rules, tips=tips, counted="steps", **more
    )


def rings(table: pd.DataFrame) -> Mark:
    """Make a ring round the point of each row, for `under` of a `step_chart`."""

    def make(plane: Plane, x: dict[str, Any]) -> Chart:
        rows, _ = along_training(table, plane.y, "", (0.0, 1.0), context=plane.context)
        look: dict[str, Any] = {"size": 130, "strokeWidth": 1.6, "color": GREY, "filled": False}
        return Chart(rows).mark_point(**look, opacity=1).encode(x=x, y=plane.y_of())

    return make


def loss_chart(table: pd.DataFrame, *, context: Context = PAGE) -> Chart:
    """Draw the held-out loss of a `loss_table` by training step, the end of training included."""
    looks = {"loss": Look(GREY)}
    return step_chart(
        table.assign(name="loss"), "loss", tip_of("loss.loss").title, looks,
        "Held-out loss",
        "from the models' cards", kind="measure", ends=span_of(table["loss"]), context=context,
    )  # fmt: skip
