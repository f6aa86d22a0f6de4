"""Figures of the lenses: words that each change promotes, and curves by layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from core.results.drawing.curves import Look, layer_chart, reach
from core.results.drawing.style import (
    BLUE,
    DASHES,
    GREY,
    ORANGE,
    SKY,
    YELLOW,
    colours_of,
    columns_for,
    heading,
    legend,
    shapes_of,
)
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    Tip,
    channel,
    short_names,
    text_of,
    told,
)
from core.studies.rsa.lens.sentence_charts import room_of, sentence_chart
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


def draw_lens(result: Result, part: str = OUTPUT, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw one of PARTS, by file name."""
    if part == LAYERS:
        charts = {"lens-change": change_chart(result, context=context)}
        if len(result.tables["through_head"]):
            charts["lens-layers"] = layers_chart(result, context=context)
        return charts
    if part == SENTENCE:
        models = two_models(result.tables)
        return {
            f"lens-sentence-{number}": sentence_chart(result, model, context=context)
            for number, model in enumerate(models, start=1)
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
    rows: pd.DataFrame, areas: pd.DataFrame, what: str, below: str, *, context: Context
) -> Chart:
    """Draw words by rank, a column for each model of `areas`, coloured by the text that has them
    more often."""
    names = short_names(tuple(areas["model"]))
    headed = {
        ref: f"{names[ref]} ({text_of(float(auc))})"
        for ref, auc in zip(areas["model"], areas["auc"], strict=True)
    }
    rows = rows.assign(name=rows["model"].map(headed))
    tips = (Tip("name", "Model (AUC)"), "token", "rank", "raised_share", "low", "typical_of")
    drawn, tooltip = told(rows, tips)
    room = room_of(len(headed))
    axis = {"ticks": False, "domain": False, "labelLimit": room}
    across = {"orient": "top", "labelAngle": 0, "labelOverlap": False, "labelFlush": False}
    across["labelExpr"] = HEAD
    x = channel("name:N", title=None, sort=list(headed.values()), axis={**axis, **across})
    y = channel("rank:O", title=None, axis=axis)
    scale = {"domain": list(COLOURS), "range": list(COLOURS.values())}
    below_words = legend(columns_for(COLOURS, context=context))
    colour = channel("typical_of:N", title="More often in", scale=scale, legend=below_words)
    letters = Chart(drawn).mark_text(baseline="middle", fontSize=context.letter + 1, limit=room)
    listed_words = (
        f"{name}: {' '.join(rows.loc[rows['name'] == name, 'token'])}" for name in headed.values()
    )
    return letters.encode(x=x, y=y, text="token:N", color=colour, tooltip=tooltip).properties(
        width="container",
        height=context.height(ROW * max(rows["rank"].nunique(), 1)),
        title=heading(what, f"{below}; in brackets: AUC of words of the fine-tune's text"),
        description=f"{what}. {'; '.join(listed_words)}.",
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
    rivals = [ref for ref in names if ref not in tuned]
    looks |= {
        names[ref]: Look(GREY, shapes[ref], DASHES[number % len(DASHES)])
        for number, ref in enumerate(rivals)
    }
    return layer_chart(
        rows, "auc", looks, "Does the change promote words of the fine-tune's text?",
        "AUC; bands: the two halves of the text; grey: shuffled dimensions, 95 %",
        y_title="AUC", null="Shuffled dimensions", height=CURVE,
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
        y_title="Bits", ends=(low, high), height=CURVE,
        context=replace(context, legend=True),  # all lines end at 0
    )  # fmt: skip
