"""The protocol: splits by word and by sentence, errors against slow loops, bands over models and
held-out units."""

from __future__ import annotations

import numpy as np
import pytest

from core.alignment.maps.controls import Lookup
from core.alignment.maps.linear import Aligner, Identity, Ols
from core.alignment.maps.registry import METHODS, make_aligner
from core.alignment.seeds.bands import leave_out
from core.alignment.seeds.protocol import SHARES, find_again, part_of, rows_for, score, split_rows
from core.errors import ShapeError, SpecError

SENTENCES = tuple(
    ("The" if k % 2 else "the", f"word{k * 7 % 90}", "and", f"other{k % 60}") for k in range(200)
)
SENTENCE = np.repeat(np.arange(200), 4)
WORD = np.tile(np.arange(4), 200)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_part_is_a_function_of_the_words_in_the_right_shares() -> None:
    sentences = [(f"word{i}", "and", f"another{i * 7}") for i in range(4000)]
    parts = [part_of(words) for words in sentences]
    assert parts == [part_of(words) for words in sentences]
    for part, share in SHARES.items():
        assert parts.count(part) / 4000 == pytest.approx(share, abs=0.02)
    assert [part_of(words, 1) for words in sentences] != parts


def test_split_by_word_no_type_is_on_both_sides_whatever_its_case() -> None:
    parts = split_rows(SENTENCES, SENTENCE, WORD, "word", 0)
    spelled = np.array([SENTENCES[s][w].lower() for s, w in zip(SENTENCE, WORD, strict=True)])
    train, held, test = (set(spelled[rows]) for rows in (parts.train, parts.validation, parts.test))
    assert not train & test
    assert not train & held
    assert not held & test
    assert len(parts.train) + len(parts.validation) + len(parts.test) == len(SENTENCE)
    assert not parts.seen(parts.test).any()
    assert parts.seen(parts.train).all()


def test_split_by_sentence_a_word_is_seen_if_its_type_is_in_training() -> None:
    parts = split_rows(SENTENCES, SENTENCE, WORD, "sentence", 0)
    spelled = np.array([SENTENCES[s][w].lower() for s, w in zip(SENTENCE, WORD, strict=True)])
    assert not set(SENTENCE[parts.train]) & set(SENTENCE[parts.test])
    known = set(spelled[parts.train])
    assert parts.seen(parts.test).tolist() == [word in known for word in spelled[parts.test]]
    assert parts.seen(parts.test).any()
    assert set(parts.unit[parts.test]) == set(SENTENCE[parts.test])


def test_word_types_have_the_same_numbers_whatever_rows_are_left_out() -> None:
    some = np.flatnonzero(np.arange(len(WORD)) % 5 != 1)
    whole = split_rows(SENTENCES, SENTENCE, WORD, "word", 0)
    part = split_rows(SENTENCES, SENTENCE[some], WORD[some], "word", 0)
    assert (whole.types[some] == part.types).all()


def test_rows_of_whole_sentences_are_not_split_by_word() -> None:
    with pytest.raises(ShapeError, match="cannot be split by word"):
        split_rows(SENTENCES, np.arange(200), np.full(200, -1), "word", 0)
    parts = split_rows(SENTENCES, np.arange(200), np.full(200, -1), "sentence", 0)
    with pytest.raises(ShapeError, match="rows that are words"):
        rows_for(Lookup(), np.zeros((1, 200, 3)), parts.types)


def test_too_few_rows_are_a_sentence() -> None:
    with pytest.raises(ShapeError, match="needs 20"):
        split_rows(SENTENCES[:10], SENTENCE[:40], WORD[:40], "sentence", 0)


def test_scores_equal_a_slow_loop(rng) -> None:
    x, y = rng.normal(size=(2, 60, 5)) * 2 + 1, rng.normal(size=(2, 60, 5))
    unit = np.repeat(np.arange(12), 5)
    seen = rng.random(60) < 0.4
    train_mean = rng.normal(size=(2, 1, 5))
    found = score(Identity().fit(x, y), x, y, unit, seen, train_mean)
    for layer in range(2):
        for subset, rows in enumerate((range(60), np.flatnonzero(seen), np.flatnonzero(~seen))):
            error = spread = own = distance = 0.0
            mean = y[layer, rows].mean(0)
            for row in rows:
                error += sum((x[layer, row, d] - y[layer, row, d]) ** 2 for d in range(5))
                spread += sum((y[layer, row, d] - train_mean[layer, 0, d]) ** 2 for d in range(5))
                own += sum((y[layer, row, d] - mean[d]) ** 2 for d in range(5))
                distance += np.sqrt(
                    sum((x[layer, row, d] - y[layer, row, d]) ** 2 for d in range(5))
                )
            assert found.nmse[subset, layer] == pytest.approx(error / spread)
            assert found.r2[subset, layer] == pytest.approx(1 - error / own)
            assert found.l2[subset, layer] == pytest.approx(distance / len(rows))
            if subset:
                assert found.error[subset - 1, layer].sum() == pytest.approx(error)
                assert found.spread[subset - 1, layer].sum() == pytest.approx(spread)
        third = ((x[layer, 15:20] - y[layer, 15:20]) ** 2).sum(-1)
        assert found.error[0, layer, 3] == pytest.approx(third[seen[15:20]].sum())
        assert found.error[1, layer, 3] == pytest.approx(third[~seen[15:20]].sum())
    assert (found.inverse == 0).all()


