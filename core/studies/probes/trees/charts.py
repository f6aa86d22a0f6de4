"""Charts of a probe study: scores by layer, differences from the base, scores by arc length.

Every model has a colour of Okabe and Ito's and a point shape. No chart sets a background or a text
colour, so that it suits light and dark themes; each stretches to its container.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.errors import SpecError
from core.maths.structural.arcs import BY_LENGTH, FAR
from core.results.drawing.axes import Plane, layer_plane, rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished
from core.results.drawing.style import GREY, colours_of, shapes_of
from core.results.drawing.vega import Chart
from core.results.names import short_names
from core.results.numbers import Kind, Tip
from core.studies.probes.trees.tables import (
    CHAIN,
    CONTROL,
    NAMES,
    PARSED,
    PERCENT,
    POSITION,
    RANDOM,
    SELECTIVITY,
    SHOWN,
    TAGS,
    WINDOW,
    metric_label,
)

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

HEIGHT = 320
ON_CONTROL = ", control trees"  # after a model's name
DASHES = {
    CHAIN: [6, 4],
    RANDOM: [2, 3],
    PARSED: [12, 4],
    POSITION: [8, 3, 2, 3],
    WINDOW: [1, 0],
    TAGS[1]: [2, 2, 8, 2],
}


def baseline_label(model: str) -> str:
    """The name of a baseline in a chart, from its cell of the table."""
    return SHOWN.get(model, model)


def baseline_look(dash: Sequence[int]) -> Look:
    """The look of a baseline's line."""
    return Look(GREY, "circle", dash, False, 1.5, band=False)


def baseline_rules(
    lines: pd.DataFrame,
    plane: Plane,
    label: Callable[[str], str] = baseline_label,
    dashes: Mapping[str, Sequence[int]] = DASHES,
) -> tuple[list[pd.DataFrame], dict[str, Look]]:
    """Rows and looks of baselines that have one score for all layers.

    Args:
        lines: model, value, low, high: a row for each baseline.
        plane: The chart's axes.
        label: Cell of `model` -> the baseline's name in the chart.
        dashes: The dash of each baseline, by its cell.
    """
    rows, looks = [], {}
    for line in lines.itertuples():
        name = label(str(line.model))
        rows.append(rule(plane, name, float(line.value)).assign(low=line.low, high=line.high))
        looks[name] = baseline_look(dashes[str(line.model)])
    return rows, looks


def looks_of(company: Sequence[str], models: Sequence[str]) -> dict[str, Look]:
    """The look of each model's line by its short name, the same in all charts of `company`."""
    refs = list(dict.fromkeys(ref for ref in (*company, *models) if ref not in DASHES))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    return {
        names[ref]: Look(GREY, shapes[ref], (4, 3))
        if ref.startswith("random:")
        else Look(colours[ref], shapes[ref])
        for ref in dict.fromkeys(models)
    }


def kind_of(metric: str) -> Kind:
    """The kind of a metric's numbers: percentages, correlations, or differences of them."""
    bare = metric.removesuffix(SELECTIVITY)
    if metric != bare:
        return difference_kind(bare)
    return "points" if metric in PERCENT else "share"


def difference_kind(metric: str) -> Kind:
    """The kind of differences between a metric's numbers."""
    return "gain" if metric in PERCENT else "change"


def layer_tips(label: str, kind: Kind, value: str = "value") -> tuple[Tip, ...]:
    """Tooltips of a score by layer."""
    return (
        *(Tip("name", "Model"), Tip("layer", "Layer", "whole")),
        *(Tip(value, label, kind), Tip("low", "Band, 95 %", kind)),
    )


