"""Distances and losses against loops written straight from the paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.errors import ShapeError
from core.maths.structural.batches import Packer, ProbeData
from core.maths.structural.probe import (
    PADDING,
    depth_gradient,
    distance_gradient,
    project,
    squared_distances,
    squared_norms,
    weighted_error,
)

RNG = np.random.default_rng(3)


@pytest.fixture
def bank() -> torch.Tensor:
    return torch.from_numpy(RNG.normal(size=(3, 4, 6))).float()


def test_distances_are_squared_norms_of_projected_differences(bank: torch.Tensor) -> None:
    vectors = torch.from_numpy(RNG.normal(size=(3, 10, 6))).float()
    projected = project(bank, vectors).view(3, 2, 5, 4)
    distances, depths = squared_distances(projected), squared_norms(projected)
    sentences = vectors.view(3, 2, 5, 6)
    for layer in range(3):
        for sentence in range(2):
            for i in range(5):
                a = bank[layer] @ sentences[layer, sentence, i]
                assert float(depths[layer, sentence, i]) == pytest.approx(float(a @ a), rel=1e-4)
                for j in range(5):
                    step = bank[layer] @ (
                        sentences[layer, sentence, i] - sentences[layer, sentence, j]
                    )
                    assert float(distances[layer, sentence, i, j]) == pytest.approx(
                        float(step @ step), rel=1e-4, abs=1e-4
                    )


def test_distances_do_not_notice_a_shift_or_a_rotation_of_the_subspace(bank: torch.Tensor) -> None:
    projected = torch.from_numpy(RNG.normal(size=(3, 2, 5, 4))).float()
    turn = torch.from_numpy(np.linalg.qr(RNG.normal(size=(4, 4)))[0]).float()
    before = squared_distances(projected)
    assert torch.allclose(before, squared_distances(projected @ turn + 300.0), atol=1e-2)
    assert torch.allclose(before, squared_distances(projected @ turn), atol=1e-4)


def test_distances_are_never_negative_and_zero_to_oneself() -> None:
    far = (
        torch.full((1, 1, 6, 8), 1e4)
        + torch.from_numpy(RNG.normal(size=(1, 1, 6, 8))).float() * 1e-3
    )
    distances = squared_distances(far)
    assert float(distances.min()) == 0.0
    assert torch.equal(distances.diagonal(dim1=2, dim2=3), torch.zeros(1, 1, 6))


def test_gradient_is_that_of_the_difference_vectors() -> None:
    vectors = torch.from_numpy(RNG.normal(size=(1, 5, 6)))
    bank = torch.from_numpy(RNG.normal(size=(1, 4, 6))).requires_grad_()
    weights = torch.from_numpy(RNG.normal(size=(5, 5)))
    (ours,) = torch.autograd.grad(
        (squared_distances(project(bank, vectors)[:, None])[0, 0] * weights).sum(), bank
    )
    differences = (vectors[0][:, None] - vectors[0][None]) @ bank[0].T
    (slow,) = torch.autograd.grad((differences.square().sum(-1) * weights).sum(), bank)
    assert torch.allclose(ours, slow, atol=1e-9)


def padded_gold(lengths: list[int], targets: int, dimensions: int) -> torch.Tensor:
    """Symmetric whole numbers, -1 where padded."""
    longest = max(lengths)
    gold = torch.full(
        (targets, len(lengths), *[longest] * dimensions), float(PADDING), dtype=torch.float64
    )
    for row, n in enumerate(lengths):
        values = torch.from_numpy(RNG.integers(0, 4, (targets, *[n] * dimensions))).double()
        inside = (slice(None), row, *[slice(n)] * dimensions)
        gold[inside] = values if dimensions == 1 else values + values.transpose(1, 2)
    return gold


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 3e-7)])
def test_closed_form_gradients_are_autograds(targets: int, dtype: torch.dtype, most: float) -> None:
    lengths = [7, 5, 2]
    count = torch.tensor(lengths)
    words = torch.from_numpy(RNG.normal(size=(3, 3, 7, 4))).to(dtype).requires_grad_()
    gold = padded_gold(lengths, targets, 2).to(dtype)
    weights = (gold[0] != PADDING).to(dtype) / count.square().view(-1, 1, 1) / len(lengths)
    loss = (squared_distances(words) - gold).abs() * weights
    (slow,) = torch.autograd.grad(loss.sum(), words)
    assert float((distance_gradient(words.detach(), gold, weights) - slow).abs().max()) < most
    depths = padded_gold(lengths, targets, 1).to(dtype)
    weights = (depths[0] != PADDING).to(dtype) / count.view(-1, 1) / len(lengths)
    loss = (squared_norms(words) - depths).abs() * weights
    (slow,) = torch.autograd.grad(loss.sum(), words)
    fast = depth_gradient(words.detach().flatten(1, 2), depths.flatten(1), weights.flatten())
    assert float((fast.view(slow.shape) - slow).abs().max()) < most


@pytest.mark.parametrize("dimensions", [1, 2], ids=["depth", "distance"])
def test_losses_count_each_sentence_once_and_ignore_padding(dimensions: int) -> None:
    """With the weights that a packer gives, and the first of two targets' gold or both."""
    lengths = [3, 5]
    gold = padded_gold(lengths, 2, dimensions)
    trees = [gold[(slice(None), row, *[slice(n)] * dimensions)] for row, n in enumerate(lengths)]
    data = ProbeData(torch.zeros(8, 1, 2), [tree.numpy().astype(int) for tree in trees])
    (batch,) = Packer(data, 2).pack([np.arange(2)])
    words = torch.from_numpy(RNG.normal(size=(2, 8, 3)))  # probe, item, rank
    expected = torch.zeros(2, dtype=torch.float64)
    for sentence, tree in zip(words.split(lengths, dim=1), trees, strict=True):
        each = sentence[:, None] if dimensions == 2 else sentence
        predicted = squared_distances(each)[:, 0] if dimensions == 2 else squared_norms(each)
        expected += (predicted - tree).abs().flatten(1).mean(dim=1) / 2
    given, read = torch.zeros(2, dtype=torch.float64), words[:, batch.words]
    for block, part in zip(
        batch.blocks, read.split([block.items for block in batch.blocks], 1), strict=True
    ):
        shaped = part.reshape(2, *block.gold.shape[1:3], 3) if dimensions == 2 else part
        predicted = squared_distances(shaped) if dimensions == 2 else squared_norms(shaped)
        given += weighted_error(predicted, block.gold, block.weights)
    assert torch.allclose(given, expected, atol=1e-12)


def test_shapes_that_would_broadcast_are_refused(bank: torch.Tensor) -> None:
    with pytest.raises(ShapeError, match="2 sets of vectors of 6 "):
        project(bank, torch.zeros(2, 4, 6))
    with pytest.raises(ShapeError, match="3 sets of vectors of 5 "):
        project(bank, torch.zeros(3, 4, 5))
