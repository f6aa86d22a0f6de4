"""Charts of a study of polar probes: scores by layer, a curve per model, baselines in grey."""

from __future__ import annotations

from core.results.metrics import metric_of
from core.studies.chart_kit import Panels
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.edges.charts import ON_CONTROL
from core.studies.probes.trees.charts import chart_of_scores
from core.studies.probes.trees.statements import leave_first
from core.studies.probes.trees.tables import (
    DRAWN,
    GAP,
    PARSED,
    metrics_in,
    rows_where,
)
from core.studies.text_kit import (
    short_names,
)
from extras.probes.polar.result import LAS
from extras.probes.polar.text import stated

HEIGHT = 296  # below the choice of a metric


def polar_chart(result: Result, metric: str, *, context: Context) -> Chart:
    """One metric by layer: models with their bands, control labels dotted, baselines in grey."""
    table = result.table[result.table["labels"] != GAP]
    names = short_names(dict.fromkeys(table["model"]))
    rows = rows_where(table, metric=metric).assign(name=table["model"].map(names))
    measure = metric_of(metric)
    return chart_of_scores(
        rows, rows["labels"] == DRAWN, table["model"], f"{measure.title} by layer",
        measure.label, "bands: 95 % intervals", "; dots: control labels", ON_CONTROL,
        height=HEIGHT, context=context,
    )  # fmt: skip


def first_scores(result: Result, metric: str = LAS) -> Result:
    """Leave the models, the baseline that the headline compares first and the parser."""
    return leave_first(result, "polar", "polar_margins", stated(result, metric), PARSED)


def draw_polar(result: Result, metric: str = LAS, *, context: Context = PAGE) -> Panels:
    """One metric, and beside LAS the undirected edges and the labels of gold edges."""
    beside = [LAS, "uuas", "label"] if metric == LAS else [metric]
    asked = metrics_in(result.table.dropna(subset="layer"), beside)
    charts = [polar_chart(result, each, context=context) for each in asked]
    return Panels(charts, across=3, names=[f"polar-{each}" for each in asked])