def scores_chart(
    result: Result, metric: str = "uuas", controls: bool = True, *, context: Context = PAGE
) -> Chart:
    """One curve per model with its band, control trees dotted in its colour, baselines in grey.

    Args:
        result: Of a probe study.
        metric: "uuas", "dspr", "root" or "nspr", or one of them with " selectivity" after it.
        controls: Whether curves of control trees are drawn, where there are any.

    Raises:
        SpecError: If the result has no scores of that metric.
    """
    import pandas as pd

    rows = _rows(result, metric)
    label, learned = metric_label(metric), rows["probe"].str.endswith(CONTROL)  # on control trees
    scored = rows[rows["layer"].notna() & ~learned]
    looks = looks_of(result.table["model"], scored["model"])
    parts = [scored]
    control = rows[rows["layer"].notna() & learned]
    if controls and not control.empty:
        parts.append(
            control.assign(
                who=control["name"],
                name=control["name"] + ON_CONTROL,
                low=float("nan"),
                high=float("nan"),
            )
        )
        looks |= {
            f"{name}{ON_CONTROL}": Look(look.colour, look.shape, (2, 3), point=False, width=1.6)
            for name, look in list(looks.items())
            if (control["name"] == name).any()
        }
    lines = rows[rows["layer"].isna() & rows["model"].isin(list(DASHES)) & ~learned]
    bare = pd.concat(parts)
    ends = span_of(
        bare["value"], bare["low"], bare["high"], lines["value"], zero=metric.endswith(SELECTIVITY)
    )
    plane = layer_plane(
        bare, "value", label, ends, kind=kind_of(metric), height=HEIGHT, context=context
    )
    rules, baselines = baseline_rules(lines, plane)
    looks |= baselines
    table = pd.concat([*parts, *rules], ignore_index=True)
    subtitle = "bands: 95 % intervals over sentences and probes"
    if controls and not control.empty:
        subtitle += "; dotted: control trees"
    chart = curves(table, plane, looks, layer_tips(label, kind_of(metric)))
    return finished(chart, table, plane, f"{label} by layer", subtitle, list(looks))


def difference_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Every model minus the base by layer, with the band of the difference and a line at zero.

    Raises:
        SpecError: If there was nothing to compare with the base.
    """
    import pandas as pd

    table = result.tables["differences"]
    rows = table[table["metric"] == metric]
    if rows.empty:
        raise SpecError(f"This result compares no models in {metric}: choose at least two models.")
    names = short_names(dict.fromkeys((*rows["base"], *rows["model"])))
    rows, base = rows.assign(name=rows["model"].map(names)), names[rows["base"].iloc[0]]
    kind = difference_kind(metric)
    label = f"{NAMES[metric][0].upper()}{NAMES[metric][1:]}: difference from {base}"
    label += " (points)" if metric in PERCENT else ""
    looks = looks_of([rows["base"].iloc[0], *result.table["model"]], rows["model"])
    ends = span_of(rows["difference"], rows["low"], rows["high"], zero=True)
    plane = layer_plane(rows, "difference", label, ends, kind=kind, height=HEIGHT, context=context)
    zero = rule(plane, base, 0.0)
    table = pd.concat([rows, zero], ignore_index=True)
    looks[base] = Look(GREY, dash=(1, 0), point=False, width=1.2)
    chart = curves(table, plane, looks, layer_tips(f"Difference from {base}", kind, "difference"))
    words = [name for name in looks if name != base]
    below = "bands: 95 % intervals over the same sentences"
    return finished(chart, table, plane, f"Difference from {base}", below, words)


def added_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """What each layer adds to the static window, one curve per model, with a line at zero.

    Raises:
        SpecError: If no layers were probed beside the window.
    """
    table = result.tables.get("added")
    if table is None or not (table["metric"] == metric).any():
        raise SpecError("This result has no probes beside the static window: set conditional.")
    rows = table[(table["metric"] == metric) & (table["rival"] == WINDOW)]
    rows = rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))
    label, kind = f"{metric_label(metric)}: gain over the window", difference_kind(metric)
    below = "bands: 95 % intervals, simultaneous for all layers of a model"
    company = result.table["model"]
    return gains_chart(rows, company, "What each layer adds", label, kind, below, context=context)


def gains_chart(
    rows: pd.DataFrame,
    company: Sequence[str],
    title: str,
    label: str,
    kind: Kind,
    below: str,
    height: int = HEIGHT,
    *,
    context: Context = PAGE,
) -> Chart:
    """Margins over the static window by layer, one curve per model, with a line at zero.

    Args:
        rows: model, its short name, layer, margin, low, high.
        company: Models of the study, which keep their looks in all its charts.
        title: Of the chart.
        label: Of the axis.
        kind: Of the margins.
        below: Under the title.
        height: In pixels.
    """
    import pandas as pd

    ends = span_of(rows["margin"], rows["low"], rows["high"], zero=True)
    plane = layer_plane(rows, "margin", label, ends, kind=kind, height=height, context=context)
    drawn = pd.concat([rows, rule(plane, WINDOW, 0.0)], ignore_index=True)
    looks = looks_of(company, rows["model"])
    looks[WINDOW] = Look(GREY, dash=(1, 0), point=False, width=1.2)
    chart = curves(drawn, plane, looks, layer_tips("Gain over the window", kind, "margin"))
    return finished(chart, drawn, plane, title, below, list(looks))


def _rows(result: Result, metric: str) -> pd.DataFrame:
    """Rows of one metric, with the models' short names."""
    rows = result.table[result.table["metric"] == metric]
    if rows.empty:
        there = ", ".join(dict.fromkeys(result.table["metric"])) or "nothing"
        raise SpecError(f"This result has no scores of {metric!r}; choose one of: {there}.")
    return rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))


