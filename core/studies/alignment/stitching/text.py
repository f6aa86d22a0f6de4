"""Statements, headline and methods of the stitching study."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.text import WITH_ARTICLE
from core.studies.alignment.stitching.spec import StitchSpec
from core.studies.text_kit import Estimate, Statement, estimate_of, words_beside

said = words_beside(__file__).sentence
UNMODIFIED = "unmodified models"
REACHES = "reaches"
EMPTY = "reaches where no layer of the source is run, or no map is needed"
BELOW, ABOVE, EQUAL = "below", "above", "no detectable difference"
AVERAGE = "a per-subword average"
BESIDE = {EQUAL: "not detectably different from the", ABOVE: "above the", BELOW: "below the"}


def statements_of(
    means: pd.DataFrame, differences: pd.DataFrame, unmodified: float
) -> tuple[Statement, ...]:
    """State what stitched models reach at the middle layer, and how far that is from unmodified
    models.

    Args:
        means: method, layer, accuracy, low, high: means over pairs of different models.
        differences: method, layer, difference, low, high: stitched minus unmodified accuracy.
        unmodified: Mean accuracy of the unmodified models.

    Returns:
        First the best map, then the controls without a map and by subword, then the unmodified
        models, then how the best map compares with these, then what it reaches at layer 0, and the
        control without a map at the top; empty where no pair was stitched.
    """
    if means.empty:
        return ()
    middle = int(means["layer"].max()) // 2
    rows = means[means["layer"] == middle].set_index("method")
    maps = rows[[METHODS[str(name)].kind != "control" for name in rows.index]]
    shown = [*([str(maps["accuracy"].idxmax())] if len(maps) else []), "identity", "lookup"]
    facts = [
        Statement(name, REACHES, estimate_of(rows.loc[name], "accuracy"), (middle,))
        for name in shown
        if name in rows.index
    ]
    facts.append(Statement(UNMODIFIED, REACHES, Estimate(unmodified, kind="per cent")))
    if len(maps):
        row = differences[
            (differences["layer"] == middle) & (differences["method"] == shown[0])
        ].iloc[0]
        value, low, high = (100 * float(row[name]) for name in ("difference", "low", "high"))
        points = Estimate(value, low, high, kind="gain")
        verdict = EQUAL if not points.clear else ABOVE if points.value > 0 else BELOW
        facts.append(Statement(shown[0], verdict, points, (middle,), UNMODIFIED))
        for name, layer in ((shown[0], 0), ("identity", int(means["layer"].max()))):
            there = means[(means["method"] == name) & (means["layer"] == layer)]
            facts += [
                Statement(name, EMPTY, estimate_of(row, "accuracy"), (layer,))
                for _, row in there.iterrows()
            ]
    return tuple(facts)


def make_headline(facts: Sequence[Statement]) -> str:
    """Write the headline of the statements of `statements_of`."""
    if not facts:
        return said("nothing")
    reached = {fact.subject: fact.number.value_text for fact in facts if fact.verdict == REACHES}
    compared = next((fact for fact in facts if fact.baseline == UNMODIFIED), None)
    if compared is None:
        return (
            f"Unmodified models reach {reached[UNMODIFIED]} accuracy; no map was fitted between "
            f"them."
        )
    best = WITH_ARTICLE.get(compared.subject, METHODS[compared.subject].label)
    ends = {0: "at layer 0, where no layer of the source is run,"}
    reach = "; ".join(
        f"{ends.get(fact.layers[0], 'at the top, without a map,')} they reach "
        f"{fact.number.value_text}"
        for fact in facts
        if fact.verdict == EMPTY
    )
    parts = (
        f"{'Only in part' if compared.verdict == BELOW else 'Yes'}, with a map ({best}): stitched "
        f"at layer {compared.layers[0]}, models reach {reached[compared.subject]} accuracy, "
        f"{BESIDE[compared.verdict]} {reached[UNMODIFIED]} of unmodified ones",
        f"; without a map {reached['identity']}" if "identity" in reached else "",
        f". {reach.capitalize()}" if reach else "",
        f". Stitched models are {compared.number.direction('above', 'below')} unmodified ones",
        f"; {AVERAGE}, which ignores the source model, reaches {reached['lookup']}"
        if "lookup" in reached
        else "",
    )
    return f"{''.join(parts)}."


def make_methods(spec: StitchSpec, sentences: int, labelled: int) -> str:
    """Write the methods paragraph.

    Args:
        spec: The study.
        sentences: Number of unlabelled sentences.
        labelled: Number of labelled sentences.
    """
    return said("methods", sentences=sentences, corpus=spec.corpus, labelled=labelled)
