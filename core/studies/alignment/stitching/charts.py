"""The chart of stitched models: accuracy by the layer of the stitch."""

from __future__ import annotations

from core.studies.alignment.seeds.curves import method_looks, named_methods
from core.studies.chart_kit import Rule, layer_chart, span_of
from core.studies.kit import PAGE, Chart, Context, Result

OWN = "unmodified models"


def stitching_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw accuracy by the layer of the stitch, mean over pairs of different models, and of
    unmodified models."""
    rows = named_methods(result.tables["means"])
    unstitched = float(result.tables["own"]["accuracy"].mean())
    low, high = span_of(rows["accuracy"], rows["low"], rows["high"], [unstitched])
    looks = method_looks(rows["method"])
    below = "dashed line across: unmodified models; bands: 95 % intervals over sentences"
    return layer_chart(
        rows, "accuracy", looks, "Accuracy of stitched models", below,
        x_title="Layer of the stitch (0 = embeddings)", ends=(max(low, 0.0), min(high, 1.0)),
        rules=[Rule(OWN, unstitched, (4, 4))], line="Map", context=context,
    )  # fmt: skip
