"""Every sentence of the causal test: statements, headline, notices, methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.models.weights.matrix_families import family_label
from core.studies.text_kit import Estimate, Kind, Statement, listed, short_names, words_beside
from extras.weights.scaling.spec import ScalingSpec
from extras.weights.scaling.tables import LOSS, WAYS

said = words_beside(__file__).sentence
REMOVED = "removing intruder dimensions changes the metric"
NO_CHANGE = "removing intruder dimensions does not measurably change the metric"
BEYOND = "removing intruder dimensions, compared with random directions"
BEYOND_SHRUNK = "removing intruder dimensions, compared with shrinking the whole update"
THAN_SHRUNK = f"{WAYS['shrunk']} in the same matrices"
RANDOM_DIRECTIONS = f"{WAYS['random']} of equal size"


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State what removing each model's intruder dimensions does to every metric."""
    removed = table[(table["scale"] == 0) & (table["way"] == "intruders")]
    stated = []
    for row in removed.to_dict("records"):
        kind: Kind = "amount" if row["metric"] == LOSS else "share"
        change, beyond, excess = (
            Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], kind=kind)
            for name in ("change", "beyond", "excess")
        )
        stated += [
            Statement(row["model"], verdict, number, (), baseline, row["metric"])
            for verdict, number, baseline in (
                (REMOVED if change.clear else NO_CHANGE, change, ""),
                (BEYOND, beyond, RANDOM_DIRECTIONS),
                (BEYOND_SHRUNK, excess, THAN_SHRUNK),
            )
            if number.value == number.value  # nothing is stated of NaN
        ]
    return tuple(stated)


def make_headline(statements: Sequence[Statement]) -> str:
    """Say what removing intruder dimensions does to the score and the loss of each model."""
    refs = list(dict.fromkeys(each.subject for each in statements))
    names, sentences = short_names(refs), list[str]()
    for ref in refs:
        every = [each for each in statements if each.subject == ref]
        mine = [each for each in every if each.baseline != THAN_SHRUNK]
        parts = [
            _clause(change, beyond) for change, beyond in zip(mine[::2], mine[1::2], strict=True)
        ]
        what = "them" if sentences else "intruder dimensions"
        sentences.append(f"Removing {what} from {names[ref]} {listed(parts)}.")
        shares = [_share(each) for each in every if each.baseline == THAN_SHRUNK]
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
        return f"{amount}, not detectably different from {RANDOM_DIRECTIONS}"
    return f"{amount}, {beyond.number.direction('above', 'below')} {RANDOM_DIRECTIONS}"


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


def nothing_to_scale(refs: Sequence[str]) -> str:
    """Say that these models have no intruder dimensions, and what would count more directions."""
    return f"{_no_intruders(refs)} {said('more')}"


def _no_intruders(refs: Sequence[str]) -> str:
    return said("nothing_to_scale", models=", ".join(short_names(refs).values()))


def make_notices(
    scaled: Mapping[str, int], refused: Mapping[str, str], losses: Sequence[str]
) -> tuple[str, ...]:
    """Say which models had nothing to scale, no score, or no loss."""
    names = short_names([*scaled])
    none = [ref for ref, count in scaled.items() if not count]
    lost = [names[ref] for ref, count in scaled.items() if count and ref not in losses]
    return (
        *refused.values(),
        _no_intruders(none) if none else "",
        said("no_head", models=", ".join(lost)) if lost else "",
    )


def make_methods(spec: ScalingSpec) -> str:
    """A methods paragraph, ready to paste."""
    labelled = spec.labelled or "the included labelled sentences"
    families = f" ({', '.join(map(family_label, spec.families))})" if spec.families else ""
    return said(
        "methods",
        leading=spec.leading,
        chosen=families,
        threshold=f"{spec.threshold:g}",
        models=", ".join(spec.models),
        examples=f"sentences of {labelled}, or words of {spec.text}",
        base=spec.base,
        text=spec.text,
        draws=spec.removals,
    )
