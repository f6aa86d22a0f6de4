"""The protocol: splits by sentence, errors against slow loops, bands that resample models and sentences."""

from __future__ import annotations

import numpy as np
import pytest

from core.alignment.linear import Identity, Ols
from core.alignment.protocol import SHARES, bootstrap_pairs, pooled_nmse, retrieval, score, split_of
from core.alignment.registry import METHODS, make_aligner
from core.errors import ShapeError, SpecError


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_split_is_a_function_of_the_words_in_the_right_shares() -> None:
    sentences = [(f"word{i}", "and", f"another{i * 7}") for i in range(4000)]
    parts = [split_of(words) for words in sentences]
    assert parts == [split_of(words) for words in sentences]
    for part, share in SHARES.items():
        assert parts.count(part) / 4000 == pytest.approx(share, abs=0.02)
    assert split_of(("ab", "c")) == split_of(("ab", "c"))
    assert [split_of(words, 1) for words in sentences] != parts


def test_scores_equal_a_slow_loop(rng) -> None:
    x, y = rng.normal(size=(2, 60, 5)) * 2 + 1, rng.normal(size=(2, 60, 5))
    sentence = np.repeat(np.arange(12), 5)
    train_mean = rng.normal(size=(2, 1, 5))
    found = score(Identity().fit(x, y), x, y, sentence, train_mean)
    for layer in range(2):
        error = spread = own = distance = 0.0
        for row in range(60):
            error += sum((x[layer, row, d] - y[layer, row, d]) ** 2 for d in range(5))
            spread += sum((y[layer, row, d] - train_mean[layer, 0, d]) ** 2 for d in range(5))
            own += sum((y[layer, row, d] - y[layer, :, d].mean()) ** 2 for d in range(5))
            distance += np.sqrt(sum((x[layer, row, d] - y[layer, row, d]) ** 2 for d in range(5)))
        assert found.nmse[layer] == pytest.approx(error / spread)
        assert found.r2[layer] == pytest.approx(1 - error / own)
        assert found.l2[layer] == pytest.approx(distance / 60)
        assert found.error[layer].sum() == pytest.approx(error)
        assert found.spread[layer].sum() == pytest.approx(spread)
        assert found.error[layer, 3] == pytest.approx(((x[layer, 15:20] - y[layer, 15:20]) ** 2).sum())
    assert (found.inverse == 0).all()


def test_retrieval_is_one_for_the_truth_and_chance_for_noise(rng) -> None:
    y = rng.normal(size=(400, 8))
    assert retrieval(y, y) == 1.0
    assert retrieval(rng.normal(size=(400, 8)), y) < 0.03


def test_a_repeated_row_counts_as_found() -> None:
    y = np.repeat(np.eye(3), 2, axis=0)
    assert retrieval(y, y) == 1.0


def test_pooled_error_with_unit_weights_is_the_mean_over_pairs(rng) -> None:
    error, spread = rng.random((4, 3, 10)), rng.random((4, 3, 10)) + 1
    expected = (error.sum(-1) / spread.sum(-1)).mean(0)
    np.testing.assert_allclose(pooled_nmse(error, spread, np.ones(4), np.ones(10)), expected)


def test_the_band_is_wider_when_models_differ_than_when_only_sentences_do(rng) -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    level = np.array([0.1, 0.2, 0.6, 0.9])
    spread = np.ones((len(pairs), 1, 50))
    error = np.stack([np.full((1, 50), level[a] * level[b]) for a, b in pairs]) + 0.01 * rng.random((12, 1, 50))
    many = bootstrap_pairs(error, spread, pairs, 200, rng)
    two = bootstrap_pairs(error[:2], spread[:2], [(0, 1), (1, 0)], 200, rng)
    assert many.std() > 5 * two.std()
    assert many.mean() == pytest.approx(error.mean(), rel=0.25)


def test_no_held_out_rows_is_a_sentence(rng) -> None:
    x = rng.normal(size=(1, 20, 3))
    with pytest.raises(ShapeError, match="no held-out rows"):
        score(Ols().fit(x, x), x[:, :0], x[:, :0], np.zeros(0, dtype=int), x.mean(1, keepdims=True))


def test_the_registry_names_what_there_is() -> None:
    with pytest.raises(SpecError, match="procrustes"):
        make_aligner("nonsense")
    for name, method in METHODS.items():
        assert method.label
        assert method.note
        assert method.kind in {"control", "closed form", "network"}, name


def test_shuffled_pairs_learn_nothing(rng) -> None:
    x, y = rng.normal(size=(1, 2000, 12)), None
    y = x @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    train, held, test = slice(0, 1200), slice(1200, 1500), slice(1500, 2000)
    fitted = make_aligner("shuffled").fit(x[:, train], y[:, train], (x[:, held], y[:, held]))
    found = score(fitted, x[:, test], y[:, test], np.arange(500), y[:, train].mean(1, keepdims=True))
    assert found.nmse[0] == pytest.approx(1, abs=0.02)
