"""What the study that erases a probe's subspace shows: its statements, and its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from core.studies.kit import Result, words_beside
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.statements import BELOW, compared
from core.studies.text_kit import (
    TWO_LINES,
    Estimate,
    Statement,
    estimate_of,
    leading,
    listed,
    short_name,
)
from extras.probes.removal.spec import RemovalSpec
from extras.probes.removal.tables import ACCURACY, LOSS, METRICS, UAS
from extras.probes.removal.tasks import MATCHED, PROBE

CITATIONS = ("belrose2023", "hewitt2019structural", "elazar2021", "salazar2020", "kauf2023")
said = words_beside(__file__).sentence
NOTHING = said("nothing")
COST = "cost of erasing the probe's subspace"
WHERE = "costs more than random subspaces, of this many layers"
COSTS = {
    LOSS: ("{name}'s loss is {cost}", "nats higher", "nats lower"),
    ACCURACY: ("{name}'s accuracy on minimal pairs is {cost}", "lower", "higher"),
    UAS: ("{name}'s UAS is {cost}", "lower", "higher"),
}


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State for each model and metric what erasing costs, how far that is above the random
    subspaces that cost most, and at which layers it is detectably so. The layer is the one of these
    that is farthest above, or, without one, that at which erasing costs most."""
    statements = []
    for model in models:
        for metric in METRICS:
            rows = _rows(tables["removal"], model, metric)
            rows = rows[rows["erased"] == PROBE]
            if rows.empty:
                continue
            gaps = _rows(tables["removal_excess"], model, metric)
            above = [int(at) for at, low in gaps.groupby("layer")["low"].min().items() if low > 0]
            gaps = gaps.loc[gaps.groupby("layer")["margin"].idxmin()]  # over the strongest rival
            farthest = gaps[gaps["layer"].isin(above)].nlargest(1, "margin")
            shown = rows.nlargest(1, "cost") if farthest.empty else farthest
            layer = int(shown["layer"].iloc[0])
            cost = estimate_of(rows[rows["layer"] == layer].iloc[0], "cost")
            statements.append(Statement(model, COST, cost, (layer,), metric=metric))
            statements += [
                compared(model, gap, "margin", str(gap["rival"]), metric)
                for _, gap in gaps[gaps["layer"] == layer].iterrows()
            ]
            whole = Estimate(float(len(gaps)), kind="whole")
            statements.append(Statement(model, WHERE, whole, tuple(above), metric=metric))
    return tuple(statements)


def _rows(table: pd.DataFrame, model: str, metric: str) -> pd.DataFrame:
    return table[(table["model"] == model) & (table["metric"] == metric)]


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
    """A methods paragraph, ready to paste."""
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
