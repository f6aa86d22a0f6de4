"""Statements, headline and methods of the bijection check."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.text import named
from core.studies.text_kit import Estimate, Statement, listed, words_beside
from extras.alignment.check.spec import TRUTHS, CheckSpec

BEST, COMPARED = "lowest error", "compared"
RIVALS = ("kernel", "inn", "ols")  # maps that the headline names beside the best one


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State the error of the best map and of its rivals on each form, at the largest number of
    blocks.

    Args:
        table: truth, blocks, method, nmse, inverse_error.

    Returns:
        A statement for each map and form; the form is the baseline. Empty where no map was fitted.
    """
    if table.empty:
        return ()
    most = table[table["blocks"] == table["blocks"].max()]
    errors = most.pivot_table(index="truth", columns="method", values="nmse", sort=False)
    best = errors.idxmin(axis=1)
    facts = [
        Statement(
            str(name),
            BEST,
            Estimate(float(errors.loc[truth, name]), kind="per cent"),
            baseline=str(truth),
        )
        for truth, name in best.items()
    ]
    facts += [
        Statement(name, COMPARED, Estimate(float(error), kind="per cent"), baseline=str(truth))
        for name in RIVALS
        if name in errors
        for truth, error in errors[name].dropna().items()
        if name != best[truth]
    ]
    return tuple(facts)


def make_headline(facts: Sequence[Statement]) -> str:
    """Write the headline of the statements of `statements_of`."""
    if not facts:
        return words_beside(__file__).sentence("nothing")
    best = [fact for fact in facts if fact.verdict == BEST]
    maps = listed([named(name) for name in dict.fromkeys(fact.subject for fact in best)], word="or")
    clauses = [
        f"Not fully, although one exists by construction: the best map ({maps}) "
        f"leaves {_listed(best)} of the variance unexplained"
    ]
    rivals = dict.fromkeys(fact.subject for fact in facts if fact.verdict == COMPARED)
    compared = [
        f"{named(name)} leaves "
        f"{_listed([f for f in facts if f.verdict == COMPARED and f.subject == name])}"
        for name in rivals
    ]
    if compared:
        text = "; ".join(compared)
        clauses.append(text[0].upper() + text[1:])
    return ". ".join(clauses) + "."


def _listed(facts: Sequence[Statement]) -> str:
    """Errors with the form of the bijection."""
    return listed([f"{fact.number.value_text} ({fact.baseline})" for fact in facts])


def make_methods(spec: CheckSpec) -> str:
    """Write the methods paragraph."""
    forms = "; ".join(f"{name}: {TRUTHS[name]}" for name in spec.truths)
    return (
        f"States of {spec.model} at layer {spec.layer} were centred, scaled, "
        f"rotated and mapped through random bijections ({forms}). "
        f"Each map ({', '.join(METHODS[name].label for name in spec.methods)}) "
        f"was fitted to undo them on training rows, split by {spec.split}, "
        "and evaluated on held-out rows. A bijection exists by construction, "
        "so every remaining error is the map's own. Intervals are not computed."
    )
