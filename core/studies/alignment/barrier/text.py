"""The barrier in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.maths.permutations import calc_barrier
from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement
from core.results.words import words_beside
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.tasks import MATCHED, NORMS, RANDOM, RAW, ROTATED, SHARES

if TYPE_CHECKING:
    import pandas as pd

    from core.studies.alignment.barrier.spec import BarrierSpec

NOTHING = words_beside(__file__).sentence("nothing")
RISES = "largest excess of the loss on the straight line"
WITH = {
    MATCHED: "{} with units and heads matched",
    NORMS: "{} if the lengths of their weights are kept, too",
    ROTATED: "{} if they are also rotated onto each other",
    RANDOM: "{} with units and heads in random order",
}


def statements_of(paths: pd.DataFrame) -> tuple[Statement, ...]:
    """State the barrier of each kind of pair and way.

    Args:
        paths: PATHS.
    """
    statements = []
    for (relation, way), rows in paths.groupby(["relation", "order"], sort=False):
        at, _ = calc_barrier(rows["excess_loss"].to_numpy(), SHARES)
        estimate = estimate_of(rows.iloc[at], "excess_loss")
        statements.append(Statement(str(relation), RISES, estimate, baseline=str(way)))
    return tuple(statements)


def make_headline(statements: Sequence[Statement]) -> str:
    """Say how far the loss rises between models of other origins and of one, as they are and in
    other orders."""
    parts = []
    for relation, named in ((OTHER_ORIGINS, "two seeds"), (ONE_ORIGIN, "models of one origin")):
        found = {each.baseline: each.number for each in statements if each.subject == relation}
        if RAW not in found:
            continue
        parts.append(f"Between {named}, {_rise(found[RAW])}{_orders(found)}.")
    return " ".join(parts) or NOTHING


def _rise(estimate: Estimate) -> str:
    if not estimate.clear:
        return f"the loss does not rise detectably on the straight line ({estimate.text} nats)"
    verb = "rises by" if estimate.value > 0 else "falls by"
    return f"the loss {verb} {estimate.size} nats per token on the straight line"


def _orders(found: dict[str, Estimate]) -> str:
    named = [text.format(found[way].value_text) for way, text in WITH.items() if way in found]
    return f"; by {', '.join(named)}" if named else ""


def make_methods(spec: BarrierSpec, scored: int, fitted: int) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        scored: Sentences whose loss was computed.
        fitted: Sentences that units and heads were matched on.
    """
    return (
        f"Every two models were joined by a straight line between their weights, and {len(SHARES)} "
        f"points of it were scored on {scored:,} sentences of {spec.corpus}: by their loss on every "
        "subword, masked once, or predicted from those before it. Models without a head that "
        f"predicts took that of {spec.base}. The barrier is the largest excess of an inner point "
        "over the line between the losses of the ends. Units of feed-forward layers were matched by "
        "the correlations of their activations, and heads by the summed best matches of their "
        f"units, on {fitted:,} other sentences, by the Hungarian method; a random order of units "
        "and heads, which leaves the network's function as it is, is the control. Intervals are "
        "95 % bootstrap intervals over scored sentences."
    )
