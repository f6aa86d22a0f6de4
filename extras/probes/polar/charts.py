"""Charts of a study of polar probes: scores by layer, a curve per model, baselines in grey."""

from __future__ import annotations

from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import layer_chart
from core.results.drawing.panels import Panels
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.names import short_names
from core.studies.probes.edges.charts import ON_CONTROL
from core.studies.probes.edges.tables import CONTROL, REAL
from core.studies.probes.trees.charts import baseline_rules, is_baseline, looks_of, with_control
from core.studies.probes.trees.statements import first_shown
from core.studies.probes.trees.tables import PARSED
from extras.probes.polar.statements import statements_of
from extras.probes.polar.tables import LAS, METRICS, NAMES

HEIGHT = 296  # below the choice of a metric


def polar_chart(result: Result, metric: str, *, context: Context) -> Chart:
    """One metric by layer: models with their bands, control labels dotted, baselines in grey.

    Args:
        result: Of a study of polar probes.
        metric: Of those that are `drawable`.
    """
    rows = result.table[result.table["metric"] == metric]
    names = short_names(dict.fromkeys(result.table["model"]))
    rows = rows.assign(name=rows["model"].map(names))
    scored = rows[rows["layer"].notna() & (rows["labels"] == REAL)]
    control = rows[rows["layer"].notna() & (rows["labels"] == CONTROL)]
    lines = rows[rows["layer"].isna() & rows["model"].map(is_baseline)]
    looks = looks_of(result.table["model"], scored["model"])
    drawn, looks = with_control(scored, control, looks, ON_CONTROL)
    below = "bands: 95 % intervals" + ("" if control.empty else "; dots: control labels")
    return layer_chart(
        drawn, "value", looks, f"{NAMES[metric]} by layer", below, y_title=f"{NAMES[metric]}, %",
        rules=baseline_rules(lines), height=HEIGHT, context=context,
    )  # fmt: skip


def first_scores(result: Result, metric: str = LAS) -> Result:
    """Leave the models, the baseline that the headline compares first and the parser."""
    table = result.table
    models = [ref for ref in table["model"].unique() if ":" in ref]
    facts = statements_of(result.tables, models, metric)
    shown = first_shown(facts, result.tables["polar_margins"]) if facts else set()
    rows = table[table["model"].isin({*shown, PARSED}) & (table["labels"] == REAL)]
    return result.with_tables(polar=rows) if shown else result


def drawable(result: Result) -> list[str]:
    """Metrics of which the result has scores by layer."""
    table = result.table
    there = set(table.loc[table["layer"].notna(), "metric"])
    return [metric for metric in METRICS if metric in there]


def draw_polar(result: Result, metric: str = LAS, *, context: Context = PAGE) -> Panels:
    """One metric, and beside LAS the undirected edges and the labels of gold edges."""
    asked = [LAS, "uuas", "label"] if metric == LAS else [metric]
    asked = [each for each in asked if each in drawable(result)]
    charts = [polar_chart(result, each, context=context) for each in asked]
    return Panels(charts, across=3, names=[f"polar-{each}" for each in asked])
