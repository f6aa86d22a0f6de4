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
from core.results.names import layer_numbers, layers_in_words, short_name, short_names
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.result import ProbeResult
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import CHAIN, EMBEDDINGS, POSITION, SELECTIVITY, TAGS, WINDOW
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
NOTHING = words_beside(__file__).sentence("nothing")
LEADS = {
    "uuas": "{name} predicts {value} of {edges} at best ({short})",
    "dspr": "{name} predicts tree distances with rank correlation {value} at {layers}",
    "root": "{name} predicts the root of {value} of sentences at {best}",
    "nspr": "{name} predicts tree depths with rank correlation {value} at {layers}",
}


def make_headline(statements: Sequence[Statement], metric: str, *, parsed: bool) -> str:
    """The statements in sentences: the first model and its baseline, then the other models;
    `parsed` tells a parser's trees from gold ones."""
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
    if metric.endswith(SELECTIVITY):
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
            beside(each, name) if each.baseline == first.subject else compared_with(each)
            for each in sorted(of, key=lambda each: each.baseline != first.subject)
        ]
        lead = score_in_words(LEADS[metric], score, names[score.subject], edges, tied)
        whole = f"{lead}, {listed(compared)}."
        fits = len(whole) <= TWO_LINES or len(compared) < 2
        yield whole if fits else f"{lead}, {compared[0]}."
        if not fits:
            yield f"It is {listed(compared[1:])}."
        yield f"{sentence}."
        return
    yield f"{sentence}."
    others = [each for each in rest if each.subject != first.subject]
    for each in first_of(others, MOST_NAMED):
        layers = tied.get(each.subject, each.layers)
        where = best_in_words(layers) if len(layers) > 1 else layers_in_words(layers)
        yield f"At {where}, {names[each.subject]} is {beside(each, name)}."


def score_in_words(
    lead: str, score: Statement, name: str, edges: str, tied: Mapping[str, Sequence[int]]
) -> str:
    """Say what a model scores at its best layers: a sentence without its full stop.

    Args:
        lead: The sentence, with fields in place of what follows.
        score: The model's.
        name: Of the model.
        edges: What the text's trees consist of.
        tied: Layers not distinguishable from a model's best one, by the model.
    """
    layers = tied.get(score.subject, score.layers)
    return lead.format(
        name=name, value=score.number.value_text, best=best_in_words(layers), edges=edges,
        layers=layers_in_words(layers), short=layers_in_words(layers, "–"),
    )  # fmt: skip


def beside(difference: Statement, name: str) -> str:
    """Write a difference from a model or a baseline of this name."""
    gap = difference.number.direction("above", "below")
    if difference.verdict == trees_statements.SIMILAR:
        return f"not detectably different from {name} ({gap})"
    return f"{gap} {name}"


def best_in_words(layers: Sequence[int]) -> str:
    """The best layer, or the layers not distinguishable from it: "its best layers (1 to 6)".

    Args:
        layers: In order.
    """
    return f"its best {by_number(len(layers), 'layer', 'layers')} ({layer_numbers(layers)})"


def compared_with(statement: Statement) -> str:
    """A difference from a baseline: "5.2 points [2.6, 8.0] above the untrained model"."""
    return beside(statement, baseline_name(statement.baseline))


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


def notice_of(doubt: Statement) -> str:
    """Say what one of `doubts_of` is."""
    if doubt.verdict == trees_statements.UNSCORED:
        return (
            "The parser's own accuracy is missing: no parser is installed, or there are no gold "
            "heads to score it on."
        )
    name, layer = short_name(doubt.subject), doubt.layers[0]
    if doubt.verdict == trees_statements.TOO_FEW:
        return too_few(name, doubt)
    best = f"the best layer ({layer})"
    if doubt.verdict in (trees_statements.FIRST, trees_statements.LAST):
        place = "first" if doubt.verdict == trees_statements.FIRST else "last"
        return (
            f"{name}: {best} is the {place} one probed. Published BERT results peak in the middle "
            "layers."
        )
    if doubt.verdict == trees_statements.SIMILAR:
        return not_above(f"{name}: UUAS", doubt, baseline_name(doubt.baseline))
    how = (
        "is below"
        if doubt.verdict == trees_statements.BELOW
        else "has a 95 % interval that overlaps"
    )
    return (
        f"{name}: UUAS at {best}, {doubt.number.text}, {how} that of the linear chain, which links "
        "adjacent words."
    )


