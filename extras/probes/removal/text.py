"""Every sentence of the study that erases a probe's subspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.options.layer_numbers import which_layers
from core.studies.kit import Result, words_beside
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import BELOW
from core.studies.text_kit import TWO_LINES, Estimate, Statement, leading, listed, short_name
from extras.probes.removal.spec import RemovalSpec
from extras.probes.removal.statements import COST, WHERE
from extras.probes.removal.tables import ACCURACY, LOSS, UAS
from extras.probes.removal.tasks import MATCHED

CITATIONS = ("belrose2023", "hewitt2019structural", "elazar2021", "salazar2020", "kauf2023")
NOTHING = words_beside(__file__).sentence("nothing")
COSTS = {
    LOSS: ("{name}'s loss is {cost}", "nats higher", "nats lower"),
    ACCURACY: ("{name}'s accuracy on minimal pairs is {cost}", "lower", "higher"),
    UAS: ("{name}'s UAS is {cost}", "lower", "higher"),
}


def make_headline(statements: Sequence[Statement]) -> str:
    """The statements in sentences: the cost at its worst layer, and the random subspaces."""
    return " ".join(_sentences(statements)) or NOTHING


def view_sentence(result: Result, metric: str = LOSS) -> str:
    """As many sentences on one metric as two lines hold; "" without any."""
    mine = [each for each in result.statements if each.metric == metric]
    return leading(_sentences(mine), TWO_LINES)


def _sentences(statements: Sequence[Statement]) -> Iterator[str]:
    where = {(each.subject, each.metric): each for each in statements if each.verdict == WHERE}
    gaps = {
        (each.subject, each.metric): each
        for each in statements
        if each.verdict not in (COST, WHERE)
    }
    for each in statements:
        if each.verdict != COST:
            continue
        clause, *ways = COSTS[each.metric]
        gap = gaps.get((each.subject, each.metric))
        number = each.number if gap is None else Estimate(each.number.value, kind=each.number.kind)
        lost = clause.format(name=short_name(each.subject), cost=number.direction(*ways))
        sentence = f"without the probe's subspace at layer {each.layers[0]}, {lost}"
        if gap is None:
            yield f"W{sentence[1:]}."
            continue
        equal = " of equal change" * (gap.baseline == MATCHED)
        more = f"{gap.number.direction('above', 'below')} random ones{equal}"
        yield f"{_verdict(where[each.subject, each.metric], gap)}: {sentence}, {more}."


def _verdict(where: Statement, gap: Statement) -> str:
    """Say at how many layers erasing costs detectably more than random subspaces do."""
    if not where.layers:
        return "No" if gap.verdict == BELOW else "Not detectably"
    every, above = where.number.text, str(len(where.layers))
    return "At every layer" if above == every else f"At {above} of {every} layers"


def make_methods(
    spec: RemovalSpec, treebank: Treebank, heads: dict[str, str], depths: Mapping[str, int]
) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        treebank: Its sentences.
        heads: The head of each model that was scored.
    """
    layers = which_layers(spec.layers, depths)
    counts = {part: len(rows) for part, rows in treebank.parts.items()}
    return " ".join(
        [
            f"Distance probes (Hewitt & Manning 2019) of rank {spec.rank} were trained on {layers} "
            f"of {listed(list(heads))} ({treebank.corpus.ref}; "
            f"{counts['train']:,} training and {counts['dev']:,} development sentences).",
            "Their subspace was erased from the layer's states of every token while the model ran: "
            "LEACE in closed form (Belrose et al. 2023), fitted to the vectors of the training "
            "words, with the coordinates in the probe's space as the concept. "
            "A linear regression finds nothing of these coordinates in what is left.",
            f"For comparison, {spec.randoms} random subspaces of the same rank were erased in the "
            "same way, and once more with the change scaled to the probe's mean squared length.",
            "A language model was scored by the loss per token (for masked models the "
            "pseudo-log-likelihood, Salazar et al. "
            f"2020, Kauf & Ivanova 2023) on at most {spec.scored} test sentences, and by its "
            f"accuracy on the critical regions of {spec.pairs} minimal pairs of each kind; "
            "the included parser by its UAS on the same sentences.",
            f"Intervals are of 95 %, from {spec.draws:,} resamples of sentences, "
            "or of groups of pairs with the same differing words, and, "
            "where random subspaces are involved, from their spread (Student's t). "
            "Differences from random subspaces are corrected for the layers of a model "
            "(Bonferroni), not for the models, and the headline names the layer that is farthest "
            "above the random subspaces that cost most there; where none is detectably, the one "
            "at which erasing costs most.",
        ]
    )


def make_notices(refused: Sequence[str]) -> list[str]:
    """The notice that models have no head that can be scored."""
    if not refused:
        return []
    names = listed([short_name(ref) for ref in refused])
    return [
        f"{names}: no language-model head and no parser's head, "
        "so nothing can be measured when the subspace is erased."
    ]
