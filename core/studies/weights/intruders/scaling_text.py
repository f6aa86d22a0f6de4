"""Every sentence of the causal test: statements, headline, notices, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.errors import listed
from core.results.estimates import Estimate
from core.results.names import short_names
from core.results.numbers import Kind
from core.results.statements import Statement
from core.results.words import words_beside
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.tables import LOSS, WAYS

REMOVED = "removing intruder dimensions changes the metric"
NO_CHANGE = "removing intruder dimensions does not measurably change the metric"
BEYOND = "removing intruder dimensions, compared with random directions"
EXCESS = "removing intruder dimensions, compared with shrinking the whole update"
SHRUNK = f"{WAYS['shrunk']} in the same matrices"
RANDOM = f"{WAYS['random']} of equal size"
METHODS = words_beside(__file__).sentence("scaling_methods")


def scaling_statements(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State what removing each model's intruder dimensions does to every metric.

    Args:
        table: `scaling` of the study.
    """
    removed = table[(table["scale"] == 0) & (table["way"] == "intruders")]
    stated = []
    for row in removed.to_dict("records"):
        kind: Kind = "amount" if row["metric"] == LOSS else "share"
        change, beyond, excess = (
            Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], kind=kind)
            for name in ("change", "beyond", "excess")
        )
        verdict = REMOVED if change.clear else NO_CHANGE
        stated += [
            Statement(row["model"], verdict, change, metric=row["metric"]),
            Statement(row["model"], BEYOND, beyond, (), RANDOM, row["metric"]),
        ]
        if row["excess"] == row["excess"]:
            stated.append(Statement(row["model"], EXCESS, excess, (), SHRUNK, row["metric"]))
    return tuple(stated)


def scaling_headline(statements: Sequence[Statement]) -> str:
    """Say what removing intruder dimensions does to the score and the loss; "" without a model.

    Args:
        statements: Of `scaling_statements`.
    """
    refs = list(dict.fromkeys(said.subject for said in statements))
    names, sentences = short_names(refs), []
    for ref in refs:
        every = [said for said in statements if said.subject == ref]
        mine = [said for said in every if said.baseline != SHRUNK]
        parts = [
            _clause(change, beyond) for change, beyond in zip(mine[::2], mine[1::2], strict=True)
        ]
        sentences.append(f"Removing them from {names[ref]} {listed(parts)}.")
        shares = [_share(said) for said in every if said.baseline == SHRUNK]
        if shares:
            sentences.append(
                f"Compared with shrinking the whole update of the same matrices by an equal norm, "
                f"{listed(shares)}."
            )
    return " ".join(sentences)


def _clause(change: Statement, beyond: Statement) -> str:
    if not change.number.clear:
        return f"does not measurably change the {change.metric} ({change.number.text})"
    verb = "raises" if change.number.value > 0 else "lowers"
    amount = f"{verb} the {change.metric} by {change.number.size}"
    if not beyond.number.clear:
        return f"{amount}, not detectably different from {RANDOM}"
    return f"{amount}, {beyond.number.direction('above', 'below')} {RANDOM}"


def _share(excess: Statement) -> str:
    """Say how a metric after removal differs from that after shrinking the whole update."""
    metric = excess.metric
    if not excess.number.clear:
        return f"the {metric} is not detectably different ({excess.number.text})"
    gap = f"the {metric} is {excess.number.direction('higher', 'lower')}"
    if metric != LOSS:
        return gap
    share = "less" if excess.number.value > 0 else "more"
    return f"{gap}: intruders carry {share} than their share of the forgetting"


def scaling_notices(
    scaled: Mapping[str, int], refused: Mapping[str, str], losses: Sequence[str]
) -> tuple[str, ...]:
    """Say which models had nothing to scale, no score, or no loss.

    Args:
        scaled: Number of intruder dimensions by model.
        refused: Reason by model that cannot be scored.
        losses: Models whose masked loss was measured.
    """
    names = short_names([*scaled])
    none = [names[ref] for ref, count in scaled.items() if not count]
    lost = [names[ref] for ref, count in scaled.items() if count and ref not in losses]
    notices = list(refused.values())
    if none:
        notices.append(f"There are no intruder dimensions to scale in {', '.join(none)}.")
    if lost:
        notices.append(
            f"The base has no pretraining head for masked words that fits {', '.join(lost)}, so "
            "the task alone is scored."
        )
    return tuple(notices)


def scaling_methods(spec: IntruderSpec) -> str:
    """A methods paragraph of the causal test."""
    labelled = spec.labelled or "the included labelled sentences"
    examples = f"sentences of {labelled}, or words of {spec.text}"
    return METHODS.format(examples=examples, base=spec.base, text=spec.text, draws=spec.removals)
