"""What a study of polar probes shows: its statements, and its sentences, made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

import core.studies.probes.trees.statements as trees
from core.maths.structural.bands import TWO_DRAWS
from core.maths.structural.positions import SIZE
from core.maths.structural.schedule import BATCH, DECAY, LEARNING_RATE
from core.models import parse_ref
from core.studies.kit import Result
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.tables import (
    CHAIN,
    best_row,
    best_rows,
    models_in,
)
from core.studies.probes.trees.text import best_in_words, probe_sentences
from core.studies.probes.trees.text import said as said_of_trees
from core.studies.text_kit import (
    Statement,
    estimate_of,
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
        Statement(score.subject, verdict, estimate_of(row, "value"), score.layers, metric=LAS)
        for score in stated[:1]
        for name, verdict in ((UUAS, UNDIRECTED), (LABEL, GIVEN))
        if (row := best_row(tables["polar"], score.subject, name)) is not None
    ]
    return (*stated[:1], *more, *stated[1:])


def stated(result: Result, metric: str) -> tuple[Statement, ...]:
    """What a result states of one metric; made of its tables where it does not, as those of
    structural probes are."""
    facts = tuple(each for each in result.statements if each.metric == metric)
    return facts or statements_of(result.tables, models_in(result.table), metric)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: PolarSpec) -> tuple[Statement, ...]:
    """State the baselines above which a model's LAS at its best layer is not detectably."""
    trained = [ref for ref in spec.models if not parse_ref(ref).random]
    return tuple(
        doubt
        for ref, row in best_rows(tables["polar"], trained, LAS).items()
        for doubt in trees.unbeaten(tables["polar_margins"], ref, LAS, int(row["layer"]))
    )


def view_sentences(result: PolarResult, metric: str = LAS) -> Iterator[str]:
    """The headline of one metric."""
    return make_headline(stated(result, metric), metric, parsed=result.parsed)


def make_headline(
    statements: Sequence[Statement], metric: str = LAS, *, parsed: bool
) -> Iterator[str]:
    """Write the statements in sentences; `parsed` tells a parser's trees from gold ones."""
    given = {each.verdict: each for each in statements if each.verdict in (UNDIRECTED, GIVEN)}
    more = ""
    if len(given) == 2:
        names = short_names(dict.fromkeys(each.subject for each in statements))
        edges, labels = given[UNDIRECTED], given[GIVEN].number.value_text
        more = (
            f"Without head and label {names[edges.subject]} predicts {edges.number.value_text} of "
            f"the edges; given the edges, it predicts {labels} of the labels."
        )
    of_edges = metric in (LABEL, DIRECTION)  # where the chain is the most frequent answer
    yield from probe_sentences(
        [each for each in statements if each.verdict not in given],
        LEADS[metric],
        parsed=parsed,
        named={CHAIN: "the majority baseline"} if of_edges else {},
        more=more,
        longest=math.inf,
        one_layer=best_in_words,
    )


def make_methods(spec: PolarSpec, treebank: Treebank, coded: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste; models that are `coded` have a position code
    appended."""
    decay, models = text_of(1 / DECAY, "whole"), ", ".join(spec.probed)
    two = TWO_DRAWS * (2 in (spec.seeds, spec.controls))
    weight = text_of(spec.weight, "amount")
    parts = (
        said("probes", rank=spec.rank, layers=layers, models=models),
        treebank.in_words("Labelled dependency trees", spec.as_probes),
        said(
            "training",
            weight=weight, rate=LEARNING_RATE, batch=BATCH, epochs=spec.epochs, decay=decay,
        ),
        said("predicted"),
        said("scores"),
        said("baselines"),
        said("coded", models=", ".join(coded), size=SIZE) if coded else "",
        said("selectivity", draws=spec.controls) if spec.controls else "",
        said_of_trees(
            "bands", seeds=spec.seeds, draws=spec.draws, drawn="control labels", two=two
        ),
        said_of_trees("tied"),
    )  # fmt: skip
    return " ".join(filter(None, parts))
