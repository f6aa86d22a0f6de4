"""Task arithmetic in sentences: statements, headline and methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

NOTHING = words_beside(__file__).sentence("nothing")
HARMED, BEYOND, REACHES, ALIKE = "changed most by", "beyond random", "together reaches", "cosine"
MOST_NAMED = 4


def statements_of(
    table: pd.DataFrame, harms: pd.DataFrame, alike: pd.DataFrame
) -> tuple[Statement, ...]:
    """State the largest harm beyond that of a random update, the scores of the best common sum,
    and the most similar changes.

    Args:
        table, harms, alike: Of the result.
    """
    statements = []
    if len(harms):
        worst = harms.loc[harms["score_excess"].idxmin()]
        about: dict[str, Any] = {"baseline": str(worst["added"]), "metric": str(worst["metric"])}
        model = str(worst["model"])
        for verdict, column in ((HARMED, "score_change"), (BEYOND, "score_excess")):
            statements.append(Statement(model, verdict, estimate_of(worst, column), **about))
    statements += [
        Statement(
            str(row["model"]), REACHES, estimate_of(row, "score"), metric=str(row["metric"]),
            baseline=text_of(float(row["scale"]), "share"),
        )
        for row in best_common(table).to_dict("records")
    ]  # fmt: skip
    if len(alike):
        nearest = alike.loc[alike["cosine"].idxmax()]
        estimate = Estimate(float(nearest["cosine"]))
        statements.append(
            Statement(str(nearest["model"]), ALIKE, estimate, baseline=str(nearest["other"]))
        )
    return tuple(statements)


def best_common(table: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of the common factor with the highest mean share of the scores alone."""
    alone = table[(table["way"] == ALONE) & (table["scale"] == 1)].set_index("model")["score"]
    rows = table[table["way"] == TOGETHER]
    if rows.empty:
        return rows
    kept = (rows["score"] / rows["model"].map(alone)).groupby(rows["scale"]).mean()
    return rows[rows["scale"] == kept.idxmax()]


def make_headline(statements: Sequence[Statement], table: pd.DataFrame, alike: pd.DataFrame) -> str:
    """Say which change harms which task most, what the sum of all reaches, and how alike changes
    are.

    Args:
        statements: See `statements_of`.
        table, alike: As there.
    """
    refs = dict.fromkeys([*table["model"], *table["added"], *alike["model"], *alike["other"]])
    names = short_names(ref for ref in refs if ref)
    parts = []
    change, beyond = (
        next((each for each in statements if each.verdict == verdict), None)
        for verdict in (HARMED, BEYOND)
    )
    if change is not None and beyond is not None:
        whose = f"{names[change.baseline]}'s change"
        if beyond.number.high < 0:
            parts.append(
                f"Not without harm: with {whose} added, the {change.metric} of "
                f"{names[change.subject]} falls by {change.number.size}, {beyond.number.size} "
                "more than with a random one of equal norm and spectrum."
            )
        else:
            parts.append(
                "No change harms another task detectably more than a random one of equal norm "
                f"and spectrum. With {whose}, the {change.metric} of {names[change.subject]} is "
                f"{change.number.direction('higher', 'lower')}, "
                f"{beyond.number.direction('above', 'below')} the random change."
            )
    common = [each for each in statements if each.verdict == REACHES]
    if common:
        alone = table[(table["way"] == ALONE) & (table["scale"] == 1)].set_index("model")["score"]
        scores = listed([
            f"{names[each.subject]} {each.number.value_text} of "
            f"{text_of(float(alone[each.subject]), 'share')} ({each.metric})"
            for each in common
        ], MOST_NAMED)  # fmt: skip
        parts.append(
            f"The sum of all changes, each times {common[0].baseline}, reaches {scores} of what "
            "they score alone."
        )
    pair = next((each for each in statements if each.verdict == ALIKE), None)
    if pair is not None:
        row = alike.set_index(["model", "other"]).loc[(pair.subject, pair.baseline)]
        parts.append(
            f"The changes of {names[pair.subject]} and {names[pair.baseline]} are most alike: "
            f"cosine {pair.number.value_text}, with "
            f"{text_of(float(row['conflict']), 'per cent')} of signs in conflict (chance 50 %)."
        )
    return " ".join(parts) or NOTHING


def make_methods(spec: ArithmeticSpec, scored: Sequence[str]) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        scored: Models that were scored.
    """
    lowest, highest = (text_of(end, "whole") for end in (min(SCALES), max(SCALES)))
    return (
        "A task vector is the change of a fine-tune's weights from those of "
        f"{spec.base} (Ilharco et al. 2023). {counted(len(scored), 'fine-tune')} were scored with "
        f"their heads: on the base plus the vector times {lowest} to {highest}, with another's "
        "vector added and subtracted, and on the sum of all vectors times a common factor. The "
        f"rival replaces the others' vectors by {spec.randoms} random rotations of them, weight by "
        "weight, which keep norm and singular values. Cosines and signs in conflict (Yadav et al. "
        "2023) are of attention and feed-forward matrices; the cosine of whole vectors is that of "
        "all matrices together, not a mean over layers. Intervals are 95 % intervals over "
        "sentences, and over "
        "random updates by Student's t."
    )
