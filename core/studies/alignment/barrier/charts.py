"""The chart of the barrier: excess of the loss along the way from one model to the other."""

from __future__ import annotations

from dataclasses import replace

from core.results.drawing.axes import Plane
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, line_chart, reach
from core.results.drawing.style import BLUE, GREY, ORANGE
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.tasks import FOLDED, MATCHED, NORMS, RANDOM, RAW, ROTATED

DASHES = {
    **{RAW: (1, 0), MATCHED: (6, 3), NORMS: (2, 2), RANDOM: (4, 4)},
    **{FOLDED: (1, 4), ROTATED: (8, 2, 2, 2)},
}
HEIGHT = 230  # pixels, with the legend below
COLOURS = {OTHER_ORIGINS: ORANGE, ONE_ORIGIN: BLUE}


def figures(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the excess of the loss, mean over pairs of one kind; none where no pair was joined."""
    rows = result.tables["paths"]
    if rows.empty:
        return {}
    rows = rows.assign(name=rows["relation"] + ", " + rows["order"])
    kinds = rows.drop_duplicates("name").set_index("name")
    looks = {
        str(name): Look(
            GREY if row["order"] == RANDOM else COLOURS[row["relation"]],
            dash=DASHES[row["order"]],
            shape="circle" if row["relation"] == OTHER_ORIGINS else "square",
        )
        for name, row in kinds.iterrows()
    }
    context = replace(context, legend=True)  # all lines meet at both ends
    ends = reach(rows, "excess_loss", zero=True)
    titles = ("Share of the second model", "Excess loss per token (natural logarithm, nats)")
    axis = {"format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
    plane = Plane(
        "share", "excess_loss", *titles, *ends, (0.0, 1.0), x_axis=axis, height=HEIGHT,
        context=context,
    )  # fmt: skip
    below = "mean over pairs; bands: 95 % intervals over sentences"
    title = "Loss between two models"
    return {"barrier": line_chart(rows, plane, looks, title, below, line="Pairs")}
