"""Figures of the lenses: words that each change promotes, curves by layer, and a sentence read at
every layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from core.results.drawing.curves import Look, layer_chart, reach
from core.results.drawing.description import cells_in_words
from core.results.drawing.style import (
    BLUE,
    DASHES,
    GREY,
    ORANGE,
    SKY,
    YELLOW,
    colours_of,
    columns_for,
    gradient,
    heading,
    legend,
    shapes_of,
)
from core.results.drawing.vega import OfWidth
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    Tip,
    channel,
    either,
    layered,
    short_names,
    text_of,
    tip_of,
    with_tooltips,
)
from core.studies.rsa.lens.tables import (
    FIRST_FIVE,
    KINDS,
    PLAIN,
    TUNE,
    TUNED,
    at_middle,
    two_models,
)
from core.studies.rsa.lens.tasks import TYPICAL, UNTYPICAL

WORDS, OUTPUT, LAYERS, SENTENCE = "words", "output", "layers", "sentence"
PARTS = {
    **{OUTPUT: "Words favoured", WORDS: "Words promoted"},
    **{LAYERS: "Layer by layer", SENTENCE: "A sentence"},
}
ROW, CURVE = 25, 190  # heights of a row of words, of curves
COLOURS = {KINDS[TYPICAL]: BLUE, KINDS[UNTYPICAL]: ORANGE, KINDS[0]: GREY}
HEAD = "split(replace(datum.value, ' (', '\\n('), '\\n')"  # the AUC below the model's name
HALVES = ("half_low", "half_high", "stable")
CELL = 22  # height of a layer's row
MOST_BITS = 8.0  # end of the colours


def draw_lens(result: Result, part: str = OUTPUT, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw one of PARTS, by file name."""
    if part == LAYERS:
        charts = {"lens-change": change_chart(result, context=context)}
        if len(result.tables["through_head"]):
            charts["lens-layers"] = layers_chart(result, context=context)
        return charts
    if part == SENTENCE:
        return {
            f"lens-sentence-{number}": sentence_chart(result, model, context=context)
            for number, model in enumerate(two_models(result.tables), start=1)
        }
    if part == WORDS:
        return {"lens-words": promoted_chart(result, context=context)}
    return {"lens-output": favoured_chart(result, context=context)}


def promoted_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the words that each change promotes at the middle layer, a column a model."""
    promoted = result.tables["promoted"]
    rows = at_middle(result.tables["promoted_words"], promoted)
    layers = sorted({str(layer) for layer in rows["layer"]})
    below = f"layer {' or '.join(layers)}, first words of sentences"
    areas = at_middle(promoted, promoted)
    return _words(rows, areas, "Words that the change of states promotes", below, context=context)


def favoured_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the words that each output favours, a column a model."""
    areas, below = result.tables["output_change"], "tokens often among the ten most raised"
    rows = result.tables["favoured"]
    return _words(rows, areas, "Words that the output favours", below, context=context)


def _words(
    rows: pd.DataFrame, areas: pd.DataFrame, title: str, below: str, *, context: Context
) -> Chart:
    """Draw words by rank, a column for each model of `areas`, coloured by the text that has them
    more often."""
    names = short_names(tuple(areas["model"]))
    headed = {
        ref: f"{names[ref]} ({text_of(float(auc))})"
        for ref, auc in zip(areas["model"], areas["auc"], strict=True)
    }
    rows = rows.assign(name=rows["model"].map(headed))
    drawn, tooltip = with_tooltips(
        rows, (Tip("name", "Model (AUC)"), "token", "rank", "raised_share", "low", "typical_of")
    )
    room = room_of(len(headed))
    axis = {"ticks": False, "domain": False, "labelLimit": room}
    across = {"orient": "top", "labelAngle": 0, "labelOverlap": False, "labelFlush": False}
    across["labelExpr"] = HEAD
    x = channel("name:N", title=None, sort=list(headed.values()), axis={**axis, **across})
    y = channel("rank:O", title=None, axis=axis)
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    below_words = legend(columns_for(COLOURS, context=context))
    colour = channel(
        "typical_of:N", title=tip_of("typical_of").title, scale=scale, legend=below_words
    )
    letters = Chart(drawn).mark_text(baseline="middle", fontSize=context.letter + 1, limit=room)
    listed_words = (
        f"{name}: {' '.join(rows.loc[rows['name'] == name, 'token'])}" for name in headed.values()
    )
    return letters.encode(x=x, y=y, text="token:N", color=colour, tooltip=tooltip).properties(
        width="container",
        height=context.height(ROW * max(rows["rank"].nunique(), 1)),
        title=heading(title, f"{below}; in brackets: AUC of words of the fine-tune's text"),
        description=f"{title}. {'; '.join(listed_words)}.",
    )


