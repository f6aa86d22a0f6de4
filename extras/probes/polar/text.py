"""What a study of polar probes shows: its statements, and its sentences, made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

import core.studies.probes.trees.statements as trees
from core.maths.structural.bands import TWO_DRAWS
from core.maths.structural.positions import SIZE
from core.maths.structural.schedule import BATCH, DECAY, LEARNING_RATE
from core.models import parse_ref
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.tables import (
    CHAIN,
    best_row,
    best_rows,
)
from core.studies.probes.trees.text import (
    MOST_NAMED,
    NOTHING,
    best_in_words,
    compared_with,
    gap_in_words,
    score_in_words,
)
from core.studies.probes.trees.text import said as said_of_trees
from core.studies.text_kit import (
    TWO_LINES,
    Statement,
    estimate_of,
    first_of,
    leading,
    listed,
    short_names,
    text_of,
    words_beside,
)
from extras.probes.polar.result import DIRECTION, LABEL, LAS, UAS, UUAS, PolarResult
from extras.probes.polar.spec import PolarSpec

CITATIONS = ("diegosimon2024", "hewitt2019structural", "hewitt2019control", "demarneffe2021")
said = words_beside(__file__).sentence
UNDIRECTED, GIVEN = "edges without head and label", "labels of gold edges"  # verdicts
LEADS = {
    LAS: "{name} predicts {value} of labelled {edges} at best ({short})",
    UAS: "{name} predicts {value} of {edges} with the right head at {best}",
    UUAS: "{name} predicts {value} of {edges} at {best}",
    LABEL: "Given {edges} and their heads, {name} predicts {value} of the labels at {best}",
    DIRECTION: "Given {edges}, {name} predicts {value} of the heads at {best}",
}


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str = LAS
) -> tuple[Statement, ...]:
    """As those of structural probes; after the first model's LAS also its UUAS and the share of
    gold edges whose label it predicts, each at its best layer."""
    named = {**tables, "scores": tables["polar"], "margins": tables["polar_margins"]}
    stated = trees.statements_of(named, models, metric)
    if metric != LAS:
        return stated
    more = [
        Statement(score.subject, verdict, estimate_of(row, "value"), score.layers)
        for score in stated[:1]
        for name, verdict in ((UUAS, UNDIRECTED), (LABEL, GIVEN))
        if (row := best_row(tables["polar"], score.subject, name)) is not None
    ]
    return (*stated[:1], *more, *stated[1:])


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: PolarSpec) -> tuple[Statement, ...]:
    """State the baselines above which a model's LAS at its best layer is not detectably."""
    trained = [ref for ref in spec.models if not parse_ref(ref).random]
    return tuple(
        doubt
        for ref, row in best_rows(tables["polar"], trained, LAS).items()
        for doubt in trees.unbeaten(tables["polar_margins"], ref, LAS, int(row["layer"]))
    )


def make_headline(statements: Sequence[Statement], *, parsed: bool) -> str:
    """The statements on LAS in sentences; `parsed` tells a parser's trees from gold ones."""
    return " ".join(_sentences(statements, LAS, parsed)) or NOTHING


def view_sentence(result: PolarResult, metric: str = LAS) -> str:
    """As many sentences on one metric as two lines hold; "" without scores."""
    statements = statements_of(result.tables, list(result.probes), metric)
    return leading(_sentences(statements, metric, result.parsed), TWO_LINES)


def _sentences(statements: Sequence[Statement], metric: str, parsed: bool) -> Iterator[str]:
    if not statements:
        return
    tied = {each.subject: each.layers for each in statements if each.verdict == trees.TIED}
    more = {each.verdict: each for each in statements if each.verdict in (UNDIRECTED, GIVEN)}
    first, *rest = (each for each in statements if each.verdict not in (trees.TIED, *more))
    names = short_names(dict.fromkeys(each.subject for each in statements))
    name, edges = names[first.subject], "parse edges" if parsed else "gold edges"

    def lead(score: Statement) -> str:
        return score_in_words(LEADS[metric], score, names[score.subject], edges, tied)

    def compared(gap: Statement) -> str:
        if gap.baseline == first.subject:
            return gap_in_words(gap, name)
        if gap.baseline == CHAIN and metric in (LABEL, DIRECTION):
            # given the edges, its most frequent answer
            return gap_in_words(gap, "the majority baseline")
        return compared_with(gap)

    score = next((each for each in rest if each.verdict == trees.SCORES), None)
    if score is not None:  # the fine-tuned model first, with what it is compared with
        gaps = [each for each in rest if each.subject == score.subject and each is not score]
        gaps.sort(key=lambda each: each.baseline != first.subject)
        yield f"{lead(score)}, {listed([compared(gap) for gap in gaps])}."
        rest = [each for each in rest if each.subject != score.subject]
    margins = [compared(each) for each in rest if each.subject == first.subject]
    yield f"{', '.join((lead(first), *margins))}."
    rest = [each for each in rest if each.subject != first.subject]
    if UNDIRECTED in more and GIVEN in more:
        yield (
            f"Without head and label {name} predicts {more[UNDIRECTED].number.value_text} of the "
            f"edges; given the edges, it predicts {more[GIVEN].number.value_text} of the labels."
        )
    for each in first_of(rest, MOST_NAMED):
        where = best_in_words(tied.get(each.subject, each.layers))
        yield f"At {where}, {names[each.subject]} is {compared(each)}."


def make_methods(spec: PolarSpec, treebank: Treebank, coded: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste; models that are `coded` have a position code
    appended."""
    decay, models = text_of(1 / DECAY, "whole"), ", ".join(spec.probed)
    two = TWO_DRAWS * (2 in (spec.seeds, spec.controls))
    weight = text_of(spec.weight, "amount")
    parts = {  # whether a sentence holds
        said("probes", rank=spec.rank, layers=layers, models=models): True,
        treebank.in_words("Labelled dependency trees", spec.as_probes): True,
        said(
            "training",
            weight=weight, rate=LEARNING_RATE, batch=BATCH, epochs=spec.epochs, decay=decay,
        ): True,
        said("predicted"): True,
        said("scores"): True,
        said("baselines"): True,
        said("coded", models=", ".join(coded), size=SIZE): bool(coded),
        said("selectivity", draws=spec.controls): bool(spec.controls),
        said_of_trees(
            "bands", seeds=spec.seeds, draws=spec.draws, drawn="control labels", two=two
        ): True,
        said_of_trees("tied"): True,
    }  # fmt: skip
    return " ".join(sentence for sentence, holds in parts.items() if holds)
