"""Every sentence of the study that erases a probe's subspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.studies.kit import Result, words_beside
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import BELOW
from core.studies.text_kit import TWO_LINES, Estimate, Statement, leading, listed, short_name
from extras.probes.removal.spec import RemovalSpec
from extras.probes.removal.statements import COST, WHERE
from extras.probes.removal.tables import ACCURACY, LOSS, UAS
from extras.probes.removal.tasks import MATCHED

CITATIONS = ("belrose2023", "hewitt2019structural", "elazar2021", "salazar2020", "kauf2023")
said = words_beside(__file__).sentence
NOTHING = said("nothing")
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


def make_methods(spec: RemovalSpec, treebank: Treebank, heads: Sequence[str], layers: str) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        treebank: Its sentences.
        heads: Models that were scored.
        layers: Says those at which a subspace was erased.
    """
    return said(
        "methods",
        rank=spec.rank,
        layers=layers,
        models=listed(heads),
        text=treebank.corpus.ref,
        train=len(treebank.parts["train"]),
        dev=len(treebank.parts["dev"]),
        randoms=spec.randoms,
        scored=spec.scored,
        pairs=spec.pairs,
        draws=spec.draws,
    )


def make_notices(refused: Sequence[str]) -> list[str]:
    """The notice that models have no head that can be scored."""
    return [said("refused", models=listed([*map(short_name, refused)]))] if refused else []
