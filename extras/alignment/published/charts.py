"""Charts of the published protocol and ours: errors by protocol, and which finding holds with which
protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.maths.maps.registry import METHODS
from core.results.drawing.curves import look_channels
from core.results.drawing.description import bars_in_words
from core.results.drawing.style import (
    BLUE,
    BROWN,
    GREY,
    ORANGE,
    SHAPES,
    columns_for,
    heading,
    legend,
)
from core.results.drawing.vega import OfWidth
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    Tip,
    channel,
    layered,
    short_names,
    text_of,
    tip_of,
    with_tooltips,
)
from extras.alignment.published.text import (
    CLAIMS,
    HOLDS,
    OPEN,
    PROTOCOLS,
    REVERSED,
    mean_errors,
)

DRAWN = {
    "inn": ("invertible network", METHODS["inn"].colour),
    "linear": ("linear map", METHODS["ols"].colour),
    "mlp": ("MLP", METHODS["mlp"].colour),
    "cca": ("CCA", METHODS["cca"].colour),
    "start": ("invertible network, untrained", BROWN),
}
NARROW = 262  # pixels of a plot under which two columns of its legend are cut off
VERDICTS = {HOLDS: BLUE, REVERSED: ORANGE, OPEN: GREY}


def protocol_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the error of each map by each protocol on a logarithmic axis, with a line at 1, the
    target's mean."""
    table = mean_errors(result.tables["errors"])
    table = table[table["method"].isin(DRAWN)]
    table = table.assign(
        name=table["protocol"].map(PROTOCOLS),
        map=table["method"].map(lambda name: DRAWN[name][0]),
        low=np.maximum(table["low"], table["nmse"] / 100),  # a logarithmic axis has no 0
    )
    rows, tooltip = with_tooltips(
        table,
        (Tip("name", "Protocol"), Tip("map", "Map"), "errors.nmse", "low"),
    )
    shown = [label for name, label in PROTOCOLS.items() if label in set(rows["name"])]
    looks = {
        name: Look(colour, shape)
        for (name, colour), shape in zip(DRAWN.values(), SHAPES, strict=False)
    }
    ends = [0.9 * float(min(rows["low"].min(), 0.5)), 1.1 * float(rows["high"].max())]
    axis = {"format": "~g", "tickCount": 6}
    scale = {"type": "log", "domain": ends, "nice": False}
    x = channel("nmse:Q", title=tip_of("errors.nmse").title, scale=scale, axis=axis)
    y = channel("name:N", title=None, sort=shown, axis={"labelLimit": 170, "ticks": False})
    # On a page two columns keep the legend on the first screen; a phone has room for one, and
    # one column of a paper may, too.
    two = OfWidth(f"width < {NARROW} ? 1 : 2", lambda width: 1 if width < NARROW else 2, early=True)
    below = legend(columns_for(looks, context=context) if context.across == 1 else two, 200)
    by_map = look_channels(looks, "map", below)
    base = Chart(rows).encode(y=y, color=by_map["color"])
    mean = Chart(rows.head(1).assign(one=1.0)).mark_rule(strokeDash=[4, 4], color=GREY)
    layers = [
        mean.encode(x=channel("one:Q", scale=scale, axis=axis)),
        base.mark_rule(strokeWidth=1.6).encode(x=x, x2="high:Q").calculated(nmse="datum.low"),
        base.mark_point(filled=True, size=70, opacity=0.9).encode(
            x=x,
            shape=by_map["shape"],
            tooltip=tooltip,
        ),
    ]
    first, second = short_names(result.spec["models"]).values()
    title = f"Errors by protocol, {first} into {second}"
    network = rows[rows["method"] == "inn"]
    return layered(*layers).properties(
        title=heading(title, "dashed line at 1: the target's mean; bars: 95 % intervals"),
        width="container",
        height=context.height(23 * len(shown)),
        description=bars_in_words(
            network, f"{title}, invertible network", name="name", value="nmse", kind="measure"
        ),
    )


def _two_digits(difference: float) -> str:
    """Write a difference of errors, short enough for a narrow cell."""
    size = abs(difference)
    if size >= 10:
        return f"{'+' if difference > 0 else ''}{text_of(round(difference), 'whole')}"
    return text_of(difference, "gain" if size >= 1 else "change")


def claim_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw which finding holds with which protocol: a cell for each, with the difference of
    errors."""
    table = result.tables["claims"]
    table = table.assign(
        finding=table["claim"].map(lambda name: CLAIMS[name].label),
        says=table["claim"].map(lambda name: CLAIMS[name].says),
        name=table["protocol"].map(PROTOCOLS),
        written=[_two_digits(float(value)) for value in table["difference"]],
    )
    tips = ("says", Tip("name", "Protocol"), "verdict", "claims.difference", "low")
    rows, tooltip = with_tooltips(table, tips)
    findings = [about.label for about in CLAIMS.values() if about.label in set(rows["finding"])]
    shown = [label for label in PROTOCOLS.values() if label in set(rows["name"])]
    axis: dict[str, Any] = {"ticks": False, "domain": False, "labelLimit": 170}
    base = Chart(rows).encode(
        x=channel(
            "finding:N",
            title=None,
            sort=findings,
            axis={"labelAngle": -35, "labelOverlap": False, **axis},
        ),
        y=channel("name:N", title=None, sort=shown, axis={**axis}),
    )
    scale = {"domain": list(VERDICTS), "range": list(VERDICTS.values())}
    below = legend(columns_for(VERDICTS, context=context), symbolStrokeWidth=0)
    cells = base.mark_rect(opacity=0.85, stroke="white", strokeWidth=1).encode(
        color=channel("verdict:N", title=None, scale=scale, legend=below),
        tooltip=tooltip,
    )
    letters = base.mark_text(fontSize=context.letter - 1, color="white").encode(text="written:N")
    title = "Findings by protocol"
    counts = (rows["verdict"] == HOLDS).groupby(rows["name"], sort=False).sum()
    held = "; ".join(f"{label}: {number} hold" for label, number in counts.items())
    return layered(cells, letters).properties(
        title=heading(title, "numbers: difference of errors; open: its interval includes 0"),
        width="container",
        height=context.height(23 * len(shown)),
        description=f"{title}. {held}.",
    )
