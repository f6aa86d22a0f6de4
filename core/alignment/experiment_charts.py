"""Charts of the experiments beside the main study: bijection check, stitching, attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.alignment.charts import COLOURS, ERROR_TITLE, TALL, headed, short
from core.alignment.registry import METHODS

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

LOWEST = 1e-6  # errors below are drawn here: rounding


def check_chart(result: Result) -> alt.TopLevelMixin:
    """Error of undoing the random network, by how many blocks it has, a curve a method."""
    import altair as alt

    table = _labelled(result.table)
    table = table.assign(shown=np.maximum(table["nmse"], LOWEST))
    chart = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(
            x=alt.X("blocks:O", title="Coupling blocks of the truth (0 = a rotation)", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("shown:Q", title=ERROR_TITLE, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g")),
            color=_colour(alt, table),
            tooltip=["label:N", "blocks:O", alt.Tooltip("nmse:Q", title="Error", format=".2g")],
        )
    )
    title = headed(alt, "Undoing a known bijection", "log scale; errors below 0.000001 are drawn there")
    return chart.properties(title=title, width="container", height=TALL)


def stitch_chart(result: Result) -> alt.TopLevelMixin:
    """Accuracy by the layer of the stitch, mean over pairs of different models, beside their own accuracy."""
    import altair as alt
    import pandas as pd

    table = _labelled(result.table[result.table["source"] != result.table["target"]])
    table = table.groupby(["method", "label", "layer"], as_index=False)[["accuracy", "low", "high"]].mean()
    own = pd.DataFrame({"own": [float(result.tables["own"]["accuracy"].mean())]})
    colour = _colour(alt, table)
    x = alt.X(
        "layer:Q", title="Stitched at layer (0 = embeddings)", axis=alt.Axis(tickMinStep=1, format="d", grid=False)
    )
    y = alt.Y("accuracy:Q", title="Accuracy", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False))
    bands = (
        alt.Chart(table)
        .mark_area(opacity=0.12)
        .encode(x=x, y=alt.Y("low:Q", title="Accuracy"), y2="high:Q", color=colour)
    )
    tooltip = ["label:N", "layer:Q", alt.Tooltip("accuracy:Q", format=".1%"), alt.Tooltip("low:Q", format=".1%")]
    lines = (
        alt.Chart(table)
        .mark_line(point=True)
        .encode(x=x, y=y, color=colour, tooltip=[*tooltip, alt.Tooltip("high:Q", format=".1%")])
    )
    home = alt.Chart(own).mark_rule(strokeDash=[4, 4], color="#8C8C8C").encode(y="own:Q")
    title = headed(alt, "Accuracy of stitched models", "dashed: the models by themselves; bands: 95 %, sentences")
    return alt.layer(bands, lines, home).properties(title=title, width="container", height=TALL)


def head_chart(result: Result) -> alt.TopLevelMixin:
    """Correlation of matched heads by layer, a point a head and pair, the null of random matching in grey."""
    import altair as alt

    table = result.tables["heads"].assign(
        pair=lambda t: t["source"].map(short) + " → " + t["target"].map(short),
    )
    null = table.groupby("layer", as_index=False)[["null_low", "null_high"]].mean()
    x = alt.X("layer:Q", title="Layer", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    band = (
        alt.Chart(null)
        .mark_area(opacity=0.3, color="#8C8C8C")
        .encode(x=x, y=alt.Y("null_low:Q", title="Correlation of matched heads"), y2="null_high:Q")
    )
    points = (
        alt.Chart(table)
        .mark_circle(size=55, opacity=0.7)
        .encode(
            x=x,
            y="correlation:Q",
            color=alt.Color("pair:N", title=None, legend=alt.Legend(orient="bottom", columns=2, labelLimit=200)),
            tooltip=["pair:N", "layer:Q", "head:O", "match:O", alt.Tooltip("correlation:Q", format=".2f")],
        )
    )
    title = headed(alt, "Attention of matched heads", "held out; grey: heads matched at random, 95 %")
    return alt.layer(band, points).properties(title=title, width="container", height=TALL)


def output_chart(result: Result) -> alt.TopLevelMixin:
    """Held-out error of mapped attention outputs by layer, a curve a method, mean over pairs."""
    import altair as alt

    table = _labelled(result.tables["outputs"]).groupby(["method", "label", "layer"], as_index=False)["nmse"].mean()
    chart = (
        alt.Chart(table)
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("layer:Q", title="Layer", axis=alt.Axis(tickMinStep=1, format="d", grid=False)),
            y=alt.Y("nmse:Q", title=ERROR_TITLE, scale=alt.Scale(domain=[0, 1.2], clamp=True)),
            color=_colour(alt, table),
            tooltip=["label:N", "layer:Q", alt.Tooltip("nmse:Q", format=".3f")],
        )
    )
    title = headed(alt, "Mapped attention outputs", "errors above 1.2 are drawn at the edge")
    return chart.properties(title=title, width="container", height=TALL)


def experiment_figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """The charts of whichever experiment this is, by file name; none where nothing could be computed."""
    if result.table.empty:
        return {}
    if "check" in result.tables:
        return {"check": check_chart(result)}
    if "stitching" in result.tables:
        return {"stitching": stitch_chart(result)}
    return {"heads": head_chart(result), "outputs": output_chart(result)}


def _labelled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(label=table["method"].map(lambda name: METHODS[name].label))


def _colour(alt, table: pd.DataFrame) -> alt.Color:
    names = [name for name in METHODS if name in set(table["method"])]
    scale = alt.Scale(domain=[METHODS[name].label for name in names], range=[COLOURS[name] for name in names])
    return alt.Color(
        "label:N",
        title=None,
        scale=scale,
        legend=alt.Legend(orient="bottom", columns=3, labelLimit=140, symbolOpacity=1),
    )
