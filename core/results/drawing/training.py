"""Training on an axis: tables say how far each step is, plots share one axis of tokens seen, the
loss has its plot.

Tokens are on a logarithmic axis, on which a model that has seen none has no place: it stands at the
left end, a stretch apart from the first that has seen any, and its tick says 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.models.steps import progress_of
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished
from core.results.drawing.style import GREY
from core.results.drawing.vega import Chart
from core.results.names import short_names
from core.results.numbers import Kind, Tip

if TYPE_CHECKING:
    import pandas as pd

LOSS = ("model", "steps", "tokens", "loss")
LOW = 260
# how many times nearer to 0 than the first step the place of a model that has seen nothing is
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
    import pandas as pd

    steps = [(ref, *progress_of(ref)) for ref in refs]
    table = pd.DataFrame([row for row in steps if row[3] is not None], columns=list(LOSS))
    return table.astype({"steps": "Int64", "tokens": "Int64", "loss": float})


def progress_notices(table: pd.DataFrame) -> list[str]:
    """Say what a reader must know of the axis, where cards and names say too little.

    Args:
        table: Columns `model`, `steps` and `tokens`, rows of models only.
    """
    models = table.drop_duplicates("model")
    unknown = models.loc[models["steps"].isna(), "model"]
    if len(models) and len(unknown) == len(models):
        return [
            "Neither cards nor names give the training steps, so the checkpoints are in the order "
            "of their names."
        ]
    said = []
    if models.loc[models["steps"].notna(), "tokens"].isna().any():
        said.append(
            "The tokens seen are unknown for some checkpoints, so the axis shows training steps."
        )
    if len(unknown):
        names = ", ".join(str(ref) for ref in unknown)
        said.append(
            "Neither card nor name gives the training steps of some checkpoints, which are in the "
            f"tables but not in the charts: {names}."
        )
    return said


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
    """Add a column `place` to the rows, and make the plane whose x axis it is: tokens, or else
    steps, or else names.

    Args:
        table: Columns `model`, `tokens`, `steps` and y; rows of no step have neither.
        y, y_title, ends, kind, height: As for `Plane`.
    """
    counts = {  # by way of Float64: a column of objects may hold missing values of any kind
        name: table[name].astype("Float64").astype(float)
        for name in ("steps", "tokens", "layer")
        if name in table.columns
    }
    if table["steps"].isna().all():
        order = {
            model: float(number)
            for number, model in enumerate(dict.fromkeys(table["model"]), start=1)
        }
        plane = Plane(
            "place",
            y,
            "Checkpoints, by name",
            y_title,
            ends[0],
            ends[1],
            (1.0, max(2.0, len(order))),
            kind=kind,
            height=height,
            context=context,
        )
        return table.assign(place=table["model"].map(order), **counts), plane
    counted = table[table["steps"].notna()]
    field = "tokens" if len(counted) and counted["tokens"].notna().all() else "steps"
    seen = sorted({int(value) for value in counted[field].dropna()})
    first = next((value for value in seen if value > 0), 1)
    bottom = first / APART
    place = counts[field].clip(lower=bottom)
    left, right = (bottom if 0 in seen else float(first)), float(max([*seen, first]))
    ticks = [max(value, bottom) for value in seen]
    axis = {
        "values": ticks,
        "labelExpr": (
            f"datum.value < {first} ? '0' : replace(format(datum.value, '.2~s'), 'G', 'B')"
        ),
        "labelOverlap": True,
    }
    title = "Tokens seen" if field == "tokens" else "Steps"
    plane = Plane(
        "place",
        y,
        f"{title} (logarithmic)",
        y_title,
        ends[0],
        ends[1],
        (left, max(right, 2 * left)),
        kind=kind,
        height=height,
        x_axis=axis,
        x_log=True,
        context=context,
    )
    return table.assign(place=place, **counts), plane


def step_tips(value: str, title: str, kind: Kind) -> tuple[Tip, ...]:
    """List the rows of a step's tooltip."""
    return (
        *(Tip("step", "Checkpoint"), Tip("tokens", "Tokens seen", "whole")),
        *(Tip("layer", "Layer", "whole"), Tip(value, title, kind)),
        Tip("low", "95 % interval", kind),
    )


def named_steps(table: pd.DataFrame) -> pd.DataFrame:
    """Add each model's short name to the table as `step`."""
    return table.assign(step=table["model"].map(short_names(dict.fromkeys(table["model"]))))


def loss_chart(table: pd.DataFrame, *, context: Context = PAGE) -> Chart:
    """Draw the held-out loss by tokens seen, the end of training included.

    Args:
        table: Of `loss_table`.
    """
    rows, plane = along_training(
        table,
        "loss",
        "Held-out loss (nats)",
        span_of(table["loss"]),
        kind="measure",
        context=context,
    )
    rows = named_steps(rows).assign(name="loss")
    tips = (
        Tip("step", "Step"),
        Tip("tokens", "Tokens seen", "whole"),
        Tip("loss", "Loss (nats)", "measure"),
    )
    chart = curves(rows, plane, {"loss": Look(GREY)}, tips)
    return stepped(chart, rows, plane, "Held-out loss", "from the models' cards", ["loss"])


def stepped(
    chart: Any, rows: pd.DataFrame, plane: Plane, what: str, below: str, names: Sequence[str]
) -> Chart:
    """Give the chart its size, title and description, which count tokens (or steps) from 0."""
    field = "tokens" if plane.x_title.startswith("Tokens") else "steps"
    counted = rows.assign(place=rows[field].astype(float).fillna(rows["place"]))
    return finished(chart, counted, plane, what, below, names)
