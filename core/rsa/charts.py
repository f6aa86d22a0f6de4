"""Charts of the RSA room: similarity by layer, layer against layer, two corpora, token map.

One without panels stretches to its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from core.errors import SpecError
from core.results.charts import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    colours_of,
    gradient,
    heading,
    layer_axis,
    legend,
    shapes_of,
)
from core.results.names import short_names
from core.rsa.headline import number
from core.rsa.measures import MEASURES
from core.rsa.questions import ANSWER, HIGHLIGHTED, OTHER, QUESTION, SUPPORTING

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT = 320
MAP = 400  # height of a token map, whose words need room
ROLE_COLOURS = {QUESTION: BLUE, ANSWER: ORANGE, SUPPORTING: GREEN, HIGHLIGHTED: ORANGE, OTHER: GREY}
PANEL = 300  # width of a panel where several stand beside each other


def similarity_chart(result: Result) -> alt.LayerChart:
    """A curve a model by layer, with its band, the null as a grey band, and dashed reference models.

    Args:
        result: Of the RSA study.
    """
    references = result.tables.get("references")
    return _curves(result, result.table, references if references is not None and len(references) else None)


def domains_chart(result: Result, corpus: str | None = None) -> alt.TopLevelMixin:
    """The same curves on two corpora, to be read side by side: both share their axes.

    Args:
        result: Of an RSA study with a second corpus.
        corpus: One of the table's corpora, for a chart that stretches; both beside each other without it.

    Raises:
        SpecError: If the study had one corpus only, or not this one.
    """
    import altair as alt

    table = _table(result, "domains", "a second corpus (against)")
    corpora = list(dict.fromkeys(table["corpus"]))
    lowest = float(table[["low", "null_low", "similarity"]].min().min())
    if corpus is not None:
        _among(corpus, corpora)
        return _curves(result, table[table["corpus"] == corpus], None, lowest=lowest, title=corpus)
    panels = [
        _curves(result, table[table["corpus"] == name], None, lowest=lowest, title=name, width=PANEL)
        for name in corpora
    ]
    return alt.hconcat(*panels)


def grid_chart(result: Result, model: str | None = None) -> alt.TopLevelMixin:
    """Every layer of the base against every layer of another model, as a heatmap.

    Args:
        result: Of an RSA study with a grid.
        model: Reference of one compared model, for a chart that stretches; all beside each other without it.

    Raises:
        SpecError: If the study had no grid, or not this model.
    """
    import altair as alt

    table = _table(result, "grid", "a layer-by-layer grid")
    models = tuple(dict.fromkeys(table["model"]))
    if model is not None:
        _among(model, models)
        return _heatmap(result, table[table["model"] == model], model)
    panels = [_heatmap(result, table[table["model"] == name], name, PANEL) for name in models]
    return panels[0] if len(panels) == 1 else alt.hconcat(*panels)


def token_chart(result: Result, layer: int, model: str | None = None) -> alt.TopLevelMixin:
    """The words of the passage at one layer, chosen words in colour; every layer and model has the same axes.

    Args:
        result: Of `tokens.run_tokens`.
        layer: Which layer.
        model: One model's reference, for a chart that stretches; all beside each other without it.

    Raises:
        SpecError: If there is no such layer or model.
    """
    import altair as alt

    table = _table(result, "tokens", "a token map")
    if layer not in set(table["layer"]):
        raise SpecError(f"The token map has layers 0 to {table['layer'].max()}, not {layer}.")
    models = tuple(dict.fromkeys(table["model"]))
    if model is not None:
        _among(model, models)
        return _map(result, table, layer, model)
    panels = [_map(result, table, layer, name, PANEL) for name in models]
    return panels[0] if len(panels) == 1 else alt.hconcat(*panels)


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    if "tokens" in result.tables:
        layers = sorted(set(result.tables["tokens"]["layer"]))
        return {f"tokens-layer-{layer}": token_chart(result, int(layer)) for layer in reversed(layers)}
    charts: dict[str, alt.TopLevelMixin] = {"similarity": similarity_chart(result)}
    if len(result.tables.get("grid", ())):
        charts["grid"] = grid_chart(result)
    if len(result.tables.get("domains", ())):
        charts["domains"] = domains_chart(result)
    return charts


def _curves(
    result: Result,
    table: pd.DataFrame,
    references: pd.DataFrame | None,
    lowest: float | None = None,
    title: str = "",
    width: int | str = "container",
) -> alt.LayerChart:
    """Null, bands, references, curves and points, in that order."""
    import altair as alt

    label = MEASURES[result.spec["measure"]].label
    compared = tuple(dict.fromkeys(table["model"]))
    names = curve_names(table)
    rows = table.assign(name=table["model"].map(names))
    floor = float(rows[["low", "null_low", "similarity"]].min().min()) if lowest is None else lowest
    y_scale = alt.Scale(domain=[min(0.0, floor - 0.02) if floor == floor else 0.0, 1.0], nice=False)
    x = layer_axis()
    shown = [names[ref] for ref in compared]
    colour = alt.Color(
        "name:N", title=None, scale=alt.Scale(domain=shown, range=list(colours_of(compared).values())), legend=legend()
    )
    shape = alt.Shape("name:N", title=None, scale=alt.Scale(domain=shown, range=list(shapes_of(compared).values())))
    tooltip = [alt.Tooltip("name:N", title="Model"), alt.Tooltip("layer:Q", title="Layer")]
    for field, name in (
        ("similarity", label),
        ("low", "Band from"),
        ("high", "Band to"),
        ("null_low", "Null from"),
        ("null_high", "Null to"),
    ):
        tooltip.append(alt.Tooltip(f"{field}:Q", title=name, format=".3f"))
    base = alt.Chart(rows)
    null = rows.groupby("layer", as_index=False).agg(null_low=("null_low", "min"), null_high=("null_high", "max"))
    layers: list[Any] = [
        alt.Chart(null.assign(kind="sentences paired at random, 95 % (null)"))
        .mark_area(opacity=0.35)
        .encode(
            x=x,
            y=alt.Y("null_low:Q", scale=y_scale, title=label, axis=alt.Axis(tickCount=6)),
            y2="null_high:Q",
            fill=alt.Fill("kind:N", title=None, scale=alt.Scale(range=[GREY]), legend=legend()),
        ),
        *(
            alt.Chart(null)
            .mark_line(color=GREY, strokeWidth=1, opacity=0.6)
            .encode(x=x, y=alt.Y(f"{edge}:Q", scale=y_scale, title=label))
            for edge in ("null_low", "null_high")
        ),
        base.mark_area(opacity=0.22).encode(
            x=x, y=alt.Y("low:Q", scale=y_scale, title=label), y2="high:Q", color=colour
        ),
    ]
    if references is not None:
        layers.append(_reference_lines(alt, references, result.spec["base"], x, y_scale, label))
    y = alt.Y("similarity:Q", scale=y_scale, title=label)
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour))
    layers.append(
        base.mark_point(size=55, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    base_name = short_names((result.spec["base"], *compared))[result.spec["base"]]
    top = heading(title or f"{label} with {base_name}, by layer", _subtitle(table))
    return cast(
        "alt.LayerChart",
        alt.layer(*layers)
        .resolve_scale(color="shared", fill="independent", strokeDash="independent")
        .properties(width=width, height=HEIGHT, title=top),
    )


def _reference_lines(alt: Any, references: pd.DataFrame, base: str, x: Any, y_scale: Any, label: str) -> Any:
    """Dashed grey curves for what the base is compared with for scale."""
    refs = tuple(dict.fromkeys(references["model"]))
    names = short_names((base, *refs))
    kinds = {ref: "random weights" if ref.startswith("random:") else f"another seed ({names[ref]})" for ref in refs}
    shown = [kinds[ref] for ref in refs]
    scale = alt.Scale(domain=shown, range=[DASHES[number % len(DASHES)] for number in range(len(shown))])
    return (
        alt.Chart(references.assign(kind=references["model"].map(kinds)))
        .mark_line(color=GREY, strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("similarity:Q", scale=y_scale, title=label),
            strokeDash=alt.StrokeDash("kind:N", title=None, scale=scale, legend=legend(lines=True)),
            tooltip=[
                alt.Tooltip("kind:N", title="Reference model"),
                alt.Tooltip("layer:Q", title="Layer"),
                alt.Tooltip("similarity:Q", title=label, format=".3f"),
                alt.Tooltip("low:Q", title="Band from", format=".3f"),
                alt.Tooltip("high:Q", title="Band to", format=".3f"),
            ],
        )
    )


def _heatmap(result: Result, rows: pd.DataFrame, model: str, width: int | str = "container") -> alt.Chart:
    import altair as alt

    label = MEASURES[result.spec["measure"]].label
    names = short_names((result.spec["base"], model))
    return cast(
        "alt.Chart",
        alt.Chart(rows)
        .mark_rect()
        .encode(
            x=alt.X("layer:O", title=f"Layer of {names[model]}", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("base_layer:O", title=f"Layer of {names[result.spec['base']]}", sort="descending"),
            color=alt.Color(
                "similarity:Q",
                title=label,
                scale=alt.Scale(scheme="viridis", domain=[0, 1], clamp=True),
                legend=gradient(),
            ),
            tooltip=[
                alt.Tooltip("base_layer:O", title=f"Layer of {names[result.spec['base']]}"),
                alt.Tooltip("layer:O", title=f"Layer of {names[model]}"),
                alt.Tooltip("similarity:Q", title=label, format=".3f"),
            ],
        )
        .properties(
            width=width,
            height=HEIGHT,
            title=heading(f"{names[model]}: every layer against every layer"),
        ),
    )


def _map(result: Result, table: pd.DataFrame, layer: int, model: str, width: int | str = "container") -> alt.LayerChart:
    import altair as alt

    rows = table[(table["model"] == model) & (table["layer"] == layer)]
    names = short_names(tuple(dict.fromkeys(table["model"])))
    shares = result.tables["axes"]["explained"].tolist()
    reach = float(table[["x", "y"]].abs().to_numpy().max()) * 1.15 or 1.0
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    x = alt.X("x:Q", scale=scale, title=f"PC 1 ({shares[0]:.0%} of variance)", axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y("y:Q", scale=scale, title=f"PC 2 ({shares[1]:.0%})", axis=alt.Axis(grid=False, tickCount=5))
    kinds = [kind for kind in ROLE_COLOURS if (table["role"] == kind).any()]
    colour = alt.Color(
        "role:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[ROLE_COLOURS[kind] for kind in kinds]),
        legend=legend() if table["highlighted"].any() else None,
    )
    marks = alt.Chart(rows).encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[
            alt.Tooltip("word:N", title="Word"),
            alt.Tooltip("role:N", title="Role"),
            alt.Tooltip("position:Q", title="Position"),
        ],
    )
    sizes = alt.condition("datum.highlighted", alt.value(90), alt.value(25))
    points = marks.mark_point(filled=True, opacity=0.85).encode(size=sizes)
    words = marks.transform_filter("!datum.highlighted").mark_text(dy=-7, fontSize=10).encode(text="word:N")
    chosen = marks.transform_filter("datum.highlighted").mark_text(dy=-10, fontSize=13, fontWeight="bold")
    chosen = chosen.encode(text="word:N")
    parts = [words, points, chosen]
    if rows["predicted"].any():  # a ring round each word of the model's own answer
        ring = alt.Chart(rows).transform_filter("datum.predicted").mark_point(size=260, strokeWidth=2, color=PURPLE)
        parts.append(ring.encode(x=x, y=y))
    answers = table[table["model"] == model]["predicted"].any()
    subtitle = "rings: the model's answer at this layer" if answers else ""
    title = heading(f"{names[model]}, layer {layer}", subtitle)
    chart = alt.layer(*parts).properties(width=width, height=MAP, title=title)
    return cast("alt.LayerChart", chart)


def _table(result: Result, name: str, what: str) -> pd.DataFrame:
    table = result.tables.get(name)
    if table is None or table.empty:
        raise SpecError(f"This result holds no {name}: run the study with {what}.")
    return table


def _among(chosen: str, known: Any) -> None:
    if chosen not in known:
        raise SpecError(f"{chosen!r} is not in this result: choose one of {', '.join(known)}.")


def curve_names(table: pd.DataFrame) -> dict[str, str]:
    """What the legend calls each curve: its short name, runs pooled, and in brackets how far its weights moved."""
    first = table.drop_duplicates("model").set_index("model")
    short = short_names(tuple(first.index))
    return {str(ref): f"{short[str(ref)]}{_size(row)}" for ref, row in first.iterrows()}


def _size(row: Any) -> str:
    parts = [f"{int(row['runs'])} runs"] if row["runs"] > 1 else []
    if row["relative_change"] == row["relative_change"]:
        kept = f"{number(row['relative_change'] * row['scaled'])} of " if row["scaled"] < 1 else ""
        parts.append(f"{kept}{number(row['relative_change'])}")
    return f" ({', '.join(parts)})" if parts else ""


def _subtitle(table: pd.DataFrame) -> str:
    parts = []
    if table["low"].notna().any():
        parts.append("band: 95 %, resampling sentences" + (" and runs" if (table["runs"] > 1).any() else ""))
    if table["relative_change"].notna().any():
        parts.append("in brackets: relative size of the weight change")
    return "; ".join(parts)
