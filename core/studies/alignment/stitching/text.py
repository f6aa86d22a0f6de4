"""Statements, headline and methods of the stitching study."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.statements import EQUAL, verdict_on
from core.studies.alignment.seeds.text import named
from core.studies.alignment.stitching.spec import StitchSpec
from core.studies.text_kit import Estimate, Statement, estimate_of, listed, words_beside

said = words_beside(__file__).sentence
UNMODIFIED, LOOKUP, AT_LAYER_0 = "unmodified models", "lookup", "layer 0"
REACHES = "reaches"
BELOW, ABOVE = "below", "above"
RIVALS = {  # not beaten, they explain the accuracy without the source's layers
    AT_LAYER_0: "at layer 0, where no layer of the source is run",
    LOOKUP: "with a per-subword average, which ignores the source model",
}
BASELINES = {AT_LAYER_0: "layer 0", LOOKUP: "a per-subword average that ignores the source"}
MORE = {EQUAL: "not detectably more than", BELOW: "less than"}
BESIDE = {EQUAL: "not detectably different from", ABOVE: "above", BELOW: "below"}


def statements_of(
    means: pd.DataFrame, differences: pd.DataFrame, unmodified: float
) -> tuple[Statement, ...]:
    """State what stitched models reach at the middle layer, first by the best map, and how far that
    is from each baseline, `unmodified` accuracy among them; without a map also at the top. Empty
    where no pair was stitched."""
    if means.empty:
        return ()
    top = int(means["layer"].max())
    middle = top // 2
    rows = means.set_index(["method", "layer"])
    maps = [name for name in dict.fromkeys(means["method"]) if METHODS[name].kind != "control"]
    best = max(maps, key=lambda name: float(rows.loc[(name, middle), "accuracy"]), default="")
    shown = ((best, middle), ("identity", middle), ("identity", top))
    facts = [
        Statement(name, REACHES, estimate_of(rows.loc[(name, layer)], "accuracy"), (layer,))
        for name, layer in shown
        if (name, layer) in rows.index
    ]
    facts.append(Statement(UNMODIFIED, REACHES, Estimate(unmodified, kind="per cent")))
    apart = differences[(differences["method"] == best) & (differences["layer"] == middle)]
    facts += [
        verdict_on(best, row, (ABOVE, BELOW), (middle,), row["baseline"])
        for row in apart.to_dict("records")
    ]
    return tuple(facts)


def make_headline(facts: Sequence[Statement]) -> str:
    """Write the headline of the statements of `statements_of`."""
    if not facts:
        return ""
    reached = {
        (fact.subject, *fact.layers): fact.number.value_text
        for fact in facts
        if fact.verdict == REACHES
    }
    compared = {fact.baseline: fact for fact in facts if fact.baseline}
    whole = reached[UNMODIFIED,]
    if not compared:
        return f"Unmodified models reach {whole} accuracy; no map was fitted between them."
    best, layer = facts[0].subject, facts[0].layers[0]
    unbeaten = [name for name in RIVALS if name not in compared or compared[name].verdict != ABOVE]
    beside = compared[UNMODIFIED].verdict
    if not unbeaten:
        answer = "Only in part" if beside == BELOW else "Yes"
        comparison = f"{BESIDE[beside]} unmodified ones"
    elif unbeaten[0] in compared:
        answer = "Not shown"
        comparison = f"{MORE[compared[unbeaten[0]].verdict]} {RIVALS[unbeaten[0]]}"
    else:
        answer, comparison = "Not shown", "and no per-subword average was fitted for comparison"
    baselines = BASELINES | {UNMODIFIED: f"unmodified models ({whole})"}
    apart = [
        f"{compared[name].number.direction('above', 'below')} {text}"
        for name, text in baselines.items()
        if name in compared
    ]
    bare = [
        f"{number} at layer {at[0]}"
        for (name, *at), number in reached.items()
        if name == "identity"
    ]
    parts = (
        f"{answer}: stitched at layer {layer} ({named(best)}), models reach {reached[best, layer]} "
        f"accuracy, {comparison}.",
        f"Accuracy is {listed(apart)}.",
        f"Without a map they reach {listed(bare)}." if bare else "",
    )
    return " ".join(filter(None, parts))


def make_methods(spec: StitchSpec, sentences: int, labelled: int) -> str:
    """Write the methods paragraph; counts are of unlabelled and of labelled sentences."""
    return said("methods", sentences=sentences, corpus=spec.corpus, labelled=labelled)
