"""Charts of the study that erases a probe's subspace: what it costs, by layer."""

from __future__ import annotations

from core.results.drawing.style import GREY, colours_of
from core.studies.chart_kit import Look, Panels, layer_chart, short_names
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.trees.tables import metrics_in
from extras.probes.removal.tables import LOSS, METRICS, RECORDS
from extras.probes.removal.tasks import MATCHED, PROBE, RANDOM

HEIGHT = 262
SHOWN = {PROBE: "probe's subspace", RANDOM: "random subspaces", MATCHED: "random, equal change"}
DASHES = {RANDOM: (2, 3), MATCHED: (6, 4)}


def removal_chart(
    result: Result, model: str, metric: str = LOSS, *, context: Context = PAGE
) -> Chart:
    """What erasing costs one model in one metric, by layer."""
    table = result.table
    rows = table[
        (table["model"] == model) & (table["metric"] == metric) & table["erased"].isin(list(SHOWN))
    ]
    rows = rows.assign(name=rows["erased"].map(SHOWN))
    colour = colours_of(dict.fromkeys(table["model"]))[model]
    looks = {SHOWN[PROBE]: Look(colour)} | {
        SHOWN[name]: Look(GREY, dash=dash, point=False) for name, dash in DASHES.items()
    }
    return layer_chart(
        rows,
        "cost",
        looks,
        f"{short_names(dict.fromkeys(table['model']))[model]}: {RECORDS[metric].title}",
        "bands: 95 % intervals over sentences and subspaces",
        y_title=f"Cost ({RECORDS[metric].unit})",
        zero=True,
        line="Erased",
        height=HEIGHT,
        context=context,
    )


def draw_removal(result: Result, metric: str = LOSS, *, context: Context = PAGE) -> Panels:
    """A panel for each model that was scored in a metric."""
    scored = metrics_in(result.table, METRICS)
    chosen = metric if metric in scored else scored[0]
    rows = result.table[result.table["metric"] == chosen]
    models, names = dict.fromkeys(rows["model"]), short_names(dict.fromkeys(result.table["model"]))
    charts = [removal_chart(result, model, chosen, context=context) for model in models]
    return Panels(charts, across=2, names=[f"{chosen}-{names[model]}" for model in models])
