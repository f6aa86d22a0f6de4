"""The chart of stitched models: accuracy by the layer of the stitch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.drawing.axes import layer_plane, rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look
from core.results.drawing.style import GREY
from core.results.drawing.vega import Chart
from core.studies.alignment.seeds.curves import (
    HEIGHT,
    curves_of_methods,
    method_looks,
    named_methods,
)

if TYPE_CHECKING:
    from core.results.export import Result

OWN = "unmodified models"


def stitching_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw accuracy by the layer of the stitch, mean over pairs of different models, and of
    unmodified models."""
    import pandas as pd

    rows = named_methods(result.tables["means"])
    unstitched = float(result.tables["own"]["accuracy"].mean())
    low, high = span_of(rows["accuracy"], rows["low"], rows["high"], [unstitched])
    plane = layer_plane(
        rows, "accuracy", "Accuracy", (max(low, 0.0), min(high, 1.0)),
        x_title="Layer of the stitch (0 = embeddings)", kind="per cent", height=HEIGHT,
        context=context,
    )  # fmt: skip
    looks = method_looks(rows["method"])
    looks[OWN] = Look(GREY, dash=(4, 4), point=False, width=1.4)
    drawn = pd.concat([rows, rule(plane, OWN, unstitched)], ignore_index=True)
    below = "dashed line across: unmodified models; bands: 95 % intervals over sentences"
    return curves_of_methods(drawn, plane, looks, "Accuracy of stitched models", below)
