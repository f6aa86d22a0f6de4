"""Charts of scores by layer: models, their differences from the base, what layers add to the static
window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import SpecError
from core.probes.trees.charts.marks import (
    DASHES,
    HEIGHT,
    baseline_rules,
    difference_kind,
    kind_of,
    layer_tips,
    looks_of,
)
from core.probes.trees.tables import (
    CONTROL,
    NAMES,
    PERCENT,
    SELECTIVITY,
    WINDOW,
    metric_label,
)
from core.results.drawing.axes import layer_plane, rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished
from core.results.drawing.style import GREY
from core.results.drawing.vega import Chart
from core.results.names import short_names

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

ON_CONTROL = ", control trees"  # after a model's name


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
    import pandas as pd

    table = result.tables.get("added")
    if table is None or not (table["metric"] == metric).any():
        raise SpecError("This result has no probes beside the static window: set conditional.")
    rows = table[table["metric"] == metric]
    rows = rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))
    kind = difference_kind(metric)
    label = f"{metric_label(metric)}: gain over the window"
    ends = span_of(rows["margin"], rows["low"], rows["high"], zero=True)
    plane = layer_plane(rows, "margin", label, ends, kind=kind, height=HEIGHT, context=context)
    drawn = pd.concat([rows, rule(plane, WINDOW, 0.0)], ignore_index=True)
    looks = looks_of(result.table["model"], rows["model"])
    looks[WINDOW] = Look(GREY, dash=(1, 0), point=False, width=1.2)
    chart = curves(drawn, plane, looks, layer_tips("Gain over the window", kind, "margin"))
    below = "bands: 95 % intervals over sentences and probes"
    return finished(chart, drawn, plane, "What each layer adds", below, list(looks))


def _rows(result: Result, metric: str) -> pd.DataFrame:
    """Rows of one metric, with the models' short names."""
    rows = result.table[result.table["metric"] == metric]
    if rows.empty:
        there = ", ".join(dict.fromkeys(result.table["metric"])) or "nothing"
        raise SpecError(f"This result has no scores of {metric!r}; choose one of: {there}.")
    return rows.assign(name=rows["model"].map(short_names(dict.fromkeys(result.table["model"]))))
