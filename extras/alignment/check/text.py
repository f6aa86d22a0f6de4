"""Statements, headline and methods of the bijection check."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.text import named
from core.studies.text_kit import Estimate, Statement, listed, sentence_of, words_beside
from extras.alignment.check.spec import TRUTHS, CheckSpec

said = words_beside(__file__).sentence
BEST, COMPARED = "lowest error", "compared"
RIVALS = ("kernel", "inn", "ols")  # maps that the headline names beside the best one


def statements_of(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State the error of the best map and of its rivals on each form, the baseline, at the largest
    number of blocks; empty where no map was fitted."""
    if table.empty:
        return ()
    most = table[table["blocks"] == table["blocks"].max()]
    errors = most.pivot_table(index="truth", columns="method", values="nmse", sort=False)
    best = errors.idxmin(axis=1)
    named = [(truth, str(name), BEST) for truth, name in best.items()]
    named += [
        (truth, name, COMPARED)
        for name in RIVALS
        if name in errors
        for truth in errors.index[errors[name].notna() & (best != name)]
    ]
    return tuple(
        Statement(
            name, verdict, Estimate(float(errors.loc[truth, name]), kind="per cent"), (), str(truth)
        )
        for truth, name, verdict in named
    )


def make_headline(facts: Sequence[Statement]) -> str:
    """Write the headline of the statements of `statements_of`."""
    if not facts:
        return ""
    best = [fact for fact in facts if fact.verdict == BEST]
    maps = listed([named(name) for name in dict.fromkeys(fact.subject for fact in best)], word="or")
    rivals = dict.fromkeys(fact.subject for fact in facts if fact.verdict == COMPARED)
    compared = [
        f"{named(name)} leaves "
        f"{_listed([f for f in facts if f.verdict == COMPARED and f.subject == name])}"
        for name in rivals
    ]
    sentences = (said("best", maps=maps, errors=_listed(best)), sentence_of(*compared))
    return " ".join(filter(None, sentences))


def _listed(facts: Sequence[Statement]) -> str:
    """List errors with the form of the bijection."""
    return listed([f"{fact.number.value_text} ({fact.baseline})" for fact in facts])


def make_methods(spec: CheckSpec) -> str:
    """Write the methods paragraph."""
    forms = "; ".join(f"{name}: {TRUTHS[name]}" for name in spec.truths)
    return said(
        "methods",
        model=spec.model,
        layer=spec.layer,
        forms=forms,
        maps=", ".join(METHODS[name].label for name in spec.methods),
        split=spec.split,
    )
