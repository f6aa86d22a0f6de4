"""Line charts of the alignment studies: errors and gains by layer, one line per method; training,
one line per layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.errors import SpecError
from core.maths.maps.registry import METHODS
from core.results.drawing.axes import Plane, layer_plane, rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished, graded
from core.results.drawing.panels import beside
from core.results.drawing.style import DASHES, GREY, LAYER_TITLE, SHAPES
from core.results.drawing.vega import Chart
from core.results.numbers import Tip
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.statements import best_map, judged
from core.studies.alignment.seeds.tables import OVERALL, PAIRS
from core.studies.alignment.seeds.text import WHICH

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

HEIGHT = 320
ERROR_TITLE = "Held-out error (1 = target's mean)"
CEILING = 1.2  # largest end of the error axis; higher errors are marked at its edge
AND_AGAIN = ", second run"  # behind the name of a method
MEAN = "target's mean"  # the reference line at 1
GAIN_TITLE = "Additional variance predicted (points)"
NO_GAIN = "no gain"
GAINED = {  # names of the gains in charts
    "state over window": "hidden state over static window",
    "window over word": "static window over static word",
    "window beside state": "both over hidden state",
    "state beside window": "both over static window",
}
GROUPS = {"models": "first group", "against": "second group"}


def error_chart(
    table: pd.DataFrame,
    what: str,
    below: str,
    *,
    value: str = "nmse",
    x_title: str = LAYER_TITLE,
    again: pd.DataFrame | None = None,
    context: Context,
) -> Chart:
    """Draw errors by layer, one line per method, controls dashed, and a line at the error of the
    target's mean.

    Args:
        table: method, layer, the value, and `low` and `high` where there are intervals.
        what: Title.
        below: Subtitle.
        value: Column of the error.
        x_title: Title of the layer axis.
        again: The same columns of one method's map into a second run of the seed.
    """
    import pandas as pd

    rows = named_methods(table)
    looks = method_looks(rows["method"])
    if again is not None and len(again):
        second = named_methods(again)
        second = second.assign(name=second["name"] + AND_AGAIN)
        rows = pd.concat([rows, second], ignore_index=True)
        colour = METHODS[str(second["method"].iloc[0])].colour
        looks[str(second["name"].iloc[0])] = Look(colour, dash=DASHES[0], point=False)
    top = ceiling_of(rows[value])
    plane = layer_plane(
        rows, value, ERROR_TITLE, (0.0, top), x_title=x_title, height=HEIGHT, context=context
    )
    drawn = rows
    if top > 1:
        drawn = pd.concat([rows, rule(plane, MEAN, 1.0)], ignore_index=True)
        looks[MEAN] = Look(GREY, dash=(4, 4), point=False, width=1.2)
    return curves_of_methods(drawn, plane, looks, what, below)


def layer_chart(result: Result, group: str = "models", *, context: Context = PAGE) -> Chart:
    """Draw the held-out error by layer, one line per method, with bands over models and held-out
    words.

    Raises:
        SpecError: If no pair of the group was aligned.
    """
    words, table = judged(result.tables["methods"]), result.tables["layers"]
    table = table[(table["group"] == group) & (table["words"] == words)]
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
    """The errors of the map of states that fits a second run of the same seed best."""
    methods, table = result.tables["methods"], result.tables["layers"]
    best = best_map(methods, words, AGAIN)
    return table[(table["group"] == AGAIN) & (table["words"] == words) & (table["method"] == best)]


def gain_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw what the layers add to the static window, and the window to them, by layer.

    Raises:
        SpecError: If the study has no static window.
    """
    import pandas as pd

    words = judged(result.tables["methods"])
    table = result.need("gains", "the static window and kernel ridge")
    rows = table[
        (table["group"] == "models") & (table["words"] == words) & (table["layer"] != OVERALL)
    ]
    columns = {name: 100 * rows[name] for name in ("difference", "low", "high")}
    rows = rows.assign(name=rows["gain"].map(GAINED), **columns)
    span = span_of([0.0, *rows["low"], *rows["high"]])
    plane = layer_plane(
        rows, "difference", GAIN_TITLE, span, kind="gain", height=HEIGHT, context=context
    )
    looks = {
        GAINED[gain]: Look(METHODS[method].colour, SHAPES[number], DASHES[0] if number else (1, 0))
        for number, (gain, (method, _)) in enumerate(PAIRS.items())
    }
    drawn = pd.concat([rows, rule(plane, NO_GAIN, 0.0)], ignore_index=True)
    looks[NO_GAIN] = Look(GREY, dash=(4, 4), point=False, width=1.2)
    return curves_of_methods(
        drawn,
        plane,
        looks,
        f"What the layers add to the embedding table on {WHICH[words]}",
        "static window: layer 0 of the word and its neighbours; bands: 95 % intervals",
    )


def trained(result: Result) -> list[str]:
    """List the networks whose training was recorded."""
    table = result.tables.get("curves")
    return [] if table is None else [name for name in METHODS if (table["method"] == name).any()]


def curve_chart(result: Result, method: str = "", *, context: Context = PAGE) -> Chart:
    """Draw the validation error of a network during training, one line per layer, mean over pairs.

    Args:
        result: Of the alignment study.
        method: One network, for a chart that stretches; all networks side by side where it is
            empty.

    Raises:
        SpecError: If no network was trained.
    """
    table = result.tables.get("curves")
    if table is None:
        raise SpecError(
            "No network was trained in this study: add the invertible network or the MLP to the "
            "maps."
        )
    if not method:
        return beside(
            [curve_chart(result, name, context=context) for name in trained(result)],
            context=context,
        )
    low, high = span_of(table["validation"])
    table = (
        table[table["method"] == method]
        .groupby(["layer", "step"], as_index=False)["validation"]
        .mean()
    )
    layers = sorted(set(table["layer"]))
    rows = table.assign(name=[f"layer {layer}" for layer in table["layer"]])
    looks = graded([f"layer {layer}" for layer in layers], point=False)
    steps = (0.0, float(max(result.tables["curves"]["step"].max(), 1)))
    plane = Plane(
        *("step", "validation", "Training step", "Validation error", low, high, steps),
        x_axis={"tickCount": 5},
        context=context,
    )
    what = f"Training: {METHODS[method].label}"
    below = "step 0: closed-form map; each line ends when its network has converged"
    return curves_of_methods(rows, plane, looks, what, below)


def curves_of_methods(
    table: pd.DataFrame, plane: Plane, looks: dict[str, Look], what: str, below: str
) -> Chart:
    """Draw one line per method, with title and description."""
    tips = (
        *(Tip("name", "Map"), Tip(plane.x, plane.x_title.split(" (")[0], "whole")),
        Tip(plane.y, plane.y_title.split(" (")[0], plane.kind),
        Tip("low", "95 % interval", plane.kind),
    )
    chart = curves(table, plane, looks, tips, opacity=0.13)
    return finished(chart, table, plane, what, below, list(looks))


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """Add the methods' labels in charts."""
    return table.assign(label=table["method"].map(lambda name: METHODS[name].label))


def named_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Add the names of the methods' lines."""
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
    """The end of the error axis: 1.2, or less where all errors are lower."""
    return float(min(CEILING, max(0.2, errors.max() * 1.05)))
