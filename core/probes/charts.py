"""Charts of a probe study: scores by layer, differences from the base, the rank sweep.

Colours are Okabe and Ito's, and every model has its own point shape as well. No chart sets a background or a text
colour, so a light and a dark theme both fit; each stretches to its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from core.errors import SpecError
from core.probes.tables import CHAIN, CONTROL, PARSED, POSITION, PROBE_OF, RANDOM, SELECTIVITY, metric_label
from core.results.charts import GREY, colours_of, heading, layer_axis, legend, shapes_of
from core.results.names import short_name, short_names

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT = 340
LAYER_TITLE = "Layer (0 = embeddings)"
YARDSTICKS = {CHAIN: [6, 4], RANDOM: [2, 3], PARSED: [12, 4], POSITION: [8, 3, 2, 3]}


def scores_chart(result: Result, metric: str = "uuas", controls: bool = True) -> alt.TopLevelMixin:
    """A curve a model by layer with its band; control trees dashed in the same colour; baselines as grey lines.

    Args:
        result: Of a probe study.
        metric: "uuas", "dspr", "root" or "nspr", or one of them with " selectivity" after it.
        controls: Whether curves of control trees are drawn, where there are any.

    Raises:
        SpecError: If the result has no such metric.
    """
    import altair as alt

    rows = _rows(result, metric)
    label = metric_label(metric)
    learned = rows["probe"].str.endswith(CONTROL)  # on control trees
    scored = rows[rows["layer"].notna() & ~learned]
    names = list(dict.fromkeys(scored["name"]))
    x, y = (
        layer_axis(),
        alt.Y("value:Q", title=label, scale=alt.Scale(zero=metric.endswith(SELECTIVITY), nice=True)),
    )
    colour, shape = _model_scales(alt, names)
    curves = alt.Chart(scored)
    layers: list[Any] = [
        curves.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=label), y2="high:Q", color=colour),
    ]
    lines = rows[rows["layer"].isna() & rows["model"].isin(list(YARDSTICKS)) & ~learned]
    if not lines.empty:
        layers += _yardsticks(alt, lines, label)
    control = rows[rows["layer"].notna() & learned]
    if controls and not control.empty:
        layers.append(
            alt.Chart(control.assign(kind="on control trees"))
            .mark_line(strokeWidth=1.5, strokeDash=[3, 3], opacity=0.9)
            .encode(x=x, y=y, color=colour, tooltip=_tooltip(alt, label, control=True))
        )
    layers += [
        curves.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        curves.mark_point(size=60, filled=True, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=_tooltip(alt, label)
        ),
    ]
    subtitle = "band: 95 %, over test sentences and probes"
    if controls and not control.empty:
        subtitle += "; dotted: the same probes on control trees"
    title = heading(f"{label} by layer", subtitle)
    return cast(
        "alt.TopLevelMixin",
        alt.layer(*layers)
        .resolve_scale(color="shared", strokeDash="independent")
        .properties(width="container", height=HEIGHT, title=title),
    )


def difference_chart(result: Result, metric: str = "uuas") -> alt.TopLevelMixin:
    """Every model less the base by layer, with the band of the difference and a line at zero.

    Raises:
        SpecError: If there was nothing to compare with the base.
    """
    import altair as alt

    table = result.tables["differences"]
    rows = table[table["metric"] == metric]
    if rows.empty:
        raise SpecError(f"This result compares no models in {metric}: choose two models or more.")
    names = short_names(dict.fromkeys((*rows["base"], *rows["model"])))
    rows, base, label = rows.assign(name=rows["model"].map(names)), names[rows["base"].iloc[0]], metric_label(metric)
    # The base comes first among the colours of the scores chart, so that a model keeps its colour here.
    colour, shape = _model_scales(alt, [base, *dict.fromkeys(rows["name"])], shown=list(dict.fromkeys(rows["name"])))
    x = layer_axis()
    y_title = f"{label}, less {base}"
    chart = alt.Chart(rows)
    tooltip = [
        alt.Tooltip("name:N", title="Model"),
        alt.Tooltip("layer:Q", title="Layer"),
        alt.Tooltip("difference:Q", title=f"Less {base}", format="+.2f"),
        alt.Tooltip("low:Q", title="Band from", format="+.2f"),
        alt.Tooltip("high:Q", title="Band to", format="+.2f"),
    ]
    y = alt.Y("difference:Q", title=y_title)
    return alt.layer(
        alt.Chart(rows.assign(zero=0.0).head(1)).mark_rule(color=GREY).encode(y="zero:Q"),
        chart.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        chart.mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ).properties(
        width="container",
        height=HEIGHT,
        title=heading(f"Difference from {base}", "on the same resamples; 95 %"),
    )


def sweep_chart(sweep: pd.DataFrame, metric: str = "uuas") -> alt.TopLevelMixin:
    """Score by rank of the probe, one curve a model, rank on a logarithmic axis.

    Args:
        sweep: Table of `sweep.collect_sweep`.
        metric: "uuas" or "dspr".
    """
    import altair as alt

    rows = sweep[sweep["metric"] == metric]
    rows = rows.assign(
        name=[f"{short_name(model)}, layer {layer}" for model, layer in zip(rows["model"], rows["layer"], strict=True)]
    )
    colour, shape = _model_scales(alt, list(dict.fromkeys(rows["name"])))
    ranks = sorted({int(rank) for rank in rows["rank"]})
    x = alt.X(
        "rank:Q",
        title="Rank of the probe",
        scale=alt.Scale(type="log", base=2),
        axis=alt.Axis(values=ranks, format="d"),
    )
    label = metric_label(metric)
    y = alt.Y("value:Q", title=label, scale=alt.Scale(zero=False))
    chart = alt.Chart(rows)
    tooltip = [
        alt.Tooltip("name:N", title="Model"),
        alt.Tooltip("rank:Q", title="Rank"),
        alt.Tooltip("value:Q", title=label, format=".2f"),
        alt.Tooltip("low:Q", title="Band from", format=".2f"),
        alt.Tooltip("high:Q", title="Band to", format=".2f"),
    ]
    return alt.layer(
        chart.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=label), y2="high:Q", color=colour),
        chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        chart.mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ).properties(width="container", height=HEIGHT, title=heading(f"{label} by rank"))


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    there = set(result.table["metric"])
    charts: dict[str, alt.TopLevelMixin] = {
        metric.replace(" ", "-"): scores_chart(result, metric)
        for metric in (*PROBE_OF, *(metric + SELECTIVITY for metric in PROBE_OF))
        if metric in there
    }
    differing = set(result.tables["differences"]["metric"])
    charts |= {f"difference-{metric}": difference_chart(result, metric) for metric in PROBE_OF if metric in differing}
    if "sweep" in result.tables and len(result.tables["sweep"]):
        charts["sweep"] = sweep_chart(result.tables["sweep"])
    return charts


def _rows(result: Result, metric: str) -> pd.DataFrame:
    """Rows of one metric, with the name that a reader sees."""
    rows = result.table[result.table["metric"] == metric]
    if rows.empty:
        there = ", ".join(dict.fromkeys(result.table["metric"])) or "nothing"
        raise SpecError(f"This result has no {metric!r}; it has {there}.")
    return rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))


def _model_scales(alt: Any, names: list[str], shown: list[str] | None = None) -> tuple[Any, Any]:
    """Colour and shape by model; `shown` leaves out of the legend what the chart does not draw."""
    below = legend(values=shown or names)
    colours, shapes = (list(given([f"zoo:{name}" for name in names]).values()) for given in (colours_of, shapes_of))
    colour = alt.Color("name:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=below)
    return colour, alt.Shape("name:N", title=None, scale=alt.Scale(domain=names, range=shapes), legend=below)


def _yardsticks(alt: Any, lines: pd.DataFrame, label: str) -> list[Any]:
    """Grey rules across the chart, each with its band as a tooltip and its name at the right end."""
    base = alt.Chart(lines)
    dash = alt.StrokeDash(
        "model:N", scale=alt.Scale(domain=list(YARDSTICKS), range=list(YARDSTICKS.values())), legend=None
    )
    tooltip = [
        alt.Tooltip("model:N", title="Yardstick"),
        alt.Tooltip("value:Q", title=label, format=".2f"),
        alt.Tooltip("low:Q", title="Band from", format=".2f"),
        alt.Tooltip("high:Q", title="Band to", format=".2f"),
    ]
    names = base.mark_text(align="right", baseline="bottom", dy=-3, fontSize=11, color=GREY)
    return [
        base.mark_rule(color=GREY, strokeWidth=1.5).encode(y="value:Q", strokeDash=dash, tooltip=tooltip),
        names.encode(x=alt.value("width"), y="value:Q", text="model:N"),
    ]


def _tooltip(alt: Any, label: str, control: bool = False) -> list[Any]:
    fields = [alt.Tooltip("name:N", title="Model"), alt.Tooltip("layer:Q", title="Layer")]
    if control:
        fields.append(alt.Tooltip("kind:N", title="Trained"))
    fields.append(alt.Tooltip("value:Q", title=label, format=".2f"))
    return [
        *fields,
        alt.Tooltip("low:Q", title="Band from", format=".2f"),
        alt.Tooltip("high:Q", title="Band to", format=".2f"),
    ]
