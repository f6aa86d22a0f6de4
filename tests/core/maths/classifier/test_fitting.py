"""Linear classifiers against a slow scikit-learn loop, and what a convex problem promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.errors import ShapeError
from core.maths.classifier import design
from core.maths.classifier.design import Design
from core.maths.classifier.fitting import fit_classifiers, log_probabilities, standardised

TIGHT = {"tolerance": 1e-15, "most": 20_000}


def planted(
    items: int = 150, layers: int = 3, width: int = 6, classes: int = 4, seed: int = 0
) -> tuple:  # type: ignore[type-arg]
    """Noisy vectors and labels of which each layer knows another amount; every class is there."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, items - classes)])
    centres = rng.normal(size=(layers, classes, width)) * np.arange(layers)[:, None, None]
    vectors = (centres[:, labels] + rng.normal(size=(layers, items, width))).swapaxes(0, 1)
    return vectors, labels, rng.permutation(labels)


@pytest.mark.slow
def test_all_layers_and_label_sets_at_once_agree_with_a_loop_over_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    vectors, real, shuffled = planted()
    features = standardised(vectors, 100).double()
    labels = torch.from_numpy(np.stack([real, shuffled]))
    for penalty in (0.1, 30.0):
        weights = fit_classifiers(features[:, :100], labels[:, :100], 4, penalty, **TIGHT)  # type: ignore[arg-type]
        found = log_probabilities(features, weights).exp().numpy()
        for layer in range(3):
            for number, own in enumerate((real, shuffled)):
                slow = LogisticRegression(
                    C=1 / penalty, fit_intercept=False, tol=1e-12, solver="newton-cholesky"
                )
                slow.fit(features[layer, :100].numpy(), own[:100])
                expected = slow.predict_proba(features[layer].numpy())
                assert np.abs(found[layer, number] - expected).max() < 1e-5


def test_where_a_fit_begins_changes_nothing_but_the_time() -> None:
    vectors, real, _ = planted(seed=1)
    features, labels = standardised(vectors, 150).double(), torch.from_numpy(real[None])
    cold = fit_classifiers(features, labels, 4, 1.0, **TIGHT)  # type: ignore[arg-type]
    steps: list[float] = []
    start = fit_classifiers(features[:, :75], labels[:, :75], 4, 1.0)
    warm = fit_classifiers(features, labels, 4, 1.0, start=start, report=steps.append, **TIGHT)  # type: ignore[arg-type]
    assert torch.allclose(cold, warm, atol=1e-6)
    assert len(steps) > 1


@pytest.mark.parametrize("width", [6, 120])
def test_fits_that_share_a_design_are_those_of_their_own(width: int) -> None:
    """The products of features, or of items where these are fewer, are made once."""
    vectors, real, _ = planted(items=80, width=width)
    features, labels = standardised(vectors, 80), torch.from_numpy(real[None])
    alone = [fit_classifiers(features, labels, 4, penalty) for penalty in (3.0, 30.0)]
    whole = Design(features)
    side = min(80, width + 1)
    assert whole.products.shape == (3, side, side)
    made = whole.products
    shared = [fit_classifiers(whole, labels, 4, penalty) for penalty in (3.0, 30.0)]
    assert all(torch.equal(*pair) for pair in zip(alone, shared, strict=True))
    assert whole.products is made


def test_products_are_computed_by_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "BLOCK", 7)
    wide = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 12, 20)))
    for features in (wide, wide.transpose(1, 2)):
        products = Design(features).products
        assert torch.allclose(products, wide @ wide.transpose(1, 2), atol=1e-12)


