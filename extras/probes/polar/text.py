"""Every sentence of the study of polar probes: the headline, made of statements, and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import core.studies.probes.trees.statements as trees
from core.maths.structural.bands import TWO_DRAWS
from core.maths.structural.positions import SIZE
from core.maths.structural.schedule import BATCH, DECAY, LEARNING_RATE
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.tables import CHAIN
from core.studies.probes.trees.text import (
    MOST_NAMED,
    NOTHING,
    baseline_name,
    beside,
    best_in_words,
    compared_with,
    not_above,
    score_in_words,
)
from core.studies.text_kit import (
    TWO_LINES,
    Statement,
    first_of,
    leading,
    listed,
    short_name,
    short_names,
    text_of,
)
from extras.probes.polar.result import PolarResult
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.statements import GIVEN, UNDIRECTED, statements_of
from extras.probes.polar.tables import DIRECTION, LABEL, LAS, UAS, UUAS

CITATIONS = ("diegosimon2024", "hewitt2019structural", "hewitt2019control", "demarneffe2021")
LEADS = {
    LAS: "{name} predicts {value} of labelled {edges} at best ({short})",
    UAS: "{name} predicts {value} of {edges} with the right head at {best}",
    UUAS: "{name} predicts {value} of {edges} at {best}",
    LABEL: "Given {edges} and their heads, {name} predicts {value} of the labels at {best}",
    DIRECTION: "Given {edges}, {name} predicts {value} of the heads at {best}",
}


def make_headline(statements: Sequence[Statement], *, parsed: bool) -> str:
    """The statements on LAS in sentences: the first model and its baseline, then the other models;
    `parsed` tells a parser's trees from gold ones."""
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
            return beside(gap, name)
        text = compared_with(gap)
        if metric in (LABEL, DIRECTION):  # given the edges, its row is the most frequent answer
            text = text.replace(baseline_name(CHAIN), "the majority baseline")
        return text

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


def make_notices(doubts: Sequence[Statement]) -> list[str]:
    """A sentence for each of `doubts_of`."""
    return [
        not_above(f"{short_name(doubt.subject)}: LAS", doubt, baseline_name(doubt.baseline))
        for doubt in doubts
    ]


def make_methods(spec: PolarSpec, treebank: Treebank, coded: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        treebank: Its sentences.
        coded: Models whose vectors have a position code appended.
        layers: Says those that were probed.
    """
    parts = [
        f"Polar probes (Diego-Simón et al. 2024) of rank {spec.rank} were trained on "
        f"{layers} of {', '.join(spec.probed)}. "
        "A word's vector is the mean of its subwords' vectors.",
        treebank.in_words("Labelled dependency trees", spec.as_probes),
        "Subtypes of labels, punctuation and edges to it were left out.",
        "The loss is that of the structural probe (Hewitt & Manning 2019) "
        f"plus {text_of(spec.weight, 'amount')} times the mean squared error, "
        "over pairs of a batch's edges, of the cosine of their directions after the map, "
        "which is to be 1 for edges of one label and 0 for others. "
        f"Probes were trained with Adam at a learning rate of {LEARNING_RATE:g} on batches of "
        f"{BATCH} sentences for at most {spec.epochs} epochs; "
        "after each epoch without a new minimum of the development loss, the learning rate was "
        f"divided by {text_of(1 / DECAY, 'whole')} and Adam's moments were reset.",
        "The predicted tree is the minimum spanning tree of the squared distances. "
        "A label's direction is the mean direction of its training edges; "
        "an edge's label is the one with the highest cosine, and the root is the word from which "
        "all edges, directed away from it, have the highest sum of cosines.",
        "UUAS, UAS and LAS are the shares of edges between words that are not punctuation that are "
        "predicted, predicted with the right head, and with the right head and label; "
        "the root's own label is not counted. "
        "A model's best layer is the one with the highest LAS on the development sentences.",
        "Baselines are probes on a position code alone, the untrained model at its best layer, "
        "each model's static window (its embeddings of a word and its neighbours, "
        "with no layer run), its layer 0 alone, "
        "and the linear chain with the most frequent head and label of edges between neighbours. "
        "The headline gives the difference from the one that scores highest.",
        (
            f"The vectors of {', '.join(coded)} were centred, divided by their mean absolute "
            f"deviation, and extended by a code of each word's position ({SIZE} numbers)."
        )
        * bool(coded),
        (
            "Selectivity is the score minus that of probes on the same trees with control labels: "
            "a random label for each type of dependent, drawn with the frequencies of the real "
            f"labels (after Hewitt & Liang 2019), averaged over {spec.controls} draws."
        )
        * bool(spec.controls),
        f"Scores are means over {spec.seeds} probes with different initial maps and orders of the "
        f"training sentences. Bands are 95 % percentile intervals over {spec.draws:,} resamples of "
        "the test sentences, to each of which a t-distributed error of the mean over probes (and "
        f"over draws of control labels) was added{TWO_DRAWS * (2 in (spec.seeds, spec.controls))}. "
        "They are not corrected for the number of layers and models. "
        "Layers are not distinguishable from the best one where the interval of the paired "
        "difference, 95 % for all layers of the model together (Bonferroni), is not above 0.",
    ]
    return " ".join(filter(None, parts))
