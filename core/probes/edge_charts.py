"""Charts of an edge-probing study: one panel a target, a curve a model by layer, rivals as grey rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from core.errors import SpecError
from core.probes.edge_tables import ACCURACY, BITS, CONTROL, METRICS, REAL, SELECTIVITY, UNSEEN
from core.probes.edge_tasks import LOOKUP, MAJORITY, PLACES
from core.results.charts import GREY, colours_of, heading, layer_axis, legend, shapes_of
from core.results.names import short_names

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT = 300
NAMES = {"pos": "part of speech", "label": "dependency label", "distance": "head distance"}
VIEWS = {
    ACCURACY: "Accuracy (%)",
    UNSEEN: "Accuracy on words not in training (%)",
    BITS: "Online code, bits per label",
    SELECTIVITY: "Selectivity: accuracy less that on control labels (points)",
}
DASHES = {MAJORITY: [2, 3], LOOKUP: [6, 4], PLACES: [8, 3, 2, 3]}


def edges_chart(result: Result, target: str, view: str = ACCURACY) -> alt.TopLevelMixin:
    """One target by layer.

    Args:
        result: Of an edge-probing study.
        target: "pos", "label" or "distance".
        view: One of VIEWS.

    Raises:
        SpecError: If the result has no such numbers.
    """
    import altair as alt

    rows = _rows(result, target, view)
    scored, rules = rows[rows["layer"].notna()], rows[rows["layer"].isna()]
    control = scored[scored["labels"] == CONTROL]
    scored = scored[scored["labels"] != CONTROL]
    label = VIEWS[view]
    names = list(dict.fromkeys(scored["name"]))
    models = list(dict.fromkeys(scored["model"]))
    colour, shape = (
        channel("name:N", title=None, scale=alt.Scale(domain=names, range=list(given(models).values())),
                legend=legend(values=names))
        for channel, given in ((alt.Color, colours_of), (alt.Shape, shapes_of))
    )  # fmt: skip
    x, y = layer_axis(), alt.Y("value:Q", title=label, scale=alt.Scale(zero=view == SELECTIVITY, nice=True))
    tooltip = [
        alt.Tooltip("name:N", title="Model"),
        alt.Tooltip("layer:Q", title="Layer"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in _SHOWN.items()),
    ]
    curves = alt.Chart(scored)
    layers: list[Any] = [
        curves.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=label), y2="high:Q", color=colour)
    ]
    layers += _rules(alt, rules)
    if not control.empty:
        dotted = alt.Chart(control).mark_line(strokeWidth=1.5, strokeDash=[3, 3], opacity=0.9)
        layers.append(dotted.encode(x=x, y=y, color=colour, tooltip=tooltip))
    layers += [
        curves.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        curves.mark_point(size=60, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ]
    subtitle = ["band: 95 %, over sentences", *([] if control.empty else ["dotted: on control labels"])]
    return cast(
        "alt.TopLevelMixin",
        alt.layer(*layers)
        .resolve_scale(color="shared", strokeDash="independent")
        .properties(width="container", height=HEIGHT, title=heading(NAMES[target].capitalize(), subtitle)),
    )


def drawable(result: Result, view: str) -> list[str]:
    """Targets that the result has this view's numbers of."""
    labels, metric = (SELECTIVITY, ACCURACY) if view == SELECTIVITY else (REAL, view)
    rows = result.table[(result.table["labels"] == labels) & (result.table["metric"] == metric)]
    there = set(rows.loc[rows["layer"].notna(), "probe"])
    return [target for target in NAMES if target in there]


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    return {
        f"{target}-{view}": edges_chart(result, target, view)
        for view in (*METRICS, SELECTIVITY)
        for target in drawable(result, view)
    }


_SHOWN = {"value": "Value", "low": "Band from", "high": "Band to"}


def _rows(result: Result, target: str, view: str) -> pd.DataFrame:
    """A panel's rows, with the names that a reader sees."""
    if target not in drawable(result, view):
        raise SpecError(f"This result has no {view!r} of {target!r}; it has {', '.join(drawable(result, ACCURACY))}.")
    table = result.table[result.table["probe"] == target]
    wanted = [SELECTIVITY] if view == SELECTIVITY else [REAL] if view == UNSEEN else [REAL, CONTROL]
    rows = table[table["labels"].isin(wanted) & (table["metric"] == (ACCURACY if view == SELECTIVITY else view))]
    return rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))


def _rules(alt: Any, rows: pd.DataFrame) -> list[Any]:
    """Rivals as grey rules across the panel, each with its name at the right end."""
    if rows.empty:
        return []
    base = alt.Chart(rows)
    scale = alt.Scale(domain=list(DASHES), range=list(DASHES.values()))
    tooltip = [
        alt.Tooltip("model:N", title="Rival"),
        *(alt.Tooltip(f"{name}:Q", title=title, format=".2f") for name, title in _SHOWN.items()),
    ]
    names = {"baseline": "bottom", "dy": -3, "fontSize": 11, "color": GREY}
    left = base.transform_filter(alt.datum.model == PLACES).mark_text(align="left", **names)
    right = base.transform_filter(alt.datum.model != PLACES).mark_text(align="right", **names)
    dash = alt.StrokeDash("model:N", scale=scale, legend=None)
    return [
        base.mark_rule(color=GREY, strokeWidth=1.5).encode(y="value:Q", strokeDash=dash, tooltip=tooltip),
        left.encode(x=alt.value(0), y="value:Q", text="model:N"),
        right.encode(x=alt.value("width"), y="value:Q", text="model:N"),
    ]
