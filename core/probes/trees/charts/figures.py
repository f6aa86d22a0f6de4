"""The rank sweep, and all figures of a probe study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.probes.trees.charts.arcs import arc_chart, far_chart
from core.probes.trees.charts.marks import HEIGHT, kind_of, looks_of
from core.probes.trees.charts.scores import added_chart, difference_chart, scores_chart
from core.probes.trees.tables import PROBE_OF, SELECTIVITY, metric_label
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import curves, finished
from core.results.drawing.vega import Chart
from core.results.names import short_names
from core.results.numbers import Tip

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result


def sweep_chart(sweep: pd.DataFrame, metric: str = "uuas", *, context: Context = PAGE) -> Chart:
    """Score by rank of the probe, one curve per model, rank on a logarithmic axis.

    Args:
        sweep: Table of `sweep.collect_sweep`.
        metric: "uuas" or "dspr".
    """
    rows = sweep[sweep["metric"] == metric]
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
    label, kind = metric_label(metric), kind_of(metric)
    low, high = span_of(rows["value"], rows["low"], rows["high"])
    plane = Plane(
        *(
            "rank",
            "value",
            "Rank of the probe",
            label,
            low,
            high,
            (ranks[0], max(ranks[-1], ranks[0] + 1)),
        ),
        kind=kind,
        height=HEIGHT,
        x_axis={"values": ranks, "format": "d"},
        x_log=True,
        context=context,
    )
    tips = (
        Tip("name", "Model"),
        Tip("rank", "Rank", "whole"),
        Tip("value", label, kind),
        Tip("low", "Band, 95 %", kind),
    )
    chart = curves(rows, plane, looks, tips)
    below = "bands: 95 % intervals over sentences and probes"
    return finished(chart, rows, plane, f"{label} by rank", below, list(looks))


def sweep_figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Both charts of a sweep, by file name."""
    sweep = result.tables["sweep"]
    names = {"sweep": "uuas", "sweep-dspr": "dspr"}
    return {name: sweep_chart(sweep, metric, context=context) for name, metric in names.items()}


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Every chart that can be drawn of the result, by file name; the main one first."""
    there = set(result.table["metric"])
    charts: dict[str, Chart] = {
        metric.replace(" ", "-"): scores_chart(result, metric, context=context)
        for metric in (*PROBE_OF, *(metric + SELECTIVITY for metric in PROBE_OF))
        if metric in there
    }
    differing = set(result.tables["differences"]["metric"])
    charts |= {
        f"difference-{metric}": difference_chart(result, metric, context=context)
        for metric in PROBE_OF
        if metric in differing
    }
    if "arcs" in result.tables:
        charts["arcs"] = arc_chart(result, context=context)
        charts["arcs-not-adjacent"] = far_chart(result, context=context)
    if "added" in result.tables:
        charts |= {
            f"added-{metric}": added_chart(result, metric, context=context)
            for metric in dict.fromkeys(result.tables["added"]["metric"])
        }
    if "sweep" in result.tables and len(result.tables["sweep"]):
        charts["sweep"] = sweep_chart(result.tables["sweep"], context=context)
    return charts
