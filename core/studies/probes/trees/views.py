"""Figures and views of the study: scores by layer and by arc length, one sentence, ranks."""

from __future__ import annotations

import pandas as pd

from core.maths.structural.arcs import FAR
from core.studies.kit import PAGE, Chart, Context, Result, View
from core.studies.probes.trees.charts import (
    added_chart,
    arc_chart,
    difference_chart,
    far_chart,
    scores_chart,
    sweep_chart,
)
from core.studies.probes.trees.statements import leave_first, stated
from core.studies.probes.trees.tables import (
    ALL_METRICS,
    metrics_in,
    rows_of_metric,
    rows_where,
)
from core.studies.probes.trees.text import arcs_sentences, scores_sentences

METRIC = "uuas"
SCORES, ARCS, SENTENCE, RANKS = "scores", "arcs", "sentence", "ranks"  # keys of views


def draw_scores(
    result: Result, metric: str = METRIC, *, context: Context = PAGE
) -> dict[str, Chart]:
    """Scores by layer in one metric, differences from the base, and what layers add."""
    charts: dict[str, Chart] = {
        metric.replace(" ", "-"): scores_chart(result, metric, context=context)
    }
    beside = {
        "differences": ("difference", difference_chart),
        "added": ("added", added_chart),
    }
    for table, (name, draw) in beside.items():
        if any(map(len, rows_of_metric(result.tables, metric, table).values())):
            charts[f"{name}-{metric}"] = draw(result, metric, context=context)
    return charts


def first_scores(result: Result, metric: str = METRIC) -> Result:
    """Leave the models and the baseline that the headline compares first; no control trees."""
    return leave_first(result, "scores", "margins", stated(result, metric))


def draw_arcs(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """UUAS by arc length, and without adjacent arcs."""
    if "arcs" not in result.tables:
        return {}
    return {
        "arcs": arc_chart(result, context=context),
        "arcs-not-adjacent": far_chart(result, context=context),
    }


def draw_ranks(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """UUAS and DSpr. by the rank of the probe, where ranks were swept."""
    names, table = {"sweep": "uuas", "sweep-dspr": "dspr"}, result.tables.get("sweep", ())
    return (
        {name: sweep_chart(table, metric, context=context) for name, metric in names.items()}
        if len(table)
        else {}
    )


def arc_rows(result: Result) -> dict[str, pd.DataFrame]:
    """Scores by arc length, and margins over baselines without adjacent arcs."""
    if "arcs" not in result.tables:
        return {}
    margins = rows_where(result.tables["arc_margins"], arcs=FAR)
    return {"arcs": result.tables["arcs"], "arc_margins": margins}


VIEWS = (
    View(
        SCORES,
        draw=draw_scores,
        choices=lambda result: [(metric,) for metric in metrics_in(result.table, ALL_METRICS)],
        headline=lambda result, metric=METRIC: scores_sentences(result, metric),
        tables=lambda result, metric=METRIC: rows_of_metric(
            result.tables, metric, "scores", "margins", "best_layers", "added"
        ),
        first=first_scores,
    ),
    View(
        ARCS,
        draw=draw_arcs,
        headline=arcs_sentences,
        tables=arc_rows,
    ),
    View(
        SENTENCE,
        tables=lambda result: {},
    ),
    View(
        RANKS,
        draw=draw_ranks,
        table="sweep",
    ),
)
