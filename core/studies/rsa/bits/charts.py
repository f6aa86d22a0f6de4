"""The chart of bits per byte: a point with its interval for each model."""

from __future__ import annotations

from core.results.drawing.style import BLUE, GREY, heading
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    Tip,
    channel,
    layered,
    short_names,
    span_of,
    told,
)

ROW, LETTERS = 1.4, 160  # rows of text per model; most pixels of a name
TITLE = "Bits per byte"


def figures(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the bits per byte of every model, the fewest above; none without models."""
    table = result.tables["bits"].sort_values("bits_per_byte", kind="stable")
    if table.empty:
        return {}
    rows = table.assign(name=table["model"].map(short_names(table["model"])))
    tips = (Tip("name", "Model"), "bits_per_byte", "bits_per_character", "uniform_bits")
    written, tooltip = told(rows, tips)
    low, high = span_of(rows["low"], rows["high"])
    along = {"scale": {"domain": [low, high], "nice": False, "zero": False}}
    down = channel(
        "name:N", title=None, sort=list(rows["name"]),
        axis={"ticks": False, "domain": False, "labelLimit": LETTERS},
    )  # fmt: skip
    base = Chart(written).encode(y=down)
    chart: Chart = layered(
        base.mark_rule(color=GREY, strokeWidth=2).encode(
            x=channel("low:Q", title="Bits per byte", **along), x2="high:Q"
        ),
        base.mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(
            x=channel("bits_per_byte:Q", title="Bits per byte", **along), tooltip=tooltip
        ),
    ).properties(
        width="container",
        height=ROW * context.row * (len(rows) + 1),
        title=heading(TITLE, "fewer is better; bars: 95 % intervals over sentences"),
        description=". ".join(
            [TITLE, *(f"{row.name}: {row.bits_per_byte:.2f}" for row in rows.itertuples())]
        ),
    )
    return {"bits": chart}
