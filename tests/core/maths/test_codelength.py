"""The online code against a plain loop, and codes whose length is known."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from core.errors import ShapeError
from core.maths.classifier.fitting import fit_classifiers, log_probabilities, standardised
from core.maths.codelength import FEWEST, block_ends, online_code
from tests.core.maths.classifier.test_fitting import TIGHT, planted


def test_blocks_double_and_end_with_the_last_sentence() -> None:
    assert block_ends(640) == (10, 20, 40, 80, 160, 320, 640)
    assert block_ends(100) == (13, 25, 50, 100)  # the first would be smaller than FEWEST
    assert block_ends(FEWEST) == (FEWEST,)
    assert block_ends(3) == (3,)
    with pytest.raises(ShapeError):
        block_ends(0)


def newton(features: np.ndarray, labels: np.ndarray, classes: int, penalty: float) -> np.ndarray:
    """The classifier by Newton's method, every second derivative written out; (feature, class)."""
    items, width = features.shape
    weights = np.zeros(width * classes)
    for _ in range(60):
        logits = features @ weights.reshape(width, classes)
        chances = np.exp(logits - logits.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        gradient = penalty * weights
        hessian = penalty * np.eye(width * classes)
        for item in range(items):
            error = chances[item] - np.eye(classes)[labels[item]]
            spread = np.diag(chances[item]) - np.outer(chances[item], chances[item])
            gradient += np.outer(features[item], error).ravel()
            hessian += np.kron(np.outer(features[item], features[item]), spread)
        weights = weights - np.linalg.solve(hessian, gradient)
    return weights.reshape(width, classes)


@pytest.mark.slow
def test_the_length_equals_a_plain_loop() -> None:
    """Equal to 1e-6 of a bit, over all blocks, layers and label sets; one label does not come in
    the first block."""
    vectors, real, shuffled = planted(items=80, layers=2, width=3)
    real[:12] = np.arange(12) % 3
    features, labels = (
        standardised(vectors, 80).double(),
        torch.from_numpy(np.stack([real, shuffled])),
    )
    ends = (12, 40, 80)

    def fit(count: int, before: torch.Tensor | None) -> torch.Tensor:
        return fit_classifiers(
            features[:, :count], labels[:, :count], 4, 2.0, start=before, **TIGHT
        )  # type: ignore[arg-type]

    def code(weights: torch.Tensor, start: int, end: int) -> np.ndarray:
        found = log_probabilities(features[:, start:end], weights)
        index = np.broadcast_to(labels[None, :, start:end, None].numpy(), (2, 2, end - start, 1))
        costs: np.ndarray = -np.take_along_axis(found.numpy(), index, 3)[..., 0]
        return costs / np.log(2)

    bits, _ = online_code(ends, 4, fit, code)
    for layer in range(2):
        for number, own in enumerate((real, shuffled)):
            total = 12 * math.log2(4)
            for start, end in ((12, 40), (40, 80)):
                weights = newton(features[layer, :start].numpy(), own[:start], 4, 2.0)
                for item in range(start, end):
                    logits = features[layer, item].numpy() @ weights
                    total -= math.log2(
                        math.exp(logits[own[item]]) / sum(math.exp(logit) for logit in logits)
                    )
            assert bits[layer, number].sum() == pytest.approx(total, abs=1e-6)


def test_a_coder_that_learns_nothing_needs_the_uniform_code_and_one_that_knows_needs_the_first_block() -> (
    None
):
    uniform, _ = online_code(
        (4, 8, 16), 8, lambda count, before: count, lambda fitted, a, b: np.full(b - a, 3.0)
    )
    assert uniform.tolist() == [3.0] * 16
    known, last = online_code(
        (4, 16), 8, lambda count, before: count, lambda fitted, a, b: np.zeros(b - a)
    )
    assert known.sum() == 12.0
    assert last == 16


def test_each_block_is_coded_by_what_was_fitted_to_those_before_it() -> None:
    seen: list[tuple[int, int, int]] = []

    def code(fitted: int, start: int, end: int) -> np.ndarray:
        seen.append((fitted, start, end))
        return np.zeros(end - start)

    online_code((2, 5, 9), 3, lambda count, before: count, code)
    assert seen == [(2, 2, 5), (5, 5, 9)]
    for ends in ((), (3, 3), (5, 2), (0, 4)):
        with pytest.raises(ShapeError, match=re.escape(str(ends))):
            online_code(ends, 3, lambda count, before: count, code)
