"""Penalties chosen on development items equal a search with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.maths.classifier.fitting import standardised
from core.studies.probes.edges.coding import PENALTIES, Frame, choose_penalties, score_classifiers
from core.studies.probes.edges.items import Items

TRAINING, DEV, TEST = SIZES = (120, 80, 40)


@pytest.fixture
def planted() -> tuple[torch.Tensor, torch.Tensor, Frame]:
    """A layer whose few features nearly tell four labels, and one with ninety of noise beside."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, sum(SIZES))
    near = np.eye(4)[labels] * 3 + rng.standard_normal((sum(SIZES), 4))
    noise = 4 * rng.standard_normal((sum(SIZES), 90))
    layers = [np.concatenate([near, beside], axis=1) for beside in (0 * noise, noise)]
    items = Items(
        np.arange(sum(SIZES)), np.zeros(sum(SIZES), int), np.full(sum(SIZES), -1),
        tuple(map(str, labels)),
    )  # fmt: skip
    frame = Frame(items, [("w",)] * sum(SIZES), SIZES)
    return standardised(np.stack(layers, 1), TRAINING), torch.from_numpy(frame.labels[None]), frame


def test_each_layer_has_the_penalty_that_predicts_development_items_best(
    planted: tuple[torch.Tensor, torch.Tensor, Frame],
) -> None:
    from sklearn.linear_model import LogisticRegression

    features, labels, frame = planted
    truth, dev = frame.labels, slice(TRAINING, TRAINING + DEV)
    slow = np.array(
        [
            [
                np.mean(
                    LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=1_000)
                    .fit(rows[:TRAINING], truth[:TRAINING])
                    .predict(rows[dev])
                    == truth[dev]
                )
                for penalty in PENALTIES
            ]
            for rows in features.double().numpy()
        ]
    )
    penalties, shares = choose_penalties(features, labels, 0.0, frame)
    np.testing.assert_allclose(shares, slow.max(axis=1), atol=1.5 / DEV)
    places = [PENALTIES.index(penalty) for penalty in penalties.tolist()]
    assert (slow[[0, 1], places] >= slow.max(axis=1) - 1.5 / DEV).all()
    assert np.ptp(slow, axis=1).max() > 2.5 / DEV  # the choice matters
    scored = score_classifiers(features, labels, 0.0, frame)
    assert scored["penalties"].tolist() == penalties.tolist()


def test_a_penalty_that_is_set_is_the_only_one(
    planted: tuple[torch.Tensor, torch.Tensor, Frame],
) -> None:
    penalties, _ = choose_penalties(*planted[:2], 7.0, planted[2])
    assert penalties.tolist() == [7.0, 7.0]
    assert score_classifiers(*planted[:2], 7.0, planted[2])["penalties"].tolist() == [7.0, 7.0]
