"""Charts of a probe study: scores by layer, differences from the base, scores by arc length.

Every model has a colour of Okabe and Ito's and a point shape. No chart sets a background or a text
colour, so that it suits light and dark themes; each stretches to its container.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from core.errors import SpecError
from core.maths.structural.arcs import BY_LENGTH, FAR
from core.results.drawing.curves import HEIGHT, Look, Rule, layer_chart, line_chart, reach
from core.results.drawing.style import GREY, colours_of, shapes_of
from core.results.estimates import kind_of
from core.results.metrics import OF_SELECTIVITY, metric_label, metric_of, metric_title
from core.studies.chart_kit import Plane, Tip, short_names
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.trees import statements
from core.studies.probes.trees.tables import (
    ARC_RIVALS,
    CHAIN,
    OF_CONTROL,
    PARSED,
    POSITION,
    RANDOM,
    SHOWN,
    TAGS,
    WINDOW,
    rows_where,
)

ON_CONTROL = ", control trees"  # after a model's name
DASHES = {
    CHAIN: [6, 4],
    RANDOM: [2, 3],
    PARSED: [12, 4],
    POSITION: [8, 3, 2, 3],
    WINDOW: [1, 0],
    TAGS[1]: [2, 2, 8, 2],
}


def is_baseline(model: str, dashes: Container[str] = DASHES) -> bool:
    """Whether a row is one of the baselines that have a line, among them every static window."""
    return model in dashes or model.startswith(WINDOW)


def baseline_rules(
    lines: pd.DataFrame,
    names: Mapping[str, str] = SHOWN,
    dashes: Mapping[str, Sequence[int]] = DASHES,
) -> list[Rule]:
    """Lines across a plot, of the baselines with a line, which have one score for all layers."""
    return [
        Rule(
            names.get(line.model, line.model),
            line.value,
            dashes.get(line.model, dashes[WINDOW]),
            {"low": line.low, "high": line.high},
        )
        for line in lines.itertuples()
        if is_baseline(line.model, dashes)
    ]


def looks_of(company: Sequence[str], models: Sequence[str]) -> dict[str, Look]:
    """The look of each model's line by its short name, the same in all charts of `company`."""
    refs = list(dict.fromkeys(ref for ref in (*company, *models) if not is_baseline(ref)))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    return {
        names[ref]: Look(GREY, shapes[ref], (4, 3))
        if ref.startswith("random:")
        else Look(colours[ref], shapes[ref])
        for ref in dict.fromkeys(models)
    }


def chart_of_scores(
    rows: pd.DataFrame,
    learned: pd.Series[bool],
    company: Sequence[str],
    title: str,
    label: str,
    below: str,
    dotted: str,
    behind: str,
    rules: Callable[[pd.DataFrame], list[Rule]] = baseline_rules,
    **drawn: Any,
) -> Chart:
    """Scores by layer: models with their bands, what they `learned` of control trees or labels
    dotted in their colours without bands, and baselines, the rows without a layer, in grey. A model
    has one look in all charts of its `company`."""
    scored, control = (rows[rows["layer"].notna() & which] for which in (~learned, learned))
    looks = looks_of(company, scored["model"])
    if len(control):
        few = control["layer"].nunique() < scored["layer"].nunique()
        nothing, name = float("nan"), control["name"]
        unbanded = control.assign(who=name, name=name + behind, low=nothing, high=nothing)
        looks |= {
            f"{model}{behind}": replace(look, dash=(2, 3), point=few, width=1.6)
            for model, look in looks.items()
            if model in set(name)
        }
        scored, below = pd.concat([scored, unbanded]), below + dotted
    lines = rules(rows[rows["layer"].isna() & ~learned])
    return layer_chart(scored, "value", looks, title, below, y_title=label, rules=lines, **drawn)


def scores_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """One curve per model with its band, control trees dotted in its colour, baselines in grey.
    Raises SpecError if the result has no scores of that metric."""
    rows, label = _rows(result, metric), metric_label(metric)
    below = "bands: 95 % intervals over sentences and probes"
    return chart_of_scores(
        rows, rows["probe"].str.endswith(OF_CONTROL), result.table["model"],
        f"{metric_title(metric)} by layer", label, below, "; dotted: control trees", ON_CONTROL,
        zero=metric.endswith(OF_SELECTIVITY), context=context,
    )  # fmt: skip