def test_a_subset_without_rows_is_nan_and_not_zero(rng) -> None:
    x = rng.normal(size=(1, 30, 3))
    found = score(
        Ols().fit(x, x), x, x, np.arange(30), np.zeros(30, bool), x.mean(1, keepdims=True)
    )
    assert np.isnan(found.nmse[1]).all()
    assert found.nmse[0] == found.nmse[2]


def test_retrieval_is_one_for_the_truth_and_chance_for_noise(rng) -> None:
    y = rng.normal(size=(400, 8))
    assert find_again(y, y).tolist() == [1] * 400
    assert find_again(rng.normal(size=(400, 8)), y).mean() < 0.03


def test_of_many_rows_some_look_and_the_others_say_so(rng) -> None:
    y = rng.normal(size=(2500, 4))
    found = find_again(y, y)
    assert (found == 1).sum() == 1000
    assert (found == -1).sum() == 1500


def test_a_repeated_row_counts_as_found() -> None:
    y = np.repeat(np.eye(3), 2, axis=0)
    assert find_again(y, y).tolist() == [1] * 6


def test_the_lookup_is_the_mean_target_by_word_and_the_mean_of_all_for_a_new_word(rng) -> None:
    y = rng.normal(size=(2, 6, 3))
    types = np.array([4, 7, 4, 9, 7, 4])
    rows = rows_for(Lookup(), np.full((2, 6, 5), np.nan), types)  # it reads no source vector
    table = Lookup().fit(rows, y)
    found = table.transform(rows_for(table, np.zeros((2, 4, 5)), np.array([4, 9, 5, 99])))
    for layer in range(2):
        np.testing.assert_allclose(found[layer, 0], (y[layer, 0] + y[layer, 2] + y[layer, 5]) / 3)
        np.testing.assert_allclose(found[layer, 1], y[layer, 3])
        np.testing.assert_allclose(found[layer, 2:], [y[layer].mean(0)] * 2)


def test_leaving_out_equals_a_slow_loop(rng) -> None:
    """Pairs a, b: what is left without a model is every pair that does not hold it; without a unit,
    its sums."""
    pairs = [(a, b) for a in "wxyz" for b in "wxyz" if a != b]
    error, spread = rng.random((12, 3, 10)), rng.random((12, 3, 10)) + 1
    spread[:, :, 4] = error[:, :, 4] = 0  # a unit without a row counts for nothing
    found = leave_out(error, spread, pairs)
    np.testing.assert_allclose(found.point, (error.sum(-1) / spread.sum(-1)).mean(0))
    for place, model in enumerate("wxyz"):
        kept = [number for number, pair in enumerate(pairs) if model not in pair]
        assert len(kept) == 6
        np.testing.assert_allclose(
            found.models[place], (error[kept].sum(-1) / spread[kept].sum(-1)).mean(0)
        )
    for place, unit in enumerate([0, 1, 2, 3, 5, 6, 7, 8, 9]):
        one, two = np.delete(error, unit, -1).sum(-1), np.delete(spread, unit, -1).sum(-1)
        np.testing.assert_allclose(found.units[place], (one / two).mean(0))
    assert len(found.units) == 9


def test_bands_over_three_models_cover_and_a_bootstrap_of_three_does_not(rng) -> None:
    """Each model has a level of its own, a pair the sum of two: .95 of 300 bands must hold the mean
    of all models."""
    pairs = [(a, b) for a in "abc" for b in "abc" if a != b]
    hit = bootstrap = 0
    for _ in range(300):
        level = dict(zip("abc", rng.normal(0.25, 0.05, size=3), strict=True))
        error = np.array([[rng.normal(level[a] + level[b], 0.02, size=40)] for a, b in pairs])
        found = leave_out(error, np.ones_like(error), pairs)
        low, high = found.band()
        hit += int(low[0] <= 0.5 <= high[0])
        draws = rng.choice(list(level.values()), size=(200, 3)).mean(1) * 2
        bootstrap += int(np.quantile(draws, 0.025) <= 0.5 <= np.quantile(draws, 0.975))
    assert hit / 300 > 0.92
    assert bootstrap / 300 < 0.9


