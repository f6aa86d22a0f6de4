"""Scores against slow loops, and maps whose score is known."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError, SpecError
from core.maths.evaluation import scoring
from core.maths.evaluation.scoring import Target, _by_row, find_again, rows_for, score
from core.maths.maps.controls import Lookup
from core.maths.maps.linear import Aligner, Identity, Ols
from core.maths.maps.registry import METHODS, make_aligner


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("at_once", [1, 100, 2**22])
def test_scores_equal_a_slow_loop(rng, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "AT_ONCE", at_once)
    x, y = rng.normal(size=(2, 60, 5)) * 2 + 1, rng.normal(size=(2, 60, 5))
    unit = np.repeat(np.arange(12), 5)
    seen = rng.random(60) < 0.4
    train_mean = rng.normal(size=(2, 1, 5))
    found = score(Identity().fit(x, y), x, Target(y, unit, seen, train_mean))
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
        Ols().fit(x, x),
        x,
        Target(x, np.arange(30), np.zeros(30, bool), x.mean(1, keepdims=True)),
    )
    assert np.isnan(found.nmse[1]).all()
    assert found.nmse[0] == found.nmse[2]


def test_retrieval_is_one_for_the_truth_and_chance_for_noise(rng) -> None:
    y = rng.normal(size=(400, 8))
    assert find_again(y, y).all()
    assert find_again(rng.normal(size=(400, 8)), y).mean() < 0.03


def test_of_many_rows_some_look_and_the_others_say_so(rng) -> None:
    y = rng.normal(size=(1, 2500, 4))
    found = _by_row(Identity().fit(y, y), y, y)[1]
    assert (found == 1).sum() == 1000
    assert (found == -1).sum() == 1500


def test_a_repeated_row_counts_as_found() -> None:
    y = np.repeat(np.eye(3), 2, axis=0)
    assert find_again(y, y).all()


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


def test_no_held_out_rows_is_a_sentence(rng) -> None:
    x = rng.normal(size=(1, 20, 3))
    with pytest.raises(ShapeError, match="no held-out rows"):
        score(
            Ols().fit(x, x),
            x[:, :0],
            Target(x[:, :0], np.zeros(0, int), np.zeros(0, bool), x.mean(1, keepdims=True)),
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
    found = score(fitted, x[:, test], Target(y[:, test], np.arange(500), np.zeros(500, bool), mean))
    assert found.nmse[0, 0] == pytest.approx(1, abs=0.02)


class Halfway(Aligner):
    """A map whose inverse brings back a part of the way only."""

    invertible = True

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def fit(self, x: np.ndarray, y: np.ndarray, validation: object = None) -> Halfway:
        return self

    def transform(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x, dtype=np.float64) * self.scale

    def inverse_transform(self, y: np.ndarray) -> np.ndarray:
        return 0.7 * np.asarray(y, dtype=np.float64) / self.scale + 0.1


def test_the_round_trip_is_a_share_of_the_sources_variance(rng) -> None:
    x, y = rng.normal(size=(2, 40, 3)) * [1.0, 2.0, 5.0] + 4, 30 * rng.normal(size=(2, 40, 3))
    seen = rng.random(40) < 0.5
    found = score(Halfway(3.0), x, Target(y, np.arange(40), seen, y.mean(1, keepdims=True)))
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
    other = score(Halfway(0.2), x, Target(9 * y, np.arange(40), seen, 9 * y.mean(1, keepdims=True)))
    np.testing.assert_allclose(
        other.inverse, found.inverse
    )  # the target's scale is nothing to the source


def test_an_inverse_that_knows_only_the_mean_loses_all_of_the_variance(rng) -> None:
    class Mean(Halfway):
        def inverse_transform(self, y: np.ndarray) -> np.ndarray:
            return np.broadcast_to(x.mean(1, keepdims=True), y.shape)

    x, y = 3 * rng.normal(size=(1, 50, 4)), rng.normal(size=(1, 50, 4))
    found = score(
        Mean(1.0), x, Target(y, np.arange(50), np.zeros(50, bool), y.mean(1, keepdims=True))
    )
    assert found.inverse[0, 0] == pytest.approx(1.0)
