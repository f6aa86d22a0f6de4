"""Task arithmetic in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.studies.text_kit import (
    Estimate,
    Statement,
    counted,
    estimate_of,
    listed,
    short_names,
    text_of,
    words_beside,
)
from core.studies.weights.arithmetic.spec import ALONE, SCALES, TOGETHER, ArithmeticSpec

said = words_beside(__file__).sentence
HARMED, BEYOND, REACHES, ALIKE = "changed most by", "beyond random", "together reaches", "cosine"
MOST_NAMED = 4


def statements_of(
    table: pd.DataFrame, harms: pd.DataFrame, alike: pd.DataFrame
) -> tuple[Statement, ...]:
    """State the largest harm beyond that of a random update, one whose interval excludes 0 where
    there is any, the scores of the best common sum, and the most similar changes."""
    clear = harms[harms["score_excess_high"] < 0]
    candidates = (clear if len(clear) else harms).sort_values("score_excess", kind="stable")
    worst = candidates.head(1).to_dict("records")
    nearest = alike.sort_values("cosine", ascending=False, kind="stable").head(1).to_dict("records")
    return (
        *(
            Statement(
                row["model"], verdict, estimate_of(row, column), (), row["added"], row["metric"]
            )
            for row in worst
            for verdict, column in ((HARMED, "score_change"), (BEYOND, "score_excess"))
        ),
        *(
            Statement(
                str(row["model"]), REACHES, estimate_of(row, "score"), metric=str(row["metric"]),
                baseline=text_of(float(row["scale"]), "share"),
            )
            for row in best_common(table).to_dict("records")
        ),
        *(
            Statement(row["model"], ALIKE, Estimate(row["cosine"]), baseline=row["other"])
            for row in nearest
        ),
    )  # fmt: skip


def best_common(table: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of the common factor with the highest mean share of the scores alone."""
    alone = table[(table["way"] == ALONE) & (table["scale"] == 1)].set_index("model")["score"]
    rows = table[table["way"] == TOGETHER]
    if rows.empty:
        return rows
    shares = (rows["score"] / rows["model"].map(alone)).groupby(rows["scale"]).mean()
    return rows[rows["scale"] == shares.idxmax()]


def make_headline(statements: Sequence[Statement], table: pd.DataFrame, alike: pd.DataFrame) -> str:
    """Say which change harms which task most, what the sum of all reaches, and how alike changes
    are."""
    refs = dict.fromkeys([*table["model"], *table["added"], *alike["model"], *alike["other"]])
    names = short_names(ref for ref in refs if ref)
    facts = {each.verdict: each for each in statements if each.verdict != REACHES}
    common = [each for each in statements if each.verdict == REACHES]
    alone = table[(table["way"] == ALONE) & (table["scale"] == 1)].set_index("model")["score"]
    parts = (
        _harm(facts[HARMED], facts[BEYOND], names) if HARMED in facts else "",
        said("common", factor=common[0].baseline, scores=listed([
            f"{names[each.subject]} {each.number.value_text} of "
            f"{text_of(float(alone[each.subject]), 'share')} ({each.metric})"
            for each in common
        ], MOST_NAMED)) if common else "",
        said(
            "alike",
            first=names[facts[ALIKE].subject],
            second=names[facts[ALIKE].baseline],
            cosine=facts[ALIKE].number.value_text,
            conflict=text_of(float(alike.loc[alike["cosine"].idxmax(), "conflict"]), "per cent"),
        ) if ALIKE in facts else "",
    )  # fmt: skip
    return " ".join(filter(None, parts))


def _harm(change: Statement, beyond: Statement, names: Mapping[str, str]) -> str:
    """Say what the most harmful change does to another task, beside a random one."""
    whose, task = names[change.baseline], f"the {change.metric} of {names[change.subject]}"
    if beyond.number.high < 0:
        return (
            f"Not without harm: with {whose}'s change added, {task} falls by {change.number.size}, "
            f"{beyond.number.size} more than with a random one of equal norm and spectrum."
        )
    return (
        "No change harms another task detectably more than a random one of equal norm and "
        f"spectrum. With {whose}'s change, {task} is {change.number.direction('higher', 'lower')}, "
        f"{beyond.number.direction('above', 'below')} the random change."
    )


def make_methods(spec: ArithmeticSpec, scored: Sequence[str]) -> str:
    """Write a methods paragraph, ready to paste."""
    return said(
        "methods",
        base=spec.base,
        scored=counted(len(scored), "fine-tune"),
        lowest=text_of(min(SCALES), "whole"),
        highest=text_of(max(SCALES), "whole"),
        randoms=spec.randoms,
    )