def test_the_band_of_two_models_is_of_this_pair_and_narrower(rng) -> None:
    pairs = [(a, b) for a in "abcd" for b in "abcd" if a != b]
    level = dict(zip("abcd", (0.1, 0.2, 0.6, 0.9), strict=True))
    error = np.stack([np.full((1, 50), level[a] * level[b]) for a, b in pairs]) + 0.01 * rng.random(
        (12, 1, 50)
    )
    low, high = leave_out(error, np.ones_like(error), pairs).band()
    low_two, high_two = leave_out(
        error[[0, 3]], np.ones((2, 1, 50)), [("a", "b"), ("b", "a")]
    ).band()
    assert high - low > 20 * (high_two - low_two)


def test_what_two_maps_share_cancels_in_their_difference(rng) -> None:
    pairs = [(a, b) for a in "abc" for b in "abc" if a != b]
    shared = rng.random((6, 2, 30))
    one, two = (leave_out(shared + shift, np.ones_like(shared), pairs) for shift in (0.1, 0.0))
    low, high = (one - two).band()
    np.testing.assert_allclose([low, high], 0.1, atol=1e-9)
    low, high = one.band_of_difference(two)
    assert (high - low > 0.1).all()  # other models: what is shared is chance


def test_no_held_out_rows_is_a_sentence(rng) -> None:
    x = rng.normal(size=(1, 20, 3))
    with pytest.raises(ShapeError, match="no held-out rows"):
        score(
            Ols().fit(x, x),
            x[:, :0],
            x[:, :0],
            np.zeros(0, int),
            np.zeros(0, bool),
            x.mean(1, keepdims=True),
        )


def test_the_registry_names_what_there_is() -> None:
    with pytest.raises(SpecError, match="procrustes"):
        make_aligner("nonsense")
    for name, method in METHODS.items():
        assert method.label
        assert method.note
        assert method.kind in {"control", "linear", "non-linear", "static"}, name
    assert len({method.colour for method in METHODS.values()}) == len(METHODS)


def test_shuffled_pairs_learn_nothing(rng) -> None:
    x = rng.normal(size=(1, 2000, 12))
    y = x @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    train, held, test = slice(0, 1200), slice(1200, 1500), slice(1500, 2000)
    fitted = make_aligner("shuffled").fit(x[:, train], y[:, train], (x[:, held], y[:, held]))
    mean = y[:, train].mean(1, keepdims=True)
    found = score(fitted, x[:, test], y[:, test], np.arange(500), np.zeros(500, bool), mean)
    assert found.nmse[0, 0] == pytest.approx(1, abs=0.02)


class Halfway(Aligner):
    """A map whose inverse brings back a part of the way only."""

    invertible = True

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def transform(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, dtype=np.float64) * self.scale

    def inverse_transform(self, y: np.ndarray) -> np.ndarray:
        return 0.7 * np.asarray(y, dtype=np.float64) / self.scale + 0.1


def test_the_round_trip_is_a_share_of_the_sources_variance(rng) -> None:
    x, y = rng.normal(size=(2, 40, 3)) * [1.0, 2.0, 5.0] + 4, 30 * rng.normal(size=(2, 40, 3))
    seen = rng.random(40) < 0.5
    found = score(Halfway(3.0), x, y, np.arange(40), seen, y.mean(1, keepdims=True))
    for layer in range(2):
        mean = x[layer].mean(0)
        for subset, rows in enumerate((range(40), np.flatnonzero(seen), np.flatnonzero(~seen))):
            lost = spread = 0.0
            for row in rows:
                lost += sum(
                    (0.7 * x[layer, row, d] + 0.1 - x[layer, row, d]) ** 2 for d in range(3)
                )
                spread += sum((x[layer, row, d] - mean[d]) ** 2 for d in range(3))
            assert found.inverse[subset, layer] == pytest.approx(lost / spread)
    other = score(Halfway(0.2), x, 9 * y, np.arange(40), seen, 9 * y.mean(1, keepdims=True))
    np.testing.assert_allclose(
        other.inverse, found.inverse
    )  # the target's scale is nothing to the source


def test_an_inverse_that_knows_only_the_mean_loses_all_of_the_variance(rng) -> None:
    class Mean(Halfway):
        def inverse_transform(self, y: np.ndarray) -> np.ndarray:
            return np.broadcast_to(x.mean(1, keepdims=True), y.shape)

    x, y = 3 * rng.normal(size=(1, 50, 4)), rng.normal(size=(1, 50, 4))
    found = score(Mean(1.0), x, y, np.arange(50), np.zeros(50, bool), y.mean(1, keepdims=True))
    assert found.inverse[0, 0] == pytest.approx(1.0)
