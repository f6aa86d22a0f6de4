"""A sentence read at every layer, as a figure."""

from __future__ import annotations

from core.results.drawing.description import cells_in_words
from core.results.drawing.style import gradient, heading
from core.results.drawing.vega import Chart, OfWidth, channel, either, layered
from core.studies.chart_kit import PAGE, Context, Result, short_names, told
from core.studies.rsa.lens.tables import PLAIN

CELL = 22  # height of a layer's row
MOST_BITS = 8.0  # end of the colours


def sentence_chart(result: Result, model: str, *, context: Context = PAGE) -> Chart:
    """Draw the most likely word at every layer of a model, for each word of the typed sentence."""
    rows = result.tables["said"]
    rows = rows[(rows["model"] == model) & (rows["lens"] == PLAIN)]
    rows = rows.assign(
        at=[f"{position} {token}" for position, token in zip(rows["position"], rows["token"],
                                                            strict=True)],
        light=rows["said_kl"] < MOST_BITS * 0.4,
    )  # fmt: skip
    drawn, tooltip = told(rows, ("token", "layer", "said", "said_kl"))
    room = room_of(rows["at"].nunique())
    axis = {"ticks": False, "domain": False, "labelLimit": room}
    written = {"labelExpr": "slice(datum.value, indexof(datum.value, ' ') + 1)"}
    across = {**axis, **written, "orient": "top", "labelAngle": 0, "labelOverlap": False}
    across["labelFlush"] = False
    x = channel("at:O", title=None, sort=list(dict.fromkeys(rows["at"])), axis=across)
    y = channel("layer:O", title="Layer", sort="descending", axis=axis)
    base = Chart(drawn).encode(x=x, y=y)
    scale = {"scheme": "viridis", "domain": [0, MOST_BITS], "clamp": True, "reverse": True}
    colour = channel(
        "said_kl:Q", title="Bits from the output", scale=scale,
        legend=gradient("Bits from the output", context=context),
    )  # fmt: skip
    cells = base.mark_rect().encode(color=colour, tooltip=tooltip)
    ink = either("datum.light", "black", "white")
    words = base.mark_text(baseline="middle", fontSize=context.small, limit=room)
    name = short_names((model,))[model]
    what = f"What the layers of {name} say"
    text = cells_in_words(
        rows, what, row="layer", column="at", value="said_kl", value_title="bits from the output"
    )
    return layered(cells, words.encode(text="said:N", color=ink)).properties(
        width="container",
        height=context.height(CELL * max(rows["layer"].nunique(), 1)),
        title=heading(what, "the most likely word at each layer (logit lens), for the word above"),
        description=text,
    )


def room_of(columns: int) -> OfWidth:
    """Compute the pixels that a word has in one of several columns."""
    columns = max(columns, 1)
    return OfWidth(f"width / {columns} - 2", lambda width: round(width / columns - 2, 1))