def not_above(score: str, doubt: Statement, baseline: str) -> str:
    """Say of a score at the best layer that it is below a baseline, or not detectably above it."""
    at_best = f"{score} at the best layer ({doubt.layers[0]}) is"
    if doubt.number.high < 0:
        return f"{at_best} {doubt.number.direction('above', 'below')} {baseline}."
    return f"{at_best} not detectably above {baseline} (difference {doubt.number.text})."


def too_few(name: str, doubt: Statement) -> str:
    """Say of a model that the static window predicts less together with its layers than alone."""
    return (
        f"{name}: together with {layers_in_words(doubt.layers)}, the static window predicts less "
        f"than alone ({doubt.number.text} at worst), so there are too few training sentences to "
        "tell what the layers add."
    )


def make_methods(spec: ProbeSpec, treebank: Treebank, coded: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        treebank: Its sentences.
        coded: Models whose vectors have a position code appended.
    """
    parts = [
        f"Structural probes (Hewitt & Manning 2019) of rank {spec.rank} for "
        f"{listed(spec.probes)} were trained on {layers} of "
        f"{', '.join(spec.probed)}. "
        "A word's vector is the mean of its subwords' vectors.",
        treebank.in_words("Dependency trees", spec),
        "The loss is the absolute error of squared distances divided by squared sentence length "
        "(for depth probes, of squared norms divided by length), averaged over sentences. Probes "
        f"were trained with Adam at a learning rate of {LEARNING_RATE:g} on batches of {BATCH} "
        f"sentences, shuffled anew each epoch, for at most {spec.epochs} epochs. After each epoch "
        "without a new minimum of the development loss, the learning rate was divided by "
        f"{text_of(1 / DECAY, 'whole')} and Adam's moments were reset. A model's best layer is the "
        "one with the highest UUAS (for depth probes, root accuracy) on the development sentences.",
        "UUAS is micro-averaged over edges between words that are not punctuation; DSpr. and NSpr. "
        f"are averaged within each sentence length, then over lengths {SHORTEST} to {LONGEST}.",
        "Baselines are a probe on a position code alone, the untrained model at its best layer, "
        "and each model's static window: its embeddings (layer 0) of a word and its "
        "neighbours, with no layer run; its layer 0 alone; and, where the text has them, parts of "
        "speech, alone and with those of the two neighbours, beside the position code. The "
        "headline gives the difference from the baseline, other than parts of speech, that "
        "scores highest. Other models are compared with the first at their own best layer.",
        "Layers are not distinguishable from the best one where the interval of the paired "
        "difference, 95 % for all layers of the model together (Bonferroni), is not above 0.",
        (
            "Scores by arc length are those of the first probe of each layer; an arc's length is "
            "the distance of its words in the sentence. The error over probes in their bands is "
            "that of UUAS, times the square root of how many times fewer arcs there are."
        )
        * ({"distance", "depth"} <= set(spec.probes)),
        (
            "What a layer adds is the score of probes on the layer and the static window together "
            "minus that of the window, alone or with layer 0 (conditional probing, Hewitt et al. "
            "2021). Intervals are simultaneous for all layers of a model (Bonferroni)."
        )
        * spec.conditional,
        (
            f"The vectors of {', '.join(coded)} were centred, divided by their mean absolute "
            f"deviation, and extended by a code of each word's position ({SIZE} numbers), because "
            "a linear map of vectors without positions cannot express how far apart two words are."
        )
        * bool(coded),
        (
            "Selectivity is the score minus that of probes trained on control trees, in which each "
            "word type, as the model's tokenizer distinguishes types, has a random but fixed rule "
            f"for its head (after Hewitt & Liang 2019), averaged over {spec.controls} draws of the "
            "rules. Depth in a control tree mostly follows position."
        )
        * bool(spec.controls),
        f"Scores are means over {spec.seeds} probes with different initial maps and orders of the "
        f"training sentences. Bands are 95 % percentile intervals over {spec.draws:,} resamples of "
        "the test sentences, to each of which a t-distributed error of the mean over probes (and "
        f"over draws of control trees) was added{TWO_DRAWS * (2 in (spec.seeds, spec.controls))}. "
        "They are not corrected for the number of layers and models.",
    ]
    return " ".join(filter(None, parts))
