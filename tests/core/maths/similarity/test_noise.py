"""Bands and nulls: the fast formulas against leaving out and shuffling, one draw at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from core.maths.similarity import canonical, cka, matching, rdm
from core.maths.similarity.registry import MEASURES, Options, compare, get_measure
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, NULL_DRAWS, null_draws, score
from core.maths.statistics import jackknife_sentences
from tests.core.studies.rsa.references import slow_compare, slow_pairs

SENTENCE = np.array(
    [4, 4, 1, 1, 1, 9, 2, 2, 7, 7, 7, 7]
)  # out of order: the code must not rely on it
GROUPS = 4


@pytest.fixture(name="spaces")
def _spaces() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((12, 4)) + 0.5
    return x, x @ rng.standard_normal((4, 5)) + rng.standard_normal((12, 5))


def _left() -> list[np.ndarray]:
    """Items of each replicate, from the groups that the code makes."""
    return list(jackknife_sentences(SENTENCE, GROUPS, np.random.default_rng(1)))


@pytest.mark.parametrize("name", MEASURES)
def test_replicates_are_the_measure_without_each_group(name: str) -> None:
    rng = np.random.default_rng(10)
    x = rng.standard_normal((90, 4)) + 0.5
    y = x @ rng.standard_normal((4, 4)) + rng.standard_normal((90, 4))
    sentence = rng.integers(0, 25, 90)
    fast = MEASURES[name].replicates(x, y, sentence, 10, np.random.default_rng(1))
    left = list(jackknife_sentences(sentence, 10, np.random.default_rng(1)))
    assert fast == pytest.approx([compare(x[kept], y[kept], name) for kept in left], abs=1e-9)


@pytest.mark.parametrize("kernel", ["cosine", "correlation", "euclidean"])
def test_rsa_jackknife_against_loops(spaces: tuple[np.ndarray, np.ndarray], kernel: str) -> None:
    x, y = spaces
    rng = np.random.default_rng(1)
    fast = rdm.rsa_jackknife(x, y, SENTENCE, GROUPS, rng, kernel, "pearson")
    for value, items in zip(fast, _left(), strict=True):
        k, l = slow_pairs(x[items], kernel), slow_pairs(y[items], kernel)  # noqa: E741
        assert value == pytest.approx(slow_compare(k, l), abs=1e-9)


@pytest.mark.parametrize("comparison", ["spearman", "rho-a"])
def test_rank_jackknife_against_fixed_ranks(
    spaces: tuple[np.ndarray, np.ndarray], comparison: str
) -> None:
    pairs = list(itertools.combinations(range(12), 2))
    ranks = [dict(zip(pairs, rankdata(slow_pairs(space)), strict=True)) for space in spaces]
    rng = np.random.default_rng(1)
    fast = rdm.rsa_jackknife(*spaces, SENTENCE, GROUPS, rng, "cosine", comparison)
    for value, items in zip(fast, _left(), strict=True):
        k, l = (  # noqa: E741
            np.array([of[pair] for pair in itertools.combinations(items.tolist(), 2)])
            for of in ranks
        )
        expected = np.corrcoef(k, l)[0, 1]
        if comparison == "rho-a":
            expected = 12 * np.mean((k - k.mean()) * (l - l.mean())) / (len(pairs) ** 2 - 1)
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("debiased", [False, True])
def test_cka_jackknife_of_few_items_and_many_dimensions(debiased: bool) -> None:
    x, y = np.random.default_rng(11).standard_normal((2, 20, 60))
    name = "cka-debiased" if debiased else "cka"
    fast = cka.cka_jackknife(x, y, np.arange(20), 20, np.random.default_rng(1), debiased)
    left = jackknife_sentences(np.arange(20), 20, np.random.default_rng(1))
    assert fast == pytest.approx([compare(x[kept], y[kept], name) for kept in left], abs=1e-9)


@pytest.mark.parametrize("name", MEASURES)
def test_groups_of_sentences_stay_together(name: str) -> None:
    """Replicates of three long sentences are those of two of them."""
    rng = np.random.default_rng(12)
    x = rng.standard_normal((60, 3))
    y, sentence = x + rng.standard_normal((60, 3)), np.repeat([5, 2, 9], 20)
    fast = MEASURES[name].replicates(x, y, sentence, JACKKNIFE_GROUPS, rng)
    slow = [compare(x[kept], y[kept], name) for kept in (sentence != each for each in (2, 5, 9))]
    assert sorted(fast) == pytest.approx(sorted(slow), abs=1e-9)


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
    result = score(x, y, sentence, np.random.default_rng(0), name)
    assert result.low < result.similarity < result.high
    assert result.null_low < result.null_high < result.low
    assert result == score(x, y, sentence, np.random.default_rng(0), name), "seeded"
    shuffled = score(x, y[rng.permutation(300)], sentence, np.random.default_rng(0), name)
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
        result = score(*sample(), rng, name)
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
