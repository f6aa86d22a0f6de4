"""The sentences of the probe study that depend on its numbers: headline, notices, methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import core.studies.probes.trees.statements as trees_statements
from core.maths.structural.arcs import FAR
from core.maths.structural.bands import TWO_DRAWS
from core.maths.structural.positions import SIZE
from core.maths.structural.schedule import BATCH, DECAY, LEARNING_RATE
from core.maths.structural.scores import LONGEST, SHORTEST
from core.models import parse_ref
from core.results.metrics import OF_SELECTIVITY
from core.results.names import layer_numbers, layers_in_words, short_name, short_names
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.result import ProbeResult
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import CHAIN, EMBEDDINGS, POSITION, TAGS, WINDOW
from core.studies.text_kit import (
    TWO_LINES,
    Statement,
    by_number,
    first_of,
    leading,
    listed,
    text_of,
    words_beside,
)

CITATIONS = ("hewitt2019structural", "hewitt2019control", "hewitt2021", "demarneffe2021")
MOST_NAMED = 3  # models that a headline compares with the first
said = words_beside(__file__).sentence
NOTHING = said("nothing")
NOTICES = {
    trees_statements.UNSCORED: "unscored",
    trees_statements.TOO_FEW: "too_few",
    trees_statements.FIRST: "first",
    trees_statements.LAST: "last",
    trees_statements.SIMILAR: "not_above",
    trees_statements.BELOW: "below_chain",
    trees_statements.OVERLAPS: "overlaps_chain",
}  # sentences of verdicts
LEADS = {
    "uuas": "{name} predicts {value} of {edges} at best ({short})",
    "dspr": "{name} predicts tree distances with rank correlation {value} at {layers}",
    "root": "{name} predicts the root of {value} of sentences at {best}",
    "nspr": "{name} predicts tree depths with rank correlation {value} at {layers}",
}


def make_headline(statements: Sequence[Statement], metric: str, *, parsed: bool) -> str:
    """The statements in sentences; `parsed` tells a parser's trees from gold ones."""
    return " ".join(_sentences(statements, metric, parsed)) or NOTHING


def scores_sentence(result: ProbeResult, metric: str) -> str:
    """As many sentences of one metric's headline as two lines hold; "" without scores."""
    statements = trees_statements.statements_of(result.tables, list(result.probes), metric)
    return leading(_sentences(statements, metric, result.parsed), TWO_LINES)


def arcs_sentence(result: ProbeResult) -> str:
    """As many of two sentences, on long and on adjacent edges, as two lines hold; "" without."""
    sentences: list[str] = []
    for each in trees_statements.arc_statements(result.tables, list(result.probes)):
        if each.verdict != trees_statements.BEST:
            sentences[-1] += f", {compared_with(each)}"
        elif each.baseline == FAR:
            sentences.append(
                f"Of edges between non-adjacent words, {short_name(each.subject)} predicts "
                f"{each.number.value_text} at layer {each.layers[0]}"
            )
        else:
            sentences.append(
                f"Of those between adjacent words, it predicts {each.number.value_text}"
            )
    return leading((f"{sentence}." for sentence in sentences), TWO_LINES)


def _sentences(statements: Sequence[Statement], metric: str, parsed: bool) -> Iterator[str]:
    if not statements:
        return
    tied = {
        each.subject: each.layers for each in statements if each.verdict == trees_statements.TIED
    }
    first, *rest = (each for each in statements if each.verdict != trees_statements.TIED)
    names = short_names(dict.fromkeys(each.subject for each in statements))
    name = names[first.subject]
    if metric.endswith(OF_SELECTIVITY):
        at_best = first.layers == rest[0].layers
        where = best_in_words(first.layers) if at_best else layers_in_words(first.layers)
        yield f"At {where}, {name} is {compared_with(first)}."
        return
    edges = "parse edges" if parsed else "gold edges"
    margins = [each for each in rest if each.subject == first.subject]
    sentence = ", ".join(
        (score_in_words(LEADS[metric], first, name, edges, tied), *map(compared_with, margins))
    )
    score = next((each for each in rest if each.verdict == trees_statements.SCORES), None)
    if score is not None:  # the fine-tuned model first, with what it is compared with
        of = [each for each in rest if each.subject == score.subject and each is not score]
        compared = [
            gap_in_words(each, name) if each.baseline == first.subject else compared_with(each)
            for each in sorted(of, key=lambda each: each.baseline != first.subject)
        ]
        lead = score_in_words(LEADS[metric], score, names[score.subject], edges, tied)
        whole = f"{lead}, {listed(compared)}."
        fits = len(whole) <= TWO_LINES or len(compared) < 2
        yield whole if fits else f"{lead}, {compared[0]}."
        if not fits:
            yield f"It is {listed(compared[1:])}."
    yield f"{sentence}."
    others = [each for each in rest if each.subject != first.subject and score is None]
    for each in first_of(others, MOST_NAMED):
        layers = tied.get(each.subject, each.layers)
        where = best_in_words(layers) if len(layers) > 1 else layers_in_words(layers)
        yield f"At {where}, {names[each.subject]} is {gap_in_words(each, name)}."


