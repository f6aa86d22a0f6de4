"""Mutual nearest neighbours: ties, the null, the jackknife, blocks and refusals, against slow
loops."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.similarity import neighbours
from core.maths.similarity.neighbours import (
    mutual_neighbours,
    mutual_neighbours_jackknife,
    mutual_neighbours_null,
)
from core.maths.statistics import jackknife_sentences
from tests.core.studies.rsa.references import slow_mutual_neighbours


def _spaces(items: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((items, 5)) + 0.3
    return x, x @ rng.standard_normal((5, 4)) + rng.standard_normal((items, 4))


def test_blocks_of_items_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _spaces(70)
    whole = mutual_neighbours(x, y)
    monkeypatch.setattr(neighbours, "BLOCK", 16)
    assert mutual_neighbours(x, y) == whole == pytest.approx(slow_mutual_neighbours(x, y))


def test_the_jackknife_equals_leaving_groups_out() -> None:
    x, y = _spaces(90)
    sentence = np.random.default_rng(1).integers(0, 12, 90)
    fast = mutual_neighbours_jackknife(x, y, sentence, 4, np.random.default_rng(2))
    left = list(jackknife_sentences(sentence, 4, np.random.default_rng(2)))
    assert max(90 - len(kept) for kept in left) > neighbours.NEIGHBOURS
    assert fast == pytest.approx([slow_mutual_neighbours(x[kept], y[kept]) for kept in left])


def test_a_replicate_needs_twelve_items() -> None:
    x, y = _spaces(20)
    sentence = np.repeat([0, 1, 2], [12, 5, 3])
    fast = mutual_neighbours_jackknife(x, y, sentence, 3, np.random.default_rng(0))
    assert sorted(np.isnan(fast)) == [False, False, True]


def test_the_null_is_the_measure_on_shuffled_items_and_near_its_expectation() -> None:
    x, y = _spaces(400)
    orders = np.array([np.random.default_rng(seed).permutation(400) for seed in range(20)])
    null = mutual_neighbours_null(x, y, orders)
    assert null[:3] == pytest.approx([mutual_neighbours(x, y[order]) for order in orders[:3]])
    assert float(null.mean()) == pytest.approx(10 / 399, abs=0.003)


def _repeated() -> tuple[np.ndarray, np.ndarray]:
    """Thirty words, each four times: an item's three copies are equally close, and so are those of
    every other word."""
    kinds = np.random.default_rng(3).permutation(np.repeat(np.arange(30), 4))
    x, y = _spaces(30)
    return x[kinds], y[kinds]


def test_ties_share_the_places_that_are_left() -> None:
    x, y = _repeated()
    assert mutual_neighbours(x, y) == pytest.approx(slow_mutual_neighbours(x, y))
    assert mutual_neighbours(x, 7.0 * x) == 1.0
    turned = x @ np.linalg.qr(np.random.default_rng(4).standard_normal((5, 5)))[0]
    assert mutual_neighbours(x, turned) == pytest.approx(1.0), "rounding does not break ties"
    assert 3 / 10 <= mutual_neighbours(x, y) < 1.0, "copies are neighbours in every space"


def test_the_order_of_items_has_no_effect_on_ties() -> None:
    x, y = _repeated()
    order = np.random.default_rng(5).permutation(120)
    assert mutual_neighbours(x[order], y[order]) == pytest.approx(mutual_neighbours(x, y))
    assert mutual_neighbours_null(x, y, order[None]) == pytest.approx(
        [mutual_neighbours(x, y[order])]
    )


@pytest.mark.slow
def test_ties_in_the_jackknife() -> None:
    x, y = _repeated()
    sentence = np.random.default_rng(6).integers(0, 20, 120)
    fast = mutual_neighbours_jackknife(x, y, sentence, 6, np.random.default_rng(2))
    left = jackknife_sentences(sentence, 6, np.random.default_rng(2))
    assert fast == pytest.approx([slow_mutual_neighbours(x[kept], y[kept]) for kept in left])


@pytest.mark.exhaustive
@pytest.mark.slow
def test_independent_codes_exceed_chance_as_often_as_they_should() -> None:
    """One-hot codes of ten kinds, drawn independently: all neighbours are ties."""
    above = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        x, y = np.eye(10)[rng.integers(0, 10, (2, 200))]
        null = mutual_neighbours_null(x, y, np.array([rng.permutation(200) for _ in range(100)]))
        above += mutual_neighbours(x, y) > np.quantile(null, 0.975)
    assert above / 120 < 0.08


def test_too_many_ties_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MOST_TIED", 1_000)
    x = np.eye(3)[np.arange(90) % 3]
    with pytest.raises(ShapeError, match="90 items cannot be told apart"):
        mutual_neighbours(x, x)


def test_refusals() -> None:
    x, y = _spaces(11)
    with pytest.raises(ShapeError, match="12 items, got 11"):
        mutual_neighbours(x, y)
    flat = np.outer(np.arange(1.0, 31.0), [1.0, 2.0])
    replicates = mutual_neighbours_jackknife(flat, flat, np.arange(30), 5, np.random.default_rng(0))
    assert np.isnan(mutual_neighbours(flat, flat)), "one direction has no nearest neighbours"
    assert np.isnan(replicates).all()
    assert np.isnan(mutual_neighbours_null(flat, flat, np.arange(30)[None])).all()
