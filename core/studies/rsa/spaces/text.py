"""The map of models in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.spectra.shape import EFFECTIVE_RANK
from core.studies.rsa.spaces.tables import CHANCE, SEEDS, STEPS, TUNED, of_one_base
from core.studies.text_kit import Statement, estimate_of, listed, short_names, words_beside

said = words_beside(__file__).sentence
NOTHING = said("nothing")
ANGLE, WITHOUT = "mean angle in the last layer", "mean angle of the embeddings"
RANK = "effective rank of the last layer"
BEYOND = "further from its base than any two seeds are from each other, last layer"
SAID = {
    SEEDS: "seeds are {} apart",
    TUNED: "fine-tunes are {} from their base",
    STEPS: "steps are {} from the end of their run",
}


def statements_of(
    by_layer: pd.DataFrame, seeds: pd.DataFrame, tuned: pd.DataFrame
) -> tuple[Statement, ...]:
    """State how far related models are apart in their last layer, in the embeddings and with words
    in another order, and which fine-tunes are further from their base than any two seeds are from
    each other."""
    statements = []
    for relation in dict.fromkeys(by_layer.loc[by_layer["relation"] != CHANCE, "relation"]):
        rows = by_layer[by_layer["relation"] == relation]
        statements += [
            Statement(relation, verdict, estimate_of(row, "angle"), (int(row["layer"]),))
            for verdict, row in ((ANGLE, rows.iloc[-1]), (WITHOUT, rows.iloc[0]))
        ]
    statements += [
        Statement(row["model"], BEYOND, estimate_of(row, "angle"), (row["layer"],), SEEDS)
        for row in tuned[tuned["low"] > seeds["high"].max()].to_dict("records")
    ]
    chance = by_layer[by_layer["relation"] == CHANCE]
    shuffled = (Statement(CHANCE, ANGLE, estimate_of(row, "angle")) for _, row in chance.iterrows())
    return (*statements, *shuffled)


def shape_statements(shapes: pd.DataFrame) -> tuple[Statement, ...]:
    """State the effective rank of last layers: of the first base, of its first step, which no
    training has shaped, and of the fine-tune that has the smallest."""
    if shapes.empty:
        return ()
    last = shapes[shapes["layer"] == shapes.groupby("model")["layer"].transform("max")]
    rows = last.set_index("model")
    base, first, tuned = of_one_base(list(rows.index))
    least = [str(rows.loc[tuned, EFFECTIVE_RANK].idxmin())] if tuned else []
    return tuple(
        Statement(
            ref, RANK, estimate_of(rows.loc[ref], EFFECTIVE_RANK), (int(rows.loc[ref, "layer"]),)
        )
        for ref in (base, *first, *least)
    )


def _shape_sentence(statements: Sequence[Statement]) -> str:
    """Say how many directions the last layers fill."""
    ranks = {each.subject: each.number for each in statements if each.verdict == RANK}
    if not ranks:
        return ""
    names = short_names(ranks)
    base, *others = ranks
    more = [f"that of {names[ref]} {ranks[ref].value_text}" for ref in others]
    beside = f", {listed(more)}" if more else ""
    return f"The last layer of {names[base]} has an effective rank of {ranks[base].text}{beside}."


def make_headline(statements: Sequence[Statement]) -> str:
    """Say how far seeds end apart and fine-tunes from their base, and how far they were without
    any layer."""
    ends = {each.subject: each.number for each in statements if each.verdict == ANGLE}
    starts = {each.subject: each.number for each in statements if each.verdict == WITHOUT}
    related = [relation for relation in (SEEDS, TUNED, STEPS) if relation in ends]
    if not related:
        return NOTHING
    apart = listed([SAID[name].format(ends[name].text) for name in related[:2]])
    without = listed([starts[name].value_text for name in related[:2]])
    chance = f"; shuffled words are {ends[CHANCE].value_text} apart" if CHANCE in ends else ""
    parts = [
        f"On average in the last layer, {apart}{chance}.",
        f"In the embeddings, without any layer: {without}.",
    ]
    if beyond := [each for each in statements if each.verdict == BEYOND]:
        names = short_names(each.subject for each in beyond)
        moved = [f"{names[each.subject]} ({each.number.value_text})" for each in beyond]
        parts.append(f"Further from the base than any two seeds are apart: {listed(moved)}.")
    if len(related) > 2:
        parts.append(f"On average, {SAID[STEPS].format(ends[STEPS].text)}.")
    return " ".join(filter(None, (*parts, _shape_sentence(statements))))