def score_in_words(
    lead: str, score: Statement, name: str, edges: str, tied: Mapping[str, Sequence[int]]
) -> str:
    """Say what a model scores at its best layers, by filling a `lead`: a sentence without its full
    stop. `tied` has the layers not distinguishable from a model's best one."""
    layers = tied.get(score.subject, score.layers)
    return lead.format(
        name=name, value=score.number.value_text, best=best_in_words(layers), edges=edges,
        layers=layers_in_words(layers), short=layers_in_words(layers, "–"),
    )  # fmt: skip


def gap_in_words(difference: Statement, name: str) -> str:
    """Write a difference from a model or a baseline of this name."""
    gap = difference.number.direction("above", "below")
    if difference.verdict == trees_statements.SIMILAR:
        return f"not detectably different from {name} ({gap})"
    return f"{gap} {name}"


def best_in_words(layers: Sequence[int]) -> str:
    """The best layer, or the layers not distinguishable from it: "its best layers (1 to 6)"."""
    return f"its best {by_number(len(layers), 'layer', 'layers')} ({layer_numbers(layers)})"


def compared_with(statement: Statement) -> str:
    """A difference from a baseline: "5.2 points [2.6, 8.0] above the untrained model"."""
    return gap_in_words(statement, baseline_name(statement.baseline))


def baseline_name(baseline: str) -> str:
    """A baseline as a sentence names it."""
    names = {
        POSITION: "the position-only baseline",
        CHAIN: "the linear chain",
        WINDOW: "words alone (static window)",
        trees_statements.CONTROL_TREES: "the same probes on control trees",
        EMBEDDINGS: "its layer 0",
        TAGS[0]: "parts of speech alone",
        TAGS[1]: "parts of speech of three words",
    }
    if baseline in names:
        return names[baseline]
    return "the untrained model" if parse_ref(baseline).random else short_name(baseline)


def notice_of(doubt: Statement, score: str = "UUAS", target: str = "", baseline: str = "") -> str:
    """Write the notice of a doubt from `doubts_of`. `target` follows the model's name; `baseline`
    replaces the usual name of what the score was compared with."""
    key, values = NOTICES[doubt.verdict], {}
    if doubt.estimate:
        number, named = doubt.estimate, baseline or baseline_name(doubt.baseline)
        gap = number.direction("above", "below")
        values = {"number": number.text, "gap": gap, "baseline": named}
        key = "below" if key == "not_above" and number.high < 0 else key
    layers, best = layers_in_words(doubt.layers), layer_numbers(doubt.layers)
    model = short_name(doubt.subject) + target
    return said(key, model=model, score=score, layers=layers, best=best, **values)


def make_methods(spec: ProbeSpec, treebank: Treebank, coded: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste; models that are `coded` have a position code
    appended."""
    decay, models = text_of(1 / DECAY, "whole"), ", ".join(spec.probed)
    two = TWO_DRAWS * (2 in (spec.seeds, spec.controls))
    parts = {  # whether a sentence holds
        said(
            "probes", rank=spec.rank, probes=listed(spec.probes), layers=layers, models=models
        ): True,
        treebank.in_words("Dependency trees", spec): True,
        said("training", rate=LEARNING_RATE, batch=BATCH, epochs=spec.epochs, decay=decay): True,
        said("scores", shortest=SHORTEST, longest=LONGEST): True,
        said("baselines"): True,
        said("tied"): True,
        said("arcs"): {"distance", "depth"} <= set(spec.probes),
        said("added"): spec.conditional,
        said("coded", models=", ".join(coded), size=SIZE): bool(coded),
        said("selectivity", draws=spec.controls): bool(spec.controls),
        said("bands", seeds=spec.seeds, draws=spec.draws, drawn="control trees", two=two): True,
    }
    return " ".join(sentence for sentence, holds in parts.items() if holds)