def arc_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """UUAS by the length of the arcs, every model at its best layer, baselines in grey.

    Raises:
        SpecError: If the result has no scores by the length of arcs.
    """
    rows = _arc_rows(result, BY_LENGTH)
    best = result.tables["best_layers"].query("metric == 'uuas' and layer == best_layer")
    places = dict(zip(best["model"], best["best_layer"], strict=True))
    rows = rows[rows["layer"].isna() | (rows["layer"] == rows["model"].map(places))]
    rows = rows.assign(length=[1 + BY_LENGTH.index(arcs) for arcs in rows["arcs"]])
    looks = looks_of(result.table["model"], rows.loc[rows["layer"].notna(), "model"])
    looks |= {
        baseline_label(model): baseline_look(DASHES[model])
        for model in dict.fromkeys(rows.loc[rows["layer"].isna(), "model"])
    }
    ends = span_of(rows["value"], rows["low"], rows["high"])
    axis = {
        "values": [*range(1, len(BY_LENGTH) + 1)],
        "labelExpr": f"datum.value < {len(BY_LENGTH)} ? datum.value : '{len(BY_LENGTH)} or more'",
    }
    plane = Plane(
        *("length", "value", "Distance of the two words in the sentence", "UUAS (%)", *ends),
        (1, len(BY_LENGTH)),
        *("points", HEIGHT, axis),
        context=context,
    )
    tips = (Tip("name", "Model"), Tip("arcs", "Arcs"), *layer_tips("UUAS (%)", "points")[2:])
    below = "each model at its best layer; bands: 95 % intervals over sentences"
    return finished(
        curves(rows, plane, looks, tips), rows, plane, "UUAS by arc length", below, list(looks)
    )


def far_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """UUAS without adjacent arcs by layer, one curve per model, baselines in grey.

    Raises:
        SpecError: If the result has no scores by the length of arcs.
    """
    import pandas as pd

    rows = _arc_rows(result, (FAR,))
    scored, lines = rows[rows["layer"].notna()], rows[rows["layer"].isna()]
    ends = span_of(scored["value"], scored["low"], scored["high"], lines["value"])
    label = "UUAS without adjacent arcs (%)"
    plane = layer_plane(scored, "value", label, ends, kind="points", height=HEIGHT, context=context)
    rules, baselines = baseline_rules(lines, plane)
    table = pd.concat([scored, *rules], ignore_index=True)
    looks = looks_of(result.table["model"], scored["model"]) | baselines
    chart = curves(table, plane, looks, layer_tips(label, "points"))
    below = "bands: 95 % intervals over sentences"
    return finished(chart, table, plane, "UUAS without adjacent arcs", below, list(looks))


def _arc_rows(result: Result, arcs: Sequence[str]) -> pd.DataFrame:
    """Rows of the scores by the length of arcs that are drawn, with the models' short names."""
    table = result.tables.get("arcs")
    if table is None:
        raise SpecError("Scores by arc length need the probes distance and depth.")
    rows = table[table["arcs"].isin(arcs)]
    rows = rows[rows["layer"].notna() | rows["model"].isin([WINDOW, TAGS[1]])]
    names = short_names(model for model in rows["model"] if model not in DASHES)
    return rows.assign(name=[names.get(m, baseline_label(m)) for m in rows["model"]])
