"""Erasure in closed form: against a slow loop, regression on what is left, and equal changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from core.errors import ShapeError
from core.maths.erasure import fit_eraser, measure_states, random_readout

COUNT, WIDTH, RANK = 400, 12, 3


@pytest.fixture
def vectors() -> np.ndarray:
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(COUNT, WIDTH)) @ rng.normal(size=(WIDTH, WIDTH))
    return mixed + rng.normal(size=WIDTH)


def explained(inputs: np.ndarray, targets: np.ndarray) -> float:
    """R squared of a linear regression with an intercept, on the fitted data."""
    wide = np.column_stack([inputs, np.ones(len(inputs))])
    left = targets - wide @ np.linalg.lstsq(wide, targets, rcond=None)[0]
    return 1 - float(np.square(left).sum() / np.square(targets - targets.mean(axis=0)).sum())


def slow_erased(vectors: np.ndarray, readout: np.ndarray) -> np.ndarray:
    """Every vector minus what a regression of the vectors on their projections predicts of it."""
    centred = vectors - vectors.mean(axis=0)
    projections = centred @ readout.T
    result = np.empty_like(vectors)
    for column in range(vectors.shape[1]):
        weights = np.linalg.lstsq(projections, centred[:, column], rcond=None)[0]
        for row in range(len(vectors)):
            result[row, column] = vectors[row, column] - projections[row] @ weights
    return result


def test_the_closed_form_is_a_slow_loop_of_regressions(vectors: np.ndarray) -> None:
    readout = random_readout(RANK, WIDTH, np.random.default_rng(1))
    eraser = fit_eraser(*measure_states(vectors), readout)
    np.testing.assert_allclose(eraser(vectors), slow_erased(vectors, readout), atol=1e-9)


def test_a_regression_finds_nothing_of_what_was_erased_and_the_rest_is_kept(
    vectors: np.ndarray,
) -> None:
    rng = np.random.default_rng(2)
    readout = random_readout(RANK, WIDTH, rng)
    projections = vectors @ readout.T
    assert explained(vectors, projections) == pytest.approx(1.0)
    left = fit_eraser(*measure_states(vectors), readout)(vectors)
    assert explained(left, projections) == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(left.mean(axis=0), vectors.mean(axis=0))
    assert np.linalg.matrix_rank(np.cov(left.T), tol=1e-8) == WIDTH - RANK
    elsewhere = vectors @ random_readout(RANK, WIDTH, rng).T
    assert explained(left, elsewhere) > 0.1


def logistic_loss(inputs: np.ndarray, marks: np.ndarray) -> float:
    """Cross-entropy of the best multinomial logistic regression with an intercept, on its data."""
    wide = np.column_stack([inputs / inputs.std(), np.ones(len(inputs))])
    shape = (wide.shape[1], marks.shape[1])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scores = wide @ flat.reshape(shape)
        scores -= logsumexp(scores, axis=1, keepdims=True)
        slope = wide.T @ (np.exp(scores) - marks) / len(wide)
        return -float((scores * marks).sum() / len(wide)), slope.ravel()

    return float(minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B").fun)


def test_no_linear_classifier_beats_the_constant_where_labels_are_erased(
    vectors: np.ndarray,
) -> None:
    """With the weights of a regression of labels on vectors as the map, the concept is the label.

    Reference: Belrose et al. 2023, theorem 3.1: equal means of all classes are what it takes.
    """
    centre, covariance = measure_states(vectors)
    labels = np.argmax(vectors[:, :3] + np.random.default_rng(7).normal(size=(COUNT, 3)), axis=1)
    marks = np.eye(3)[labels]
    shared = (vectors - centre).T @ (marks - marks.mean(axis=0)) / COUNT
    readout = np.linalg.solve(covariance, shared).T
    shares = marks.mean(axis=0)
    constant = -float((shares * np.log(shares)).sum())
    assert logistic_loss(vectors, marks) < 0.8 * constant
    left = fit_eraser(centre, covariance, readout)(vectors)
    means = np.stack([left[labels == label].mean(axis=0) for label in range(3)])
    np.testing.assert_allclose(means, np.broadcast_to(centre, means.shape), atol=1e-9)
    assert logistic_loss(left, marks) == pytest.approx(constant, rel=1e-6)
    basis = np.linalg.qr(readout.T)[0]
    projected = vectors - (vectors - centre) @ basis @ basis.T
    assert logistic_loss(projected, marks) < 0.999 * constant


def test_no_other_erasure_changes_less(vectors: np.ndarray) -> None:
    """Against the minimum under the condition, row by row of the matrix, with multipliers."""
    centre, covariance = measure_states(vectors)
    readout = random_readout(RANK, WIDTH, np.random.default_rng(8))
    bound = covariance @ readout.T  # of the erased vectors with what was erased: to be 0
    system = np.block([[2 * covariance, bound], [bound.T, np.zeros((RANK, RANK))]])
    rows = [
        np.linalg.solve(system, np.concatenate([2 * covariance[axis], np.zeros(RANK)]))[:WIDTH]
        for axis in range(WIDTH)
    ]
    slow = centre + (vectors - centre) @ np.array(rows).T
    eraser = fit_eraser(centre, covariance, readout)
    np.testing.assert_allclose(eraser(vectors), slow, atol=1e-8)
    other = np.linalg.svd(bound.T)[2][RANK:]  # rows that the condition leaves free
    moved = slow + 0.1 * (vectors - centre) @ other[:1].T @ other[:1]
    assert explained(moved, vectors @ readout.T) == pytest.approx(0.0, abs=1e-9)
    assert np.square(moved - vectors).sum() > np.square(slow - vectors).sum()


def test_an_orthogonal_projection_leaves_some_of_it(vectors: np.ndarray) -> None:
    readout = random_readout(RANK, WIDTH, np.random.default_rng(3))
    basis = np.linalg.qr(readout.T)[0]
    projected = vectors - vectors @ basis @ basis.T
    assert explained(projected, vectors @ readout.T) > 0.01


def test_the_change_is_its_mean_squared_length(vectors: np.ndarray) -> None:
    eraser = fit_eraser(
        *measure_states(vectors), random_readout(RANK, WIDTH, np.random.default_rng(4))
    )
    changed = np.square(eraser(vectors) - vectors).sum(axis=1).mean()
    assert eraser.change == pytest.approx(changed)


def test_a_random_subspace_of_equal_change_changes_as_much(vectors: np.ndarray) -> None:
    states, rng = measure_states(vectors), np.random.default_rng(5)
    probe = fit_eraser(*states, random_readout(RANK, WIDTH, rng))
    random = fit_eraser(*states, random_readout(RANK, WIDTH, rng))
    assert random.change != pytest.approx(probe.change)
    matched = random.matched(probe)
    for eraser in (probe, matched):
        changed = np.square(eraser(vectors) - vectors).sum(axis=1).mean()
        assert changed == pytest.approx(probe.change)
    np.testing.assert_allclose(
        (matched(vectors) - vectors) / matched.factor, random(vectors) - vectors, atol=1e-9
    )


def test_dependent_rows_and_directions_without_variance_are_harmless(vectors: np.ndarray) -> None:
    flat = vectors.copy()
    flat[:, 0] = 1.0
    readout = random_readout(2, WIDTH, np.random.default_rng(6))
    doubled = np.concatenate([readout, 2 * readout[:1]])
    eraser = fit_eraser(*measure_states(flat), doubled)
    assert eraser.left.shape == (WIDTH, 2)
    np.testing.assert_allclose(eraser(flat), fit_eraser(*measure_states(flat), readout)(flat))
    np.testing.assert_allclose(eraser(flat)[:, 0], 1.0)


@pytest.mark.parametrize("spread", [1e-6, 1e5, 1e7])
def test_a_feature_of_another_spread_is_erased_like_the_others(
    vectors: np.ndarray, spread: float
) -> None:
    """Erasure does not depend on the unit of a feature."""
    units = np.ones(WIDTH)
    units[4] = spread
    readout = random_readout(RANK, WIDTH, np.random.default_rng(9))
    plain = fit_eraser(*measure_states(vectors), readout)
    rescaled = fit_eraser(*measure_states(vectors * units), readout / units)
    np.testing.assert_allclose(rescaled(vectors * units) / units, plain(vectors), atol=1e-8)
    slow = slow_erased(vectors * units, readout / units)
    np.testing.assert_allclose(rescaled(vectors * units) / units, slow / units, atol=1e-8)


def by_whitening(vectors: np.ndarray, readout: np.ndarray) -> np.ndarray:
    """Belrose et al. 2023, theorem 4.3, as it is written: whiten, project, and undo the whitening."""
    centre, covariance = measure_states(vectors)
    values, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(values) @ axes.T
    inverse = axes / np.sqrt(values) @ axes.T
    basis = np.linalg.svd(inverse @ covariance @ readout.T, full_matrices=False)[0]
    return np.asarray(vectors - (vectors - centre) @ (root @ basis @ basis.T @ inverse).T)


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e5])
def test_erasure_is_the_published_formula_where_one_feature_is_much_larger(
    vectors: np.ndarray, spread: float
) -> None:
    """The map is not rescaled: its projections are almost that feature alone."""
    wide = vectors.copy()
    wide[:, 4] *= spread
    readout = random_readout(RANK, WIDTH, np.random.default_rng(11))
    eraser, expected = fit_eraser(*measure_states(wide), readout), by_whitening(wide, readout)
    np.testing.assert_allclose(
        eraser(wide) / wide.std(axis=0), expected / wide.std(axis=0), atol=1e-10 + 1e-14 * spread**2
    )


def test_what_does_not_fit_is_refused(vectors: np.ndarray) -> None:
    centre, covariance = measure_states(vectors)
    with pytest.raises(ShapeError, match="does not fit"):
        fit_eraser(centre, covariance, np.ones((2, WIDTH + 1)))
    with pytest.raises(ShapeError, match="at least 2 vectors"):
        measure_states(vectors[:1])
    nothing = fit_eraser(centre, covariance, np.zeros((1, WIDTH)))
    assert nothing.change == 0
    with pytest.raises(ShapeError, match="changes nothing"):
        nothing.matched(nothing)
