"""The barrier in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.errors import listed
from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement
from core.results.words import words_beside
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.tasks import (
    FOLDED,
    MATCHED,
    NORMS,
    RANDOM,
    RAW,
    ROTATED,
    SHARES,
)

NOTHING = words_beside(__file__).sentence("nothing")
HALFWAY = "excess of the loss halfway between the weights"
MIDDLE = SHARES[len(SHARES) // 2]
BEST = {
    ROTATED: "with units and heads matched and states rotated",
    MATCHED: "with units and heads matched",
}
RIVALS = {
    RANDOM: "with units and heads in random order",
    NORMS: "with the lengths of weights kept, too",
    FOLDED: "in the axes that were rotated, without the rotation",
}


def statements_of(paths: pd.DataFrame) -> tuple[Statement, ...]:
    """State the excess of the loss of the mean of two models, for each kind of pair and way.

    Args:
        paths: PATHS.
    """
    statements = []
    for row in paths[paths["share"] == MIDDLE].to_dict("records"):
        estimate = estimate_of(row, "excess_loss")
        statements.append(Statement(row["relation"], HALFWAY, estimate, baseline=row["order"]))
    return tuple(statements)


def make_headline(statements: Sequence[Statement]) -> str:
    """Say what the mean of two models loses, of other origins and of one, as they are and in the
    best order that was halfway; then what the rivals lose."""
    parts, rivals = [], []
    several = len({each.subject for each in statements}) > 1
    for relation in (OTHER_ORIGINS, ONE_ORIGIN):
        halfway = {each.baseline: each.number for each in statements if each.subject == relation}
        if RAW not in halfway:
            continue
        best = next((way for way in BEST if way in halfway), "")
        ordered = f", {halfway[best].value_text} {BEST[best]}" if best else ""
        parts.append(f"Halfway between models of {relation} {_loss(halfway[RAW])}{ordered}.")
        rivals += [
            f"{halfway[way].value_text} {text}{f' ({relation})' if several else ''}"
            for way, text in {**BEST, **RIVALS}.items()
            if way in halfway and way != best
        ]
    if rivals:
        parts.append(f"For comparison: {listed(rivals)}.")
    return " ".join(parts) or NOTHING


def _loss(estimate: Estimate) -> str:
    if not estimate.clear:
        return f"the loss is not detectably above their mean ({estimate.text} nats per token)"
    above = estimate.direction("nats per token above their mean", "nats per token below their mean")
    return f"the loss is {above}"


def make_methods(spec: BarrierSpec, scored: int, fitted: int) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        scored: Sentences whose loss was computed.
        fitted: Sentences that units and heads were matched on.
    """
    return (
        "Every two models were joined by a straight line between their weights, and "
        f"{len(SHARES)} points of it were scored on {scored:,} sentences of {spec.corpus} by their "
        "loss on every subword, masked once, or predicted from those before it. Models without a "
        f"head that predicts took that of {spec.base}. The barrier is the largest excess of an "
        "inner point over the line between the losses of the ends. Units of feed-forward layers "
        "were matched by the correlations of their activations, and heads by the summed best "
        f"matches of their units, on {fitted:,} other sentences, by the Hungarian method. A random "
        "order of units and heads, which leaves a network's function as it is, is the control. "
        "Intervals are 95 % bootstrap intervals over scored sentences."
    )
