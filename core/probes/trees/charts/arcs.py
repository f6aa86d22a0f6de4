"""Charts of UUAS by the length of arcs, and without adjacent arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.errors import SpecError
from core.probes.structural.arcs import BY_LENGTH, FAR
from core.probes.trees.charts.marks import (
    DASHES,
    HEIGHT,
    baseline_label,
    baseline_look,
    baseline_rules,
    layer_tips,
    looks_of,
)
from core.probes.trees.tables import TAGS, WINDOW
from core.results.drawing.axes import Plane, layer_plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import curves, finished
from core.results.drawing.vega import Chart
from core.results.names import short_names
from core.results.numbers import Tip

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result


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
