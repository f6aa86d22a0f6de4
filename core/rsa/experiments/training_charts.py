"""Charts of a training run: similarity with its end by tokens seen, a line per layer, and the loss below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from core.results.charts import DASHES, GREY, heading, legend
from core.results.names import short_name
from core.rsa.measures import MEASURES

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT, LOW = 320, 180


def training_chart(result: Result) -> alt.LayerChart:
    """A line per layer with its band, the peak of each step marked, other runs as dashed rules at the top layer.

    Args:
        result: Of the training study.
    """
    import altair as alt

    table, peaks = result.table, result.tables["peaks"]
    field, x = _progress(table)
    label = MEASURES[result.spec["measure"]].label
    scale = alt.Scale(domain=[min(0.0, float(table["low"].min())), 1.0], nice=False)
    y = alt.Y("similarity:Q", title=f"{label} with the end", scale=scale)
    last = int(table["layer"].max())
    colour = alt.Color(
        "layer:O",
        title="Layer (0 = embeddings)",
        scale=alt.Scale(scheme="viridis"),
        legend=legend(columns=7, lines=True),
    )
    tooltip: list[Any] = [
        alt.Tooltip("model:N", title="Step"),
        alt.Tooltip(f"{field}:Q", title=field.capitalize(), format=","),
        alt.Tooltip("layer:O", title="Layer"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=".3f") for name, title in
          (("similarity", label), ("low", "Band from"), ("high", "Band to"), ("null_high", "Null to"))),
    ]  # fmt: skip
    base = alt.Chart(table)
    low = alt.Y("low:Q", title=f"{label} with the end", scale=scale)
    layers: list[Any] = [
        base.mark_area(opacity=0.15).encode(x=x, y=low, y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
        alt.Chart(peaks).mark_point(shape="diamond", size=190, strokeWidth=2, color=GREY, filled=False).encode(
            x=x, y=y, tooltip=[alt.Tooltip("layer:O", title="Peak: layer"), alt.Tooltip("clear:N", title="For certain")]
        ),
    ]  # fmt: skip
    others = result.tables.get("others")
    if others is not None and len(others):
        layers.append(_others(others[others["layer"] == last], scale, f"{label} with the end"))
    marks = "diamonds: the layer nearest to its end; bands: 95 %, resampling sentences"
    dashed = [f"dashed: top layer of {short_name(str(ref))}, another run" for ref in result.spec["others"]]
    title = heading(f"Steps of training compared with {short_name(str(result.spec['end']))}", [marks, *dashed])
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT, title=title)
    return cast("alt.LayerChart", chart)


def loss_chart(result: Result) -> alt.LayerChart:
    """Held-out loss by tokens seen, the end of training included."""
    import altair as alt

    table = result.tables["loss"]
    field, x = _progress(table)
    base = alt.Chart(table)
    y = alt.Y("loss:Q", title="Held-out loss (nats)", scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("model:N", title="Step"),
        alt.Tooltip(f"{field}:Q", title=field.capitalize(), format=","),
        alt.Tooltip("loss:Q", title="Loss", format=".2f"),
    ]
    line = base.mark_line(color=GREY, strokeWidth=2).encode(x=x, y=y)
    points = base.mark_point(color=GREY, filled=True, size=55, opacity=1).encode(x=x, y=y, tooltip=tooltip)
    title = heading("Loss on held-out text", "as the models' cards have it")
    return cast("alt.LayerChart", alt.layer(line, points).properties(width="container", height=LOW, title=title))


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    charts: dict[str, alt.TopLevelMixin] = {"training": training_chart(result)}
    if len(result.tables["loss"]) > 1:
        charts["training-loss"] = loss_chart(result)
    return charts


def _progress(table: pd.DataFrame) -> tuple[str, alt.X]:
    """The column that says how far training is, and its axis: logarithmic above the first step that has seen any."""
    import altair as alt

    field = "tokens" if table["tokens"].notna().all() else "steps"
    positive = table.loc[table[field] > 0, field]
    least = float(positive.min()) if len(positive) else 1.0
    ticks = sorted(set(table[field].dropna()))
    axis = alt.Axis(values=ticks, labelExpr="format(datum.value, '.2~s')", grid=False, labelOverlap=True)
    title = f"{field.capitalize()} seen (logarithmic, linear below {least:,.0f})" if field == "tokens" else "Steps"
    return field, alt.X(f"{field}:Q", title=title, scale=alt.Scale(type="symlog", constant=least), axis=axis)


def _others(rows: pd.DataFrame, scale: Any, title: str) -> Any:
    import altair as alt

    names = [short_name(str(ref)) for ref in rows["model"]]
    dashes = alt.Scale(domain=names, range=[DASHES[number % len(DASHES)] for number in range(len(names))])
    return (
        alt.Chart(rows.assign(name=names))
        .mark_rule(color=GREY, strokeWidth=2)
        .encode(
            y=alt.Y("similarity:Q", title=title, scale=scale),
            strokeDash=alt.StrokeDash("name:N", scale=dashes, legend=None),
            tooltip=[
                alt.Tooltip("name:N", title="Another run"),
                alt.Tooltip("similarity:Q", title="Top layer", format=".3f"),
            ],
        )
    )
