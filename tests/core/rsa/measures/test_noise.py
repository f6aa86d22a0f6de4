"""Bands and nulls: the weighted formulas against explicit resampling, one draw at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.rsa.measures import canonical, cka, matching, rdm
from core.rsa.measures.registry import MEASURES, Options, compare, get_measure
from core.rsa.measures.scoring import JACKKNIFE_GROUPS, NULL_DRAWS, null_draws, score
from core.statistics import average_ranks, jackknife_sentences, sentence_counts
from tests.core.rsa.references import slow_compare, slow_kernel

SENTENCE = np.array(
    [4, 4, 1, 1, 1, 9, 2, 2, 7, 7, 7, 7]
)  # out of order: the code must not rely on it
DRAWS = 6


@pytest.fixture(name="spaces")
def _spaces() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 4)) + 0.5
    return x, x @ rng.standard_normal((4, 5)) + rng.standard_normal((12, 5))


def _resamples() -> list[np.ndarray]:
    """Items of each draw, from the counts that the code is given."""
    _, labels = np.unique(SENTENCE, return_inverse=True)
    return [np.repeat(np.arange(12), row[labels]) for row in _counts()]


def _counts() -> np.ndarray:
    return sentence_counts(5, DRAWS, np.random.default_rng(1))


@pytest.mark.parametrize("kernel", ["cosine", "correlation", "euclidean"])
def test_rsa_draws_against_resampling(spaces: tuple[np.ndarray, np.ndarray], kernel: str) -> None:
    x, y = spaces
    fast = rdm.rsa_draws(x, y, SENTENCE, _counts(), kernel, "pearson")
    for value, items in zip(fast, _resamples(), strict=True):
        k, l = [], []  # noqa: E741
        for i, j in itertools.combinations(items, 2):
            if i != j:  # an item and its own copy say nothing
                k.append(slow_kernel(x[i], x[j], kernel))
                l.append(slow_kernel(y[i], y[j], kernel))
        assert value == pytest.approx(slow_compare(k, l), abs=1e-9)


@pytest.mark.parametrize("comparison", ["spearman", "rho-a"])
def test_rank_draws_against_resampling_fixed_ranks(
    spaces: tuple[np.ndarray, np.ndarray], comparison: str
) -> None:
    x, y = spaces
    pairs = list(itertools.combinations(range(12), 2))
    ranks_x = dict(
        zip(
            pairs, average_ranks([slow_kernel(x[i], x[j], "cosine") for i, j in pairs]), strict=True
        )
    )
    ranks_y = dict(
        zip(
            pairs, average_ranks([slow_kernel(y[i], y[j], "cosine") for i, j in pairs]), strict=True
        )
    )
    fast = rdm.rsa_draws(x, y, SENTENCE, _counts(), "cosine", comparison)
    for value, items in zip(fast, _resamples(), strict=True):
        drawn = [
            tuple(sorted(pair))
            for pair in itertools.combinations(items.tolist(), 2)
            if pair[0] != pair[1]
        ]
        k, l = (  # noqa: E741
            np.array([ranks_x[pair] for pair in drawn]),
            np.array([ranks_y[pair] for pair in drawn]),
        )
        expected = np.corrcoef(k, l)[0, 1]
        if comparison == "rho-a":
            expected = 12 * np.mean((k - k.mean()) * (l - l.mean())) / (len(pairs) ** 2 - 1)
        assert value == pytest.approx(expected, abs=1e-9)


def test_biased_cka_draws_against_resampling(spaces: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = spaces

    def hsic(a: np.ndarray, b: np.ndarray, items: np.ndarray) -> float:
        a, b = a[items] - a[items].mean(axis=0), b[items] - b[items].mean(axis=0)
        k, l = a @ a.T, b @ b.T  # noqa: E741
        total = 0.0
        for p, q in itertools.product(range(len(items)), repeat=2):
            if (
                p == q or items[p] != items[q]
            ):  # a copy meets itself, as in the estimate, but no other copy
                total += k[p, q] * l[p, q]
        return total

    fast = cka.cka_draws(x, y, SENTENCE, _counts(), debiased=False)
    for value, items in zip(fast, _resamples(), strict=True):
        expected = hsic(x, y, items) / np.sqrt(hsic(x, x, items) * hsic(y, y, items))
        assert value == pytest.approx(expected, abs=1e-9)


def test_debiased_cka_draws_against_loops_over_tuples(
    spaces: tuple[np.ndarray, np.ndarray],
) -> None:
    """Means of k_ij l_ij, k_ij l_iq and k_ij l_qr over tuples of different items, weighted by
    copies."""
    x, y = (space[:7] - space[:7].mean(axis=0) for space in spaces)
    sentence = np.array([0, 0, 1, 1, 2, 3, 3])
    counts = np.array([[1, 1, 1, 1], [2, 1, 0, 1], [0, 2, 1, 1], [3, 1, 0, 0]])

    def hsic(k: np.ndarray, l: np.ndarray, w: np.ndarray) -> float:  # noqa: E741
        def mean(size: int, left: tuple[int, int], right: tuple[int, int]) -> float:
            total, weight = 0.0, 0.0
            for index in itertools.permutations(range(7), size):
                product = float(np.prod(w[list(index)]))
                weight += product
                total += (
                    product
                    * k[index[left[0]], index[left[1]]]
                    * l[index[right[0]], index[right[1]]]
                )
            return total / weight

        return mean(2, (0, 1), (0, 1)) - 2 * mean(3, (0, 1), (0, 2)) + mean(4, (0, 1), (2, 3))

    fast = cka.cka_draws(x, y, sentence, counts, debiased=True)
    k, l = x @ x.T, y @ y.T  # noqa: E741
    assert fast[0] == pytest.approx(compare(x, y, "cka-debiased"))
    for value, row in zip(fast, counts, strict=True):
        w = row[sentence].astype(float)
        own = hsic(k, k, w) * hsic(l, l, w)
        assert value == pytest.approx(
            hsic(k, l, w) / np.sqrt(own) if own > 0 else np.nan, abs=1e-9, nan_ok=True
        )


def test_mean_cosine_draws_against_resampling(spaces: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = spaces[0], spaces[1][:, :4]
    fast = matching.mean_cosine_draws(x, y, SENTENCE, _counts())
    for value, items in zip(fast, _resamples(), strict=True):
        assert value == pytest.approx(
            np.mean([slow_kernel(x[i], y[i], "cosine") for i in items]), abs=1e-12
        )


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.draws])
def test_a_draw_with_every_sentence_once_is_the_estimate(
    name: str, spaces: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = spaces[0], spaces[1][:, :4]
    draws = MEASURES[name].draws
    assert draws is not None
    assert draws(x, y, SENTENCE, np.ones((1, 5)))[0] == pytest.approx(compare(x, y, name), abs=1e-9)


@pytest.mark.parametrize("form", ["cca", "pwcca"])
def test_canonical_jackknife_against_leaving_out(form: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((80, 5)) * np.arange(1, 6)
    y = x @ rng.standard_normal((5, 4)) + rng.standard_normal((80, 4))
    sentence = rng.integers(0, 20, 80)
    fast = canonical.canonical_jackknife(x, y, sentence, 10, np.random.default_rng(3), form)
    for value, kept in zip(
        fast, jackknife_sentences(sentence, 10, np.random.default_rng(3)), strict=True
    ):
        assert value == pytest.approx(canonical.canonical(x[kept], y[kept], form), abs=1e-9)


def test_canonical_jackknife_where_the_rest_no_longer_fills_the_space() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 12, 8))
    replicates = canonical.canonical_jackknife(x, y, np.arange(12), 2, rng, "cca")
    assert replicates == pytest.approx([1.0, 1.0], abs=1e-6)
    assert np.isnan(
        canonical.canonical_jackknife(np.ones((12, 8)), y, np.arange(12), 2, rng, "cca")
    ).all()


def test_procrustes_jackknife_against_leaving_out() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 5)) + 2.0
    y = x @ rng.standard_normal((5, 6)) + rng.standard_normal((40, 6))
    sentence = rng.integers(0, 12, 40)
    fast = matching.procrustes_jackknife(x, y, sentence, 6, np.random.default_rng(6))
    for value, kept in zip(
        fast, jackknife_sentences(sentence, 6, np.random.default_rng(6)), strict=True
    ):
        assert value == pytest.approx(matching.procrustes(x[kept], y[kept]), abs=1e-9)


@pytest.mark.parametrize("name", MEASURES)
def test_null_is_the_measure_on_shuffled_items(
    name: str, spaces: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = spaces[0], spaces[1][:, :4]
    orders = np.array([np.random.default_rng(seed).permutation(12) for seed in range(4)])
    null = MEASURES[name].null_of(x, y, orders)
    assert null == pytest.approx(
        [compare(x, y[order], name) for order in orders], abs=1e-6, nan_ok=True
    )


@pytest.mark.parametrize("kernel", ["cosine", "euclidean"])
@pytest.mark.parametrize("comparison", ["pearson", "spearman", "rho-a"])
def test_rsa_null_in_every_form(
    kernel: str, comparison: str, spaces: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = spaces
    orders = np.array([np.random.default_rng(seed).permutation(12) for seed in range(4)])
    options = Options(kernel, comparison)
    null = get_measure("rsa", options).null_of(x, y, orders)
    assert null == pytest.approx(
        [compare(x, y[order], "rsa", options) for order in orders], abs=1e-6
    )


@pytest.mark.parametrize("name", MEASURES)
def test_a_score_lies_in_its_band_and_off_its_null(name: str) -> None:
    rng = np.random.default_rng(7)
    sentence = np.repeat(np.arange(60), 5)
    x = rng.standard_normal((300, 8)) * np.linspace(0.5, 2, 8)
    y = x + 0.4 * rng.standard_normal((300, 8))
    result = score(x, y, sentence, np.random.default_rng(0), name, draws=200)
    assert result.low < result.similarity < result.high
    assert result.null_low < result.null_high < result.low
    assert result == score(x, y, sentence, np.random.default_rng(0), name, draws=200), "seeded"
    shuffled = score(
        x, y[rng.permutation(300)], sentence, np.random.default_rng(0), name, draws=200
    )
    assert shuffled.similarity < result.low


@pytest.mark.parametrize("name", ["rsa", "cka", "cka-debiased", "procrustes", "cca"])
@pytest.mark.slow
def test_bands_hold_the_width_of_fresh_samples(name: str) -> None:
    """The band of one sample is about as wide as the spread of the measure over fresh samples of
    sentences."""
    rng = np.random.default_rng(8)
    transform = np.linalg.qr(rng.standard_normal((6, 6)))[0]

    def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sentence = np.repeat(np.arange(80), 4)
        x = rng.standard_normal((80, 6))[sentence] + rng.standard_normal((320, 6)) * np.linspace(
            0.5, 2, 6
        )
        return x, x @ transform + 0.7 * rng.standard_normal((320, 6)), sentence

    fresh = np.std([compare(*sample()[:2], name) for _ in range(200)])
    widths = []
    for _ in range(10):
        result = score(*sample(), rng, name, draws=200)
        widths.append((result.high - result.low) / (2 * 1.96))
    assert 0.6 < np.mean(widths) / fresh < 1.7


def test_one_sentence_has_no_band_and_a_constant_layer_no_score() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.standard_normal((2, 30, 4))
    for name in ("rsa", "cca"):
        alone = score(x, y, np.zeros(30), rng, name)
        assert np.isnan([alone.low, alone.high]).all()
        assert np.isfinite([alone.similarity, alone.null_low, alone.null_high]).all()
    nothing = score(np.ones((30, 4)), y, np.arange(30), rng)
    assert np.isnan([nothing.similarity, nothing.low, nothing.null_low]).all()


def test_expensive_nulls_get_fewer_draws() -> None:
    assert null_draws(MEASURES["rsa"], 1000, 128, Options()) == NULL_DRAWS
    assert null_draws(MEASURES["cca"], 1000, 768, Options()) == 20
    assert null_draws(MEASURES["rsa"], 5000, 768, Options(comparison="spearman")) == 20
    assert null_draws(MEASURES["cosine"], 5000, 768, Options()) == NULL_DRAWS
    assert JACKKNIFE_GROUPS <= 50