@pytest.mark.parametrize("penalty", [0.1, 30.0])
@pytest.mark.parametrize("width", [40, 900])
def test_a_metric_in_single_precision_leads_to_the_same_weights(
    width: int, penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, real, shuffled = planted(items=600, width=width, seed=3)
    features = standardised(vectors, 600)
    labels = torch.from_numpy(np.stack([real, shuffled]))
    small = fit_classifiers(features, labels, 4, penalty)
    monkeypatch.setattr(design, "LARGE", 10)
    large = fit_classifiers(features, labels, 4, penalty)
    gap = objective(features, labels, large, penalty) - objective(features, labels, small, penalty)
    assert gap.abs().max() < 1e-3 * 600


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 900])
def test_a_large_factor_serves_what_is_near_and_leads_where_its_own_does(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design, "LARGE", 10)
    vectors, real, shuffled = planted(items=600, width=width, seed=3)
    features = standardised(vectors, 600)
    labels = torch.from_numpy(np.stack([real, shuffled]))
    factor, made = torch.linalg.cholesky_ex, []
    monkeypatch.setattr(torch.linalg, "cholesky_ex", lambda m: (made.append(1), factor(m))[1])
    shared, weights = Design(features), None
    for penalty, factors in ((30.0, 1), (10.0, 1), (3.0, 1), (1e-3, 2), (30.0, 3)):
        weights = fit_classifiers(shared, labels, 4, penalty, start=weights)
        assert len(made) == factors, penalty
        alone = fit_classifiers(Design(features), labels, 4, penalty)
        made.pop()
        gap = objective(features, labels, weights, penalty)
        gap -= objective(features, labels, alone, penalty)
        assert gap.abs().max() < 1e-3 * 600


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("copies", [2, 8])
def test_a_penalty_within_the_rounding_error_of_the_products_is_fitted(
    copies: int, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of 20 items, fewer or more than features: the products have no factor."""
    monkeypatch.setattr(design, "LARGE", 10 if large else 2_500)
    vectors, real, _ = planted(items=20, width=60)
    features = standardised(np.tile(vectors, (copies, 1, 1)), 20 * copies, scale=1e3)
    labels = torch.from_numpy(np.tile(real, copies)[None])
    factor, failures = torch.linalg.cholesky_ex, []

    def watched(metric: torch.Tensor) -> object:
        failures.append(bool((done := factor(metric)).info.any()))
        return done

    monkeypatch.setattr(torch.linalg, "cholesky_ex", watched)
    weights = fit_classifiers(features, labels, 4, 1e-5, most=20)
    assert failures[0] or not large
    assert not failures[-1]
    reached = objective(features, labels, weights, 1e-5)
    assert (reached < objective(features, labels, torch.zeros_like(weights), 1e-5) / 2).all()


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True])
def test_fewer_items_than_features_agree_with_scikit_learn(begun: bool) -> None:
    from sklearn.linear_model import LogisticRegression

    vectors, real, shuffled = planted(items=80, width=120)
    features = standardised(vectors, 80).double()
    labels = torch.from_numpy(np.stack([real, shuffled]))
    start = fit_classifiers(features, labels.flip(0), 4, 2.0) if begun else None
    weights = fit_classifiers(features, labels, 4, 2.0, start=start, **TIGHT)  # type: ignore[arg-type]
    slow = LogisticRegression(C=1 / 2.0, fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    for layer in range(3):
        for number, own in enumerate((real, shuffled)):
            slow.fit(features[layer].numpy(), own)
            # scikit-learn's weights are centred over the classes
            assert np.abs(weights[layer, number].T.numpy() - slow.coef_).max() < 1e-5


def test_the_gradient_is_nought_where_it_ends_also_for_a_class_that_never_came() -> None:
    vectors, real, _ = planted(seed=2)
    features, labels = standardised(vectors, 150).double(), torch.from_numpy(real[None])
    weights = fit_classifiers(features, labels, 6, 3.0, **TIGHT)  # type: ignore[arg-type]
    chances = log_probabilities(features, weights).exp()
    assert torch.isfinite(weights).all()
    assert chances[..., 4:].min() > 0
    assert chances[..., 4:].mean() < 0.02
    errors = chances[:, 0] - torch.nn.functional.one_hot(labels[0], 6)
    gradient = features.transpose(1, 2) @ errors + 3.0 * weights[:, 0]
    assert gradient.abs().max() < 1e-5


def objective(features: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, penalty: float):  # type: ignore[no-untyped-def]
    chances = log_probabilities(features, weights)
    truly = chances.gather(3, labels[None, :, :, None].expand(len(features), -1, -1, 1))
    return -truly.double().sum((2, 3)) + penalty / 2 * weights.double().square().sum((2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.1, 30.0])
def test_it_stops_within_a_thousandth_of_a_nat_per_item_of_the_best(penalty: float) -> None:
    vectors, real, shuffled = planted(items=600, width=40, seed=3)
    features = standardised(vectors, 600)
    labels = torch.from_numpy(np.stack([real, shuffled]))
    soon = fit_classifiers(features, labels, 4, penalty)
    best = fit_classifiers(features.double(), labels, 4, penalty, **TIGHT)  # type: ignore[arg-type]
    missing = objective(features, labels, soon, penalty) - objective(
        features.double(), labels, best, penalty
    )
    assert (missing < 1e-3 * 600).all()
    assert (missing > -1e-3).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_direction_on_which_newton_goes_back_and_forth_is_halved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(120, 1, 2)) @ rng.normal(size=(2, 600))
    vectors += 0.3 * rng.normal(size=vectors.shape)
    labels = rng.integers(0, 30, 120)
    labels[:60] = 0
    steps: list[float] = []
    features = standardised(vectors, 120)
    fit_classifiers(features, torch.from_numpy(labels[None]), 30, 1.0, report=steps.append)
    assert len(steps) < 40


def test_features_have_mean_0_and_deviation_1_over_what_they_are_fitted_on() -> None:
    vectors, _, _ = planted()
    vectors[:, 1, 2] = 7.0  # a feature that does not vary
    features = standardised(vectors, 100).numpy()
    assert features.shape == (3, 150, 7)
    assert (features[..., -1] == 1).all()
    assert np.abs(features[:, :100, :-1].mean(1)).max() < 1e-5
    deviations = features[:, :100, :-1].std(1)
    assert np.allclose(np.delete(deviations.ravel(), 8), 1.0, atol=1e-4)
    assert deviations[1, 2] == 0
    assert np.allclose(standardised(vectors * 1000 - 5, 100), features, atol=1e-3)


@pytest.mark.parametrize(
    ("labels", "penalty"),
    [([[0, 1]], 1.0), ([[0, 1, 4]], 1.0), ([[0, -1, 2]], 1.0), ([[0, 1, 2]], 0.0)],
)
def test_what_is_no_problem_is_refused(labels: list[list[int]], penalty: float) -> None:
    with pytest.raises(ShapeError, match=r"items|Labels"):
        fit_classifiers(torch.ones(2, 3, 1), torch.tensor(labels), 4, penalty)
    with pytest.raises(ShapeError, match="standardised"):
        standardised(np.ones((3, 1, 2)), 4)