def difference_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Every model minus the base by layer, with the band of the difference and a line at zero."""
    rows = rows_where(result.tables["differences"], metric=metric)
    names = short_names(dict.fromkeys((*rows["base"], *rows["model"])))
    rows, base = rows.assign(name=rows["model"].map(names)), names[rows["base"].iloc[0]]
    looks = looks_of([rows["base"].iloc[0], *result.table["model"]], rows["model"])
    return layer_chart(
        rows,
        "difference",
        looks,
        f"Difference from {base}",
        "bands: 95 % intervals over the same sentences",
        y_title=metric_of(metric).difference(f"difference from {base}"),
        zero=True,
        rules=[Rule(base, 0.0)],
        words={"names": list(looks)},
        context=context,
    )


def added_chart(result: Result, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """What each layer adds to the static window, one curve per model, with a line at zero."""
    return gains_chart(
        result, rows_where(result.tables["added"], metric=metric), result.table["model"],
        "What each layer adds", metric_of(metric).difference("gain over the window"),
        context=context,
    )  # fmt: skip


def gains_chart(
    result: Result,
    added: pd.DataFrame,
    company: Sequence[str],
    title: str,
    label: str,
    height: int = HEIGHT,
    *,
    context: Context = PAGE,
) -> Chart:
    """Margins over the static window by layer, one curve per model in the looks of its company,
    with a line at zero."""
    names = short_names(dict.fromkeys(result.table["model"]))
    rows = rows_where(added, rival=WINDOW)
    return layer_chart(
        rows.assign(name=rows["model"].map(names)), "margin", looks_of(company, rows["model"]),
        title, "bands: 95 % intervals, simultaneous for all layers of a model", y_title=label,
        zero=True, rules=[Rule(WINDOW, 0.0)], height=height, context=context,
    )  # fmt: skip


def _rows(result: Result, metric: str) -> pd.DataFrame:
    """Rows of one metric, with the models' short names."""
    rows = rows_where(result.table, metric=metric)
    if rows.empty:
        there = ", ".join(dict.fromkeys(result.table["metric"])) or "nothing"
        raise SpecError(f"This result has no scores of {metric!r}; choose one of: {there}.")
    return rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))


def arc_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """UUAS by the length of the arcs, every model at its best layer, baselines in grey."""
    rows = _arc_rows(result, BY_LENGTH)
    best = result.tables["best_layers"].query("metric == 'uuas' and layer == best_layer")
    places = dict(zip(best["model"], best["best_layer"], strict=True))
    rows = rows[rows["layer"].isna() | (rows["layer"] == rows["model"].map(places))]
    rows = rows.assign(length=[1 + BY_LENGTH.index(arcs) for arcs in rows["arcs"]])
    looks = looks_of(result.table["model"], rows.loc[rows["layer"].notna(), "model"])
    lines = dict.fromkeys(rows.loc[rows["layer"].isna(), "model"])
    looks |= {model: Rule(model, 0.0, DASHES.get(model, DASHES[WINDOW])).look for model in lines}
    axis = {
        "values": [*range(1, len(BY_LENGTH) + 1)],
        "labelExpr": f"datum.value < {len(BY_LENGTH)} ? datum.value : '{len(BY_LENGTH)} or more'",
    }
    label = metric_label("uuas")
    plane = Plane(
        *("length", "value", "Distance of the two words in the sentence", label),
        *reach(rows, "value"),
        (1, len(BY_LENGTH)),
        kind="points",
        x_axis=axis,
        context=context,
    )
    tips = (Tip("name", "Model"), "arcs", Tip("value", label, "points"), "low")
    below = "each model at its best layer; bands: 95 % intervals over sentences"
    return line_chart(rows, plane, looks, f"{metric_title('uuas')} by arc length", below, tips=tips)


def far_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """UUAS without adjacent arcs by layer, one curve per model, baselines in grey."""
    rows = _arc_rows(result, (FAR,))
    scored, lines = rows[rows["layer"].notna()], rows[rows["layer"].isna()]
    looks = looks_of(result.table["model"], scored["model"])
    title = "Correct edges (UUAS) without adjacent arcs"
    below = "bands: 95 % intervals over sentences"
    return layer_chart(
        scored, "value", looks, title, below, y_title=f"{title}, %", kind="points",
        rules=baseline_rules(lines), context=context,
    )  # fmt: skip


def _arc_rows(result: Result, arcs: Sequence[str]) -> pd.DataFrame:
    """Rows of the scores by the length of arcs that are drawn, with the models' short names."""
    table = result.tables["arcs"]
    rows = table[table["arcs"].isin(arcs)]
    stated = statements.stated(result, "uuas")
    shown = statements.first_shown(stated, result.tables["arc_margins"])
    rows = rows[rows["layer"].notna() | rows["model"].isin([*shown, *ARC_RIVALS])]
    names = short_names(model for model in rows["model"] if not is_baseline(model))
    return rows.assign(name=[names.get(m, m) for m in rows["model"]])


def sweep_chart(sweep: pd.DataFrame, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Score by rank of the probe, one curve per model, rank on a logarithmic axis."""
    rows = rows_where(sweep, metric=metric)
    short = short_names(dict.fromkeys(rows["model"]))
    names = [
        f"{short[model]}, layer {layer}"
        for model, layer in zip(rows["model"], rows["layer"], strict=True)
    ]
    rows = rows.assign(name=names, who=rows["model"].map(short))
    lines = rows.drop_duplicates("name")
    styles = looks_of(lines["model"], lines["model"])
    looks = {
        name: styles[short[model]]
        for name, model in zip(lines["name"], lines["model"], strict=True)
    }
    ranks = sorted({int(rank) for rank in rows["rank"]})
    label = metric_label(metric)
    plane = Plane(
        *("rank", "value", "Rank of the probe", label, *reach(rows, "value")),
        (ranks[0], max(ranks[-1], ranks[0] + 1)),
        kind=kind_of("value", {"metric": metric}),
        x_axis={"values": ranks, "format": "d"},
        x_log=True,
        context=context,
    )
    below = "bands: 95 % intervals over sentences and probes"
    return line_chart(rows, plane, looks, f"{metric_title(metric)} by rank", below)
