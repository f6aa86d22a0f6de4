"""What the attention study states: heads compared with random matching, where their like is, the
best output map."""

from __future__ import annotations

import pandas as pd
import pytest

from extras.alignment.attention.text import (
    ABOVE_CHANCE,
    HIGHEST,
    LOWEST,
    SAME_LAYER,
    TOO_FEW,
    WITHIN_CHANCE,
    make_headline,
    statements_of,
)

OUTPUTS = pd.DataFrame(
    [(1, "ridge", 0.6), (2, "ridge", 0.8), (1, "lookup", 0.9), (2, "lookup", 0.9), (1, "ols", 0.9)],
    columns=["layer", "method", "nmse"],
)
NO_OUTPUTS = pd.DataFrame(columns=OUTPUTS.columns)  # as where every map was refused


def heads(first: float, second: float, count: int = 6) -> pd.DataFrame:
    """Two layers, matched heads of one correlation each, random matching up to .5."""
    rows = [
        (layer, head, value, 0.1, 0.5)
        for layer, value in ((1, first), (2, second))
        for head in range(count)
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "correlation", "null_low", "null_high"])


def matrix(*cells: tuple[int, int, float]) -> pd.DataFrame:
    """Correlations of one head a layer: source layer, target layer, correlation."""
    rows = [(source, 0, target, 0, value) for source, target, value in cells]
    return pd.DataFrame(
        rows, columns=["source_layer", "source_head", "target_layer", "target_head", "correlation"]
    )


@pytest.mark.parametrize(
    ("first", "second", "count", "verdict", "layers"),
    [
        (0.6, 0.4, 6, ABOVE_CHANCE, (1,)),
        (0.6, 0.7, 6, ABOVE_CHANCE, (1, 2)),
        (0.5, 0.4, 6, WITHIN_CHANCE, ()),
        (0.9, 0.9, 4, TOO_FEW, ()),  # the best of 24 matchings is in the upper 2.5 % of none
    ],
)
def test_heads_are_compared_with_random_matching(
    first: float, second: float, count: int, verdict: str, layers: tuple[int, ...]
) -> None:
    facts = statements_of(heads(first, second, count), NO_OUTPUTS, matrix())
    highest, compared = facts
    assert highest.verdict == HIGHEST
    assert highest.estimate.value == pytest.approx(max(first, second))
    assert highest.layers == ((1,) if first >= second else (2,))
    assert (compared.verdict, compared.layers) == (verdict, layers)
    said = make_headline(facts, 2, count)
    assert all(fact.named_in(said) for fact in facts)
    assert "on average at the best layer" in said


def test_where_the_most_similar_head_is_and_which_map_is_best() -> None:
    cells = matrix((1, 1, 0.9), (1, 2, 0.3), (2, 1, 0.8), (2, 2, 0.2))
    facts = statements_of(heads(0.6, 0.4), OUTPUTS, cells)
    said = {(fact.subject, fact.verdict): fact for fact in facts}
    same = said["matched heads", SAME_LAYER]
    assert (same.estimate.value, same.baseline) == (0.5, "50 %")
    assert said["ridge", LOWEST].estimate.value == pytest.approx(0.7)
    assert said["lookup", LOWEST].estimate.value == pytest.approx(0.9)
    assert ("ols", LOWEST) not in said
    assert all(fact.named_in(make_headline(facts, 2, 6)) for fact in facts)


def test_without_a_pair_nothing_is_stated() -> None:
    assert statements_of(heads(0.1, 0.1, 0), OUTPUTS, matrix()) == ()
