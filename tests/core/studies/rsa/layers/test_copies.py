"""A copy never differs, and nothing is said where chance level reaches 1: every measure, with fewer
items than dimensions, as many, and more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import Score, calibrate, score
from core.studies.rsa.layers.differences import (
    CHANGED_MOST,
    COMPARED,
    DIFFERS,
    MAY_DIFFER,
    SATURATED,
    differing_layers,
    function_statements,
    statements_of,
    text_differences,
    uncertain_layers,
)
from core.studies.rsa.layers.notice_text import saturation_notices
from core.studies.rsa.layers.text import make_headline

WIDTH = 24
ITEMS = (WIDTH - 6, WIDTH, WIDTH + 1, WIDTH + 6, 4 * WIDTH)


def scored(measure: str, items: int, *, copy: bool, seed: int) -> Score:
    """One space against itself, in another order of the same arithmetic, or against another."""
    rng = np.random.default_rng(seed)
    sentence = np.arange(items) // 3
    x = rng.standard_normal((items, WIDTH)) + rng.standard_normal((items, WIDTH))[sentence]
    y = x * (1.0 + 1e-15) if copy else rng.standard_normal((items, WIDTH))
    return score(x, y, sentence, rng, measure)


def table(*layers: Score) -> pd.DataFrame:
    rows = [vars(layer) | {"model": "zoo:m", "layer": at} for at, layer in enumerate(layers)]
    return pd.DataFrame(rows).assign(relative_change=np.nan, apart=np.nan, scaled=1.0, runs=1)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("items", ITEMS)
def test_a_copy_never_differs(measure: str, items: int) -> None:
    rows = table(*(scored(measure, items, copy=True, seed=seed) for seed in range(6)))
    verdicts = {each.verdict for each in statements_of(rows, pd.DataFrame(), "zoo:base")}
    assert not verdicts & {DIFFERS, MAY_DIFFER}
    assert differing_layers(rows) == uncertain_layers(rows) == []
    assert function_statements(rows, "zoo:base") == ()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("items", ITEMS)
def test_no_verdict_where_the_notice_calls_numbers_meaningless(measure: str, items: int) -> None:
    rows = table(*(scored(measure, items, copy=False, seed=seed) for seed in range(4)))
    value = {
        "items": items,
        "d_model": WIDTH,
        "null_high": rows["null_high"].to_numpy(),
    }
    statements = (
        *statements_of(rows, pd.DataFrame(), "zoo:base"),
        *function_statements(rows, "zoo:base"),
    )
    verdicts = {each.verdict for each in statements}
    headline = make_headline(statements, "measure")
    if saturation_notices(measure, [value]):
        assert verdicts == {SATURATED}
        assert "unrelated spaces score 1" in headline
        assert not any(mark in headline for mark in ("[", ".9", "lowest", "differs"))
    else:
        assert COMPARED in verdicts
        assert CHANGED_MOST in verdicts
        assert "unrelated spaces score 1" not in headline


def test_nothing_is_said_of_a_model_with_a_saturated_layer() -> None:
    full, fine = Score(1.0, 1.0, 1.0 - 1e-16, 1.0, 1.0), Score(0.5, 0.45, 0.55, 0.0, 0.1)
    rows = pd.concat([table(full, fine), table(fine, fine).assign(model="zoo:n")])
    assert differing_layers(rows[rows["model"] == "zoo:m"]) == []
    statements = statements_of(rows, pd.DataFrame(), "zoo:base")
    assert {each.subject for each in statements if each.verdict == DIFFERS} == {"zoo:n"}
    assert [each.subject for each in statements if each.verdict == SATURATED] == ["zoo:m"]
    assert {each.subject for each in function_statements(rows, "zoo:base")} == {"zoo:n"}
    twice = pd.concat([rows.assign(corpus="a"), rows.assign(corpus="b")])
    assert set(text_differences(twice)["model"]) == {"zoo:n"}
    assert np.isnan(calibrate(1.0, 1.0, 1.0, 1.0 - 1e-9)["calibrated"])
