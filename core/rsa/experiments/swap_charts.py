"""Charts of the exchange of layers: the task's score by layer, between the fine-tune's own and chance.

The base's layers are drawn in colour, their rivals in grey: a band of the same kind round each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from core.results.charts import BLUE, BROWN, GREEN, GREY, ORANGE, PINK, heading, layer_axis, legend
from core.results.names import short_names
from core.rsa.experiments.examples import METRICS
from core.rsa.experiments.ways import ONE_LAYER, UP_TO_L, WAYS
from core.rsa.headline import number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT, PANEL = 300, 340
LOOKS = {  # colour, dash
    "below": (BLUE, [1, 0]),
    "above": (GREEN, [1, 0]),
    "truncated": (PINK, [6, 3]),
    "noise below": (ORANGE, [2, 3]),
    "random below": (GREY, [6, 4]),
    "layer": (BLUE, [1, 0]),
    "only": (BROWN, [6, 3]),
    "removed": (PINK, [6, 3]),
    "noise layer": (ORANGE, [2, 3]),
    "random layer": (GREY, [6, 4]),
}
KINDS = {"cut": UP_TO_L, "single": ONE_LAYER}
TITLES = {"cut": "layers exchanged up to l", "single": "one layer exchanged"}


def swap_chart(result: Result, kind: str, model: str | None = None) -> alt.TopLevelMixin:
    """Score by layer.

    Args:
        result: Of the swap study.
        kind: "cut" for layers up to l, "single" for one layer at a time.
        model: One model's reference, for a chart that stretches; all beside each other without it.
    """
    import altair as alt

    models = list(dict.fromkeys(result.table["model"]))
    if model is not None:
        return _panel(result, kind, model, "container")
    panels = [_panel(result, kind, name, PANEL) for name in models]
    return panels[0] if len(panels) == 1 else alt.hconcat(*panels)


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    return {"swap-one-layer": swap_chart(result, "single"), "swap-up-to-layer": swap_chart(result, "cut")}


def _panel(result: Result, kind: str, model: str, width: int | str) -> alt.LayerChart:
    import altair as alt

    table, own = result.table, result.tables["own"].set_index("model").loc[model]
    rows = table[(table["model"] == model) & table["way"].isin(KINDS[kind])]
    ways = [way for way in KINDS[kind] if way in set(rows["way"])]
    rows = rows.assign(name=rows["way"].map(WAYS))
    metric = METRICS[str(own["task"])]
    axis_title = metric[0].upper() + metric[1:]
    names = [WAYS[way] for way in ways]
    keys = legend(columns=1, width=330, lines=True)
    colour = alt.Color(
        "name:N", title=None, scale=alt.Scale(domain=names, range=[LOOKS[w][0] for w in ways]), legend=keys
    )
    dash = alt.StrokeDash("name:N", title=None, scale=alt.Scale(domain=names, range=[LOOKS[w][1] for w in ways]))
    x = layer_axis(title="Layer l (0 = embeddings)")
    low, high = float(min(rows["low"].min(), own["chance"])), float(max(rows["high"].max(), own["high"]))
    scale = alt.Scale(domain=[max(0.0, low - 0.03), min(1.0, high + 0.03)], nice=False)
    y = alt.Y("score:Q", title=axis_title, scale=scale, axis=alt.Axis(tickCount=6))
    tooltip: list[Any] = [alt.Tooltip("name:N", title="What"), alt.Tooltip("layer:Q", title="Layer l")]
    for field, title in (
        ("score", axis_title), ("low", "Band from"), ("high", "Band to"), ("loss", "Loss"),
        ("loss_low", "Loss from"), ("loss_high", "Loss to"), ("excess", "Loss beyond noise"),
    ):  # fmt: skip
        tooltip.append(alt.Tooltip(f"{field}:Q", title=title, format=".3f"))
    base = alt.Chart(rows)
    layers: list[Any] = [
        base.mark_area(opacity=0.14).encode(
            x=x, y=alt.Y("low:Q", title=axis_title, scale=scale), y2="high:Q", color=colour
        ),
        *_rules(own, scale, axis_title),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    frozen = result.tables.get("frozen")
    mine = frozen[frozen["of"] == model] if frozen is not None else None
    bands = "bands: 95 %, resampling sentences"
    if kind == "cut" and mine is not None and len(mine):
        layers += _frozen(mine, scale, axis_title)
        bands += "; diamonds: trained with layers 0 to l frozen"
    short = short_names(tuple(dict.fromkeys(table["model"])))[model]
    subtitle = [
        f"dashed rules: by itself ({number(own['score'])}) and the commonest answer ({number(own['chance'])})",
        bands,
    ]
    chart = alt.layer(*layers).properties(
        width=width, height=HEIGHT, title=heading(f"{short}: {TITLES[kind]}", subtitle)
    )
    return cast("alt.LayerChart", chart)


def _rules(own: pd.Series[float], scale: Any, title: str) -> list[Any]:
    """The fine-tune's own score and chance."""
    import altair as alt
    import pandas as pd

    data = pd.DataFrame({"at": [own["score"], own["chance"]], "what": ["by itself", "commonest answer"]})
    rule = alt.Chart(data).mark_rule(color=GREY, strokeDash=[4, 4], strokeWidth=1.5)
    return [
        rule.encode(
            y=alt.Y("at:Q", scale=scale, title=title),
            tooltip=[alt.Tooltip("what:N", title="What"), alt.Tooltip("at:Q", title=title, format=".3f")],
        )
    ]


def _frozen(rows: pd.DataFrame, scale: Any, title: str) -> list[Any]:
    """What models score whose lower layers did not train, at the layer up to which they did not."""
    import altair as alt

    x = layer_axis(title="Layer l (0 = embeddings)")
    base = alt.Chart(rows)
    tooltip = [
        alt.Tooltip("model:N", title="Model"),
        alt.Tooltip("layer:Q", title="Layers frozen up to"),
        *(alt.Tooltip(f"{field}:Q", title=name, format=".3f") for field, name in
          (("score", title), ("low", "Band from"), ("high", "Band to"))),
    ]  # fmt: skip
    return [
        base.mark_rule(color=BLUE, strokeWidth=1.5).encode(
            x=x, y=alt.Y("low:Q", scale=scale, title=title), y2="high:Q"
        ),
        base.mark_point(shape="diamond", filled=True, size=140, color=BLUE, opacity=1).encode(
            x=x, y=alt.Y("score:Q", scale=scale, title=title), tooltip=tooltip
        ),
    ]
