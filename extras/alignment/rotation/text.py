"""Statements, headline and methods of the test of rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.studies.alignment.seeds.tables import OVERALL
from core.studies.text_kit import (
    Estimate,
    Statement,
    estimate_of,
    listed,
    short_names,
    text_of,
    words_beside,
)
from extras.alignment.rotation.spec import RotationSpec
from extras.alignment.rotation.tasks import LINEAR, MAPS, ROTATION

LEAVES, IN_SAMPLE = "leaves unexplained", "leaves unexplained in-sample"
NOT_ROTATIONS, MAYBE_ROTATIONS = "no rotations of each other", "no detectable difference"
SPECTRUM = "singular values of ridge"
PLANTED = "planted rotation"
HIGH, LOW = 90, 10  # percentiles of the singular values that are compared
UNEVEN = f"{HIGH}th over {LOW}th percentile"
said = words_beside(__file__).sentence


def statements_of(
    errors: pd.DataFrame, gaps: pd.DataFrame, spectra: pd.DataFrame
) -> tuple[Statement, ...]:
    """State whether a linear map predicts more than a rotation with one scale, the errors of both,
    the rotation's in-sample error at the first and the last layer, and how uneven the linear map's
    singular values are; empty without a pair."""
    if errors.empty:
        return ()
    tested = errors[(errors["split"] == "test") & (errors["layer"] == OVERALL)].set_index("method")
    inside = errors[(errors["split"] == "train") & (errors["method"] == ROTATION)]
    by_layer = inside[inside["layer"] != OVERALL].set_index("layer")["nmse"]
    ends = dict.fromkeys((int(by_layer.index.min()), int(by_layer.index.max())))
    return (
        _verdict(gaps.set_index("layer").loc[OVERALL]),
        *(
            Statement(name, LEAVES, estimate_of(tested.loc[name], "nmse", "per cent"))
            for name in (ROTATION, LINEAR)
        ),
        *(
            Statement(ROTATION, IN_SAMPLE, Estimate(float(by_layer[end]), kind="per cent"), (end,))
            for end in ends
        ),
        *(
            Statement(name, UNEVEN, Estimate(_unevenness(spectra, column), kind="amount"))
            for name, column in ((SPECTRUM, "singular_value"), (PLANTED, "planted"))
        ),
    )


def _verdict(gap: pd.Series) -> Statement:
    """State that models are no rotations of each other where ridge predicts more, with 95 %
    confidence and more than where a rotation was planted."""
    points = Estimate(100 * gap["difference"], 100 * gap["low"], 100 * gap["high"], kind="gain")
    more = points.low > max(0.0, 100 * gap["planted_high"])
    return Statement(LINEAR, NOT_ROTATIONS if more else MAYBE_ROTATIONS, points, (), ROTATION)


def _unevenness(spectra: pd.DataFrame, column: str) -> float:
    """Average the ratio of two percentiles of the singular values over layers."""
    ends = [np.percentile(rows[column], (HIGH, LOW)) for _, rows in spectra.groupby("layer")]
    return float(np.exp(np.mean(np.log([high / max(low, 1e-12) for high, low in ends]))))


def make_headline(
    spec: RotationSpec, facts: Sequence[Statement], planted: Estimate | None = None
) -> str:
    """Answer whether the spaces are rotations of each other; `planted` is the difference of the
    errors, in points, where a rotation was planted."""
    if not facts or planted is None:
        return said("no_pair")
    gap, rotation, linear = (fact.number for fact in facts[:3])
    seen, control = (fact.number for fact in facts[-2:])
    names = list(short_names(spec.models).values())
    who = listed(names) if len(names) == 2 else f"The {len(names)} models"
    rows = "unseen words" if spec.split == "word" else "held-out sentences"
    answer = (
        f"{who} are not rotations of each other"
        if facts[0].verdict == NOT_ROTATIONS
        else f"{who} are not detectably different from rotations of each other"
    )
    learnt = listed(
        [
            f"{fact.number.value_text} at layer {fact.layers[0]}"
            for fact in facts
            if fact.verdict == IN_SAMPLE
        ]
    )
    return (
        f"{answer}: on {rows}, a scaled rotation leaves {rotation.value_text} of the variance "
        f"unexplained, a linear map {linear.value_text}. The linear map (ridge: {linear.text}; "
        f"rotation: {rotation.text}) leaves {gap.direction('less', 'more')}. "
        "In a control, where one space is a noisy rotation of the other by construction, it leaves "
        f"{planted.direction('less', 'more')}. On training rows the rotation leaves {learnt}. "
        f"The {HIGH}th percentile of the linear map's singular values is {seen.value_text} times "
        f"the {LOW}th, {control.value_text} times in the control."
    )


def planted_gap(gaps: pd.DataFrame) -> Estimate | None:
    """Give the mean difference of the errors over layers where a rotation was planted, in points;
    None without a pair."""
    planted = gaps.loc[gaps["layer"] == OVERALL, "planted"]
    return Estimate(100 * float(planted.iloc[0]), kind="gain") if len(planted) else None


def make_methods(spec: RotationSpec, sentences: int) -> str:
    """Write the methods paragraph."""
    maps = {
        "procrustes": "an orthogonal map",
        ROTATION: "an orthogonal map with one scale",
        LINEAR: "ridge regression with a penalty chosen on validation rows",
        "ols": "least squares",
    }
    return said(
        "methods",
        sentences=sentences,
        corpus=spec.corpus,
        split=spec.split,
        maps=", ".join(maps[name] for name in MAPS),
        draws=text_of(float(spec.draws), "whole"),
    )
