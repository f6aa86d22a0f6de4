"""Charts of the test of rotations: errors by layer in-sample and held out, and spectra."""

from __future__ import annotations

import pandas as pd

from core.maths.maps.registry import METHODS
from core.results.drawing.curves import graded
from core.results.drawing.style import DASHES, GREY
from core.studies.alignment.seeds.tables import OVERALL
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Plane,
    Result,
    layer_chart,
    line_chart,
    tip_of,
)
from extras.alignment.rotation.tasks import LINEAR, ROTATION

PARTS = {"test": "held out", "train": "in-sample"}
PLANTED = "noisy rotation"
LEAST_DRAWN = 1e-3  # smaller singular values are drawn here
BEYOND = 1.25  # room above the largest singular value, as a factor


def error_by_layer(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the errors of the scaled rotation and of ridge by layer, held out and in-sample."""
    table = result.tables["rotation"]
    table = table[table["method"].isin((ROTATION, LINEAR)) & (table["layer"] != OVERALL)]
    names = {
        (method, part): f"{METHODS[method].label}, {PARTS[part]}"
        for method in (ROTATION, LINEAR)
        for part in PARTS
    }
    rows = table.assign(name=pd.MultiIndex.from_frame(table[["method", "split"]]).map(names))
    looks = {
        name: Look(METHODS[method].colour, dash=DASHES[0] if part == "train" else (1, 0))
        for (method, part), name in names.items()
    }
    top = float(max(1.0, rows["nmse"].max()))
    return layer_chart(
        rows,
        "nmse",
        looks,
        "A rotation with one scale and a linear map",
        "solid: held out, with 95 % intervals; dashed: in-sample",
        ends=(0.0, top),
        line="Map",
        context=context,
    )


def spectrum_by_layer(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw ridge's singular values, a line per layer, and those with a planted rotation in grey."""
    table = result.tables["spectra"]
    layers = [f"layer {layer}" for layer in sorted(set(table["layer"]))]
    rows = table.assign(name=[f"layer {layer}" for layer in table["layer"]])
    columns = {"planted": "singular_value", "planted_low": "low", "planted_high": "high"}
    planted = table.groupby("direction", as_index=False)[[*columns]].mean()
    planted = planted.rename(columns=columns).assign(name=PLANTED)
    drawn = pd.concat([rows, planted], ignore_index=True)
    drawn[[*columns.values()]] = drawn[[*columns.values()]].clip(lower=LEAST_DRAWN)
    top = BEYOND * float(drawn["singular_value"].max())
    plane = Plane(
        "direction",
        "singular_value",
        "Direction",
        tip_of("spectra.singular_value").title,
        float(drawn["singular_value"].min()) / BEYOND,
        top,
        (1.0, float(table["direction"].max())),
        kind="measure",
        x_axis={"tickCount": 5, "format": "d"},
        y_log=True,
        context=context,
    )
    looks = graded(layers, point=False, width=1.8)
    looks[PLANTED] = Look(GREY, dash=(6, 4), point=False, width=2.0)
    title = "Singular values of the linear map"
    below = "an exact rotation has 1 throughout; dashed: one with noise as large as the errors"
    return line_chart(drawn, plane, looks, title, below, line="Layer")


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw errors and spectra; no figure where no pair could be compared."""
    return {
        "rotation": error_by_layer(result, context=context),
        "spectra": spectrum_by_layer(result, context=context),
    }
