"""Line charts of the alignment studies: errors and gains by layer, one line per method; training,
one line per layer."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from core.errors import SpecError, counted
from core.maths.maps.registry import METHODS
from core.results.drawing.curves import graded
from core.results.drawing.style import DASHES, GREY, LAYER_TITLE, SHAPES
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.statements import best_map, judged
from core.studies.alignment.seeds.tables import MAPS_OF_GAIN, OVERALL, rows_between
from core.studies.alignment.seeds.text import WHICH
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Plane,
    Result,
    Rule,
    layer_chart,
    line_chart,
    span_of,
    tip_of,
)

CEILING = 1.2  # largest end of the error axis; higher errors are marked at its edge
AND_AGAIN = ", second run"  # behind the name of a method
MEAN = "target's mean"  # the reference line at 1
NO_GAIN = "no gain"
GROUPS = {"models": "first group", "against": "second group"}


def error_chart(
    table: pd.DataFrame,
    title: str,
    below: str,
    *,
    x_title: str = LAYER_TITLE,
    again: pd.DataFrame | None = None,
    context: Context,
) -> Chart:
    """Draw errors by layer (method, layer, nmse, and low and high where there are intervals), one
    line per method, controls dashed, and a line at the error of the target's mean; `again` has the
    same columns of one method's map into a second run of the seed."""
    rows = named_methods(table)
    looks = method_looks(rows["method"])
    if again is not None and len(again):
        second = named_methods(again)
        second = second.assign(name=second["name"] + AND_AGAIN)
        rows = pd.concat([rows, second], ignore_index=True)
        colour = METHODS[str(second["method"].iloc[0])].colour
        looks[str(second["name"].iloc[0])] = Look(colour, dash=DASHES[0], point=False)
    top = ceiling_of(rows["nmse"])
    return layer_chart(
        rows,
        "nmse",
        looks,
        title,
        below,
        x_title=x_title,
        ends=(0.0, top),
        rules=[Rule(MEAN, 1.0, (4, 4))] if top > 1 else [],
        line="Map",
        context=context,
    )


def errors_chart(result: Result, group: str = "models", *, context: Context = PAGE) -> Chart:
    """Draw the held-out error by layer, one line per method, with bands over models and held-out
    words. Raises SpecError if no pair of the group was aligned."""
    words = judged(result.tables["methods"])
    table = rows_between(result.tables["layers"], words, group)
    if table.empty:
        raise SpecError(f"This study has no {GROUPS.get(group, group)}: name models for it.")
    which = f", {GROUPS[group]}" if result.spec["against"] else ""
    return error_chart(
        table,
        f"Error by layer on {WHICH[words]}{which}",
        "0: perfect; 1: no better than the target's mean; bands: 95 % intervals",
        again=_second_run(result, words) if group == "models" else None,
        context=context,
    )


def _second_run(result: Result, words: str) -> pd.DataFrame:
    """Choose the errors of the map of states that fits a second run of the same seed best."""
    best = best_map(result.tables["methods"], words, AGAIN)
    rows = rows_between(result.tables["layers"], words, AGAIN)
    return rows[rows["method"] == best]


def draw_gains(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw what the layers add to the static window, and the window to them, by layer; no figure
    without a window."""
    if "gains" not in result.tables:
        return {}
    words = judged(result.tables["methods"])
    rows = rows_between(result.tables["gains"], words)
    rows = rows[rows["layer"] != OVERALL]
    columns = {column: 100 * rows[column] for column in ("difference", "low", "high")}
    rows = rows.assign(name=[MAPS_OF_GAIN[gain][2] for gain in rows["gain"]], **columns)
    looks = {
        name: Look(METHODS[method].colour, SHAPES[number], ((1, 0), *DASHES)[number])
        for number, (method, _, name) in enumerate(MAPS_OF_GAIN.values())
    }
    chart = layer_chart(
        rows,
        "difference",
        looks,
        f"What the layers add to the embedding table on {WHICH[words]}",
        "static window: layer 0 of a word and its neighbours; bands: 95 % for all layers together",
        y_title=f"{tip_of('gains.difference').title} (points)",
        kind="gain",
        ends=span_of([0.0, *rows["low"], *rows["high"]]),
        rules=[Rule(NO_GAIN, 0.0, (4, 4))],
        line="Compared",
        context=context,
    )
    return {"gains": chart}


def trained(result: Result) -> list[str]:
    """List the networks whose training was recorded."""
    table = result.tables.get("curves")
    return [] if table is None else [name for name in METHODS if (table["method"] == name).any()]


def curve_chart(result: Result, method: str, *, context: Context = PAGE) -> Chart:
    """Draw the validation error of one of `trained` during training, one line per layer, mean over
    pairs. Raises SpecError if no network was trained."""
    table = result.need("curves", "the invertible network or the MLP among its maps")
    low, high = span_of(table["validation"])
    # A network that has converged keeps its error; without it, the mean over pairs would jump.
    wide = table[table["method"] == method].pivot_table(
        "validation", "step", ["layer", "source", "target"]
    )
    in_training = wide.T.groupby("layer").count().T > 0
    means = wide.ffill().T.groupby("layer").mean().T.where(in_training)
    pairs = counted(len(wide.columns.droplevel("layer").unique()), "directed pair")
    rows = means.melt(ignore_index=False, value_name="validation").dropna().reset_index()
    rows = rows.assign(name=[f"layer {layer}" for layer in rows["layer"]])
    looks = graded([f"layer {layer}" for layer in sorted(set(rows["layer"]))], point=False)
    steps = (0.0, float(max(table["step"].max(), 1)))
    plane = Plane(
        *("step", "validation", "Training step", tip_of("validation").title, low, high, steps),
        x_axis={"tickCount": 5},
        context=context,
    )
    title = f"Training: {METHODS[method].label}"
    below = f"mean over {pairs}; step 0: closed-form map; each line ends when its networks converge"
    return line_chart(rows, plane, looks, title, below, line="Layer")


def named_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Add the names of the methods, as those of lines."""
    return table.assign(name=table["method"].map(lambda name: METHODS[name].label))


def method_looks(methods: Iterable[str]) -> dict[str, Look]:
    """Style the line of each method, in the registry's order; the same in every chart."""
    there, looks = set(methods), {}
    controls = [name for name in METHODS if METHODS[name].kind == "control"]
    for number, (name, method) in enumerate(METHODS.items()):
        if name in there:
            dash = DASHES[controls.index(name) % len(DASHES)] if name in controls else (1, 0)
            colour = GREY if name in controls else method.colour
            looks[method.label] = Look(
                colour, SHAPES[number % len(SHAPES)], dash, name not in controls
            )
    return looks


def ceiling_of(errors: pd.Series) -> float:
    """Choose the end of the error axis: 1.2, or less where all errors are lower."""
    return float(min(CEILING, max(0.2, errors.max() * 1.05)))