def change_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw by layer how far each change promotes words of the fine-tune's text."""
    rows = result.tables["promoted"]
    rows = rows[(rows["places"] == FIRST_FIVE) & rows["auc"].notna()]
    names = short_names(tuple(dict.fromkeys(rows["model"])))
    rows = rows.assign(name=rows["model"].map(names), low=rows["half_low"], high=rows["half_high"])
    rows.loc[rows["part"] != TUNE, ["null_low", "null_high"]] = np.nan  # of the fine-tunes
    tuned = [ref for ref in names if (rows.loc[rows["model"] == ref, "part"] == TUNE).all()]
    colours, shapes = colours_of(tuned), shapes_of(names)
    looks = {names[ref]: Look(colours[ref], shapes[ref]) for ref in tuned}
    looks |= {
        names[ref]: Look(GREY, shapes[ref], DASHES[number % len(DASHES)])
        for number, ref in enumerate([ref for ref in names if ref not in tuned])
    }
    return layer_chart(
        rows, "auc", looks, "Does the change promote words of the fine-tune's text?",
        "AUC; bands: the two halves of the text; grey: shuffled dimensions, 95 %",
        null="Shuffled dimensions", height=CURVE,
        tips=(Tip("name", "Model"), "layer", "auc", *HALVES, "promoted"),
        context=context,
    )  # fmt: skip


def layers_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw by layer how far both lenses are from the output, of a fine-tune and its base."""
    rows = result.tables["through_head"]
    models = two_models(result.tables)
    names = short_names(models)
    rows = rows[rows["model"].isin(models)]
    rows = rows.assign(name=rows["model"].map(names) + ", " + rows["lens"])
    lines = [f"{names[ref]}, {lens}" for ref in models for lens in (PLAIN, TUNED)]
    shapes, colours = shapes_of(lines), (BLUE, SKY, ORANGE, YELLOW)
    looks = {line: Look(colour, shapes[line]) for line, colour in zip(lines, colours, strict=False)}
    low, high = reach(rows[(rows["layer"] > 0) | (rows["lens"] == TUNED)], "lens_kl", zero=True)
    return layer_chart(
        rows, "lens_kl", looks, "How far is each layer from the output?",
        "divergence of lens and output (Kullback-Leibler, KL); bands: 95 %",
        ends=(low, high), height=CURVE,
        context=replace(context, legend=True),  # all lines end at 0
    )  # fmt: skip


def sentence_chart(result: Result, model: str, *, context: Context = PAGE) -> Chart:
    """Draw the most likely word at every layer of a model, for each word of the typed sentence."""
    rows = result.tables["said"]
    rows = rows[(rows["model"] == model) & (rows["lens"] == PLAIN)]
    rows = rows.assign(
        at=[f"{position} {token}" for position, token in zip(rows["position"], rows["token"],
                                                            strict=True)],
        light=rows["said_kl"] < MOST_BITS * 0.4,
    )  # fmt: skip
    drawn, tooltip = with_tooltips(rows, ("token", "layer", "said", "said_kl"))
    room = room_of(rows["at"].nunique())
    axis = {"ticks": False, "domain": False, "labelLimit": room}
    written = {"labelExpr": "slice(datum.value, indexof(datum.value, ' ') + 1)"}
    across = {**axis, **written, "orient": "top", "labelAngle": 0, "labelOverlap": False}
    across["labelFlush"] = False
    x = channel("at:O", title=None, sort=list(dict.fromkeys(rows["at"])), axis=across)
    y = channel("layer:O", title=tip_of("layer").title, sort="descending", axis=axis)
    base = Chart(drawn).encode(x=x, y=y)
    bits = tip_of("said_kl").title
    scale = {"scheme": "viridis", "domain": [0, MOST_BITS], "clamp": True, "reverse": True}
    colour = channel(
        "said_kl:Q", title=bits, scale=scale,
        legend=gradient(bits, context=context),
    )  # fmt: skip
    cells = base.mark_rect().encode(color=colour, tooltip=tooltip)
    ink = either("datum.light", "black", "white")
    words = base.mark_text(baseline="middle", fontSize=context.small, limit=room)
    name = short_names((model,))[model]
    title = f"What the layers of {name} say"
    description = cells_in_words(
        rows, title, row="layer", column="at", value="said_kl", value_title=bits
    )
    return layered(cells, words.encode(text="said:N", color=ink)).properties(
        width="container",
        height=context.height(CELL * max(rows["layer"].nunique(), 1)),
        title=heading(title, "the most likely word at each layer (logit lens), for the word above"),
        description=description,
    )


def room_of(columns: int) -> OfWidth:
    """Compute the pixels that a word has in one of several columns."""
    columns = max(columns, 1)
    return OfWidth(f"width / {columns} - 2", lambda width: round(width / columns - 2, 1))
