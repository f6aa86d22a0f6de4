"""Influence on RSA: the sums with an item's row taken out against RSA computed again without it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from core.errors import ShapeError, SpecError
from core.maths.similarity import influence
from core.maths.similarity.influence import influences, without_influential
from core.maths.similarity.kernels import KERNELS
from tests.core.studies.rsa.references import slow_pairs, slow_rsa


def _spaces(items: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((items, 4)) + 0.5
    return x, x @ rng.standard_normal((4, 5)) + rng.standard_normal((items, 5))


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_leaving_each_item_out(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _spaces(20)
    slow = [
        slow_rsa(x, y, kernel) - slow_rsa(np.delete(x, i, 0), np.delete(y, i, 0), kernel)
        for i in range(20)
    ]
    assert influences(x, y, kernel) == pytest.approx(slow, abs=1e-9)
    monkeypatch.setattr(influence, "BLOCK", 8)
    assert influences(x, y, kernel) == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("comparison", ["spearman", "rho-a"])
def test_rank_comparisons_keep_the_ranks_of_all_items(comparison: str) -> None:
    x, y = _spaces(15)
    k, l = (rankdata(slow_pairs(space)) for space in (x, y))  # noqa: E741
    pairs = list(itertools.combinations(range(15), 2))
    slow = []
    for i in range(15):
        kept = [i not in pair for pair in pairs]
        slow.append(np.corrcoef(k, l)[0, 1] - np.corrcoef(k[kept], l[kept])[0, 1])
    assert influences(x, y, "cosine", comparison) == pytest.approx(slow, abs=1e-9)


def test_the_most_influential_items_are_dropped_in_both_directions() -> None:
    """Without words that carry a likeness the rest is unlike; a word that disturbs one goes too."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 300, 30))
    x[:3], y[:3] = 1.0 + 0.01 * x[:3], 1.0 + 0.01 * y[:3]
    kept = without_influential(x, y, 1.0)
    assert sorted(set(range(300)) - set(kept.tolist())) == [0, 1, 2]
    x, y = _spaces(200)
    y[7] = -6.0 * y[7]
    assert influences(x, y)[7] < 0
    assert 7 not in without_influential(x, y, 0.5)
    assert len(without_influential(x, y, 0.1)) == 199, "rounded up to whole words"
    assert np.array_equal(without_influential(x, y, 0.0), np.arange(200))


def test_spaces_that_do_not_vary_and_refusals() -> None:
    x, y = _spaces(12)
    assert np.isnan(influences(np.ones((12, 4)), y)).all()
    assert len(without_influential(np.ones((12, 4)), y, 10.0)) == 10
    with pytest.raises(ShapeError, match="4 items, got 3"):
        influences(x[:3], y[:3])
    with pytest.raises(SpecError, match="kendall"):
        influences(x, y, "cosine", "kendall")
