"""The sentences of the probe study that depend on its numbers: headline, notices, methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
    listed,
    more_in_table,
    text_of,
    words_beside,
)

CITATIONS = ("hewitt2019structural", "hewitt2019control", "hewitt2021", "demarneffe2021")
MOST_NAMED = 3  # models that a headline compares with the first
said = words_beside(__file__).sentence
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


def scores_sentences(result: ProbeResult, metric: str) -> Iterator[str]:
    """The headline of one metric."""
    return make_headline(trees_statements.stated(result, metric), metric, parsed=result.parsed)


def arcs_sentences(result: ProbeResult) -> list[str]:
    """Two sentences, on long and on adjacent edges."""
    sentences: list[str] = []
    for each in trees_statements.stated_of_arcs(result):
        if each.verdict != trees_statements.BEST:
            sentences[-1] += f", {compared_with(each)}"
        elif each.metric == FAR:
            sentences.append(
                f"Of edges between non-adjacent words, {short_name(each.subject)} predicts "
                f"{each.number.value_text} at layer {each.layers[0]}"
            )
        else:
            sentences.append(
                f"Of those between adjacent words, it predicts {each.number.value_text}"
            )
    return [f"{sentence}." for sentence in sentences]


def make_headline(statements: Sequence[Statement], metric: str, *, parsed: bool) -> Iterator[str]:
    """Write the statements in sentences; `parsed` tells a parser's trees from gold ones."""
    if statements and metric.endswith(OF_SELECTIVITY):
        gap, best, *_ = statements
        layers = gap.layers
        where = best_in_words(layers) if layers == best.layers else layers_in_words(layers)
        yield f"At {where}, {short_name(gap.subject)} is {compared_with(gap)}."
    else:
        yield from probe_sentences(statements, LEADS.get(metric, ""), parsed=parsed)


def probe_sentences(
    statements: Sequence[Statement],
    lead: str,
    *,
    parsed: bool,
    named: Mapping[str, str] | None = None,
    more: str = "",
    longest: float = TWO_LINES,
    one_layer: Callable[[Sequence[int]], str] = layers_in_words,
) -> Iterator[str]:
    """Write what probes of any kind score by one metric. `lead` is filled by `score_in_words`,
    `named` baselines are called so, `more` follows on the first model; a fine-tune's sentence is
    parted beyond `longest` characters, and `one_layer` names the layer of each further model."""
    if not statements:
        return
    tied = {
        each.subject: each.layers for each in statements if each.verdict == trees_statements.TIED
    }
    first, *rest = (each for each in statements if each.verdict != trees_statements.TIED)
    names = short_names(dict.fromkeys(each.subject for each in statements))
    edges = "parse edges" if parsed else "gold edges"
    rivals = {first.subject: names[first.subject], **(named or {})}

    def scored(each: Statement) -> str:
        return score_in_words(lead, each, names[each.subject], edges, tied)

    def compared(gap: Statement) -> str:
        return gap_in_words(gap, rivals.get(gap.baseline) or baseline_name(gap.baseline))

    score = next((each for each in rest if each.verdict == trees_statements.SCORES), None)
    if score is not None:  # the fine-tuned model first, with what it is compared with
        of = [each for each in rest if each.subject == score.subject and each is not score]
        gaps = [*map(compared, sorted(of, key=lambda each: each.baseline != first.subject))]
        whole = f"{scored(score)}, {listed(gaps)}."
        fits = len(whole) <= longest or len(gaps) < 2
        yield whole if fits else f"{scored(score)}, {gaps[0]}."
        if not fits:
            yield f"It is {listed(gaps[1:])}."
    margins = [compared(each) for each in rest if each.subject == first.subject]
    yield f"{', '.join((scored(first), *margins))}."
    if more:
        yield more
    others = [each for each in rest if each.subject != first.subject and score is None]
    shown = first_of(others, MOST_NAMED)
    for each in shown:
        layers = tied.get(each.subject, each.layers)
        where = best_in_words(layers) if len(layers) > 1 else one_layer(layers)
        yield f"At {where}, {names[each.subject]} is {compared(each)}."
    if left := more_in_table(len(others) - len(shown)):
        yield left


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
    parts = (
        said("probes", rank=spec.rank, probes=listed(spec.probes), layers=layers, models=models),
        treebank.in_words("Dependency trees", spec),
        said("training", rate=LEARNING_RATE, batch=BATCH, epochs=spec.epochs, decay=decay),
        said("scores", shortest=SHORTEST, longest=LONGEST),
        said("baselines"),
        said("tied"),
        said("arcs") if {"distance", "depth"} <= set(spec.probes) else "",
        said("added") if spec.conditional else "",
        said("coded", models=", ".join(coded), size=SIZE) if coded else "",
        said("selectivity", draws=spec.controls) if spec.controls else "",
        said("bands", seeds=spec.seeds, draws=spec.draws, drawn="control trees", two=two),
    )
    return " ".join(filter(None, parts))
