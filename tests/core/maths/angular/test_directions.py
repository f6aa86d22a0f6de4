"""Directions of edges: loss and gradient against slow loops."""

from __future__ import annotations

import pytest
import torch

from core.errors import ShapeError
from core.maths.angular.directions import (
    AngularSums,
    angular_gradient,
    one_hot,
    unit_vectors,
)

LABELS = torch.tensor([[0, 2, 1, 0, 2, 2, 1], [1, 1, 0, 2, 0, 1, 2]])


def edges_of(probes: int = 2, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(probes, LABELS.shape[1], 5, generator=generator, dtype=torch.float64)


def slow_loss(edges: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean over pairs of edges with a label, pair by pair."""
    losses = []
    for own, named in zip(edges, labels, strict=True):
        there = [i for i, label in enumerate(named.tolist()) if label >= 0]
        terms = [
            (torch.cosine_similarity(own[i], own[j], dim=0) - float(named[i] == named[j])) ** 2
            for i in there
            for j in there
        ]
        losses.append(torch.stack(terms).mean())
    return torch.stack(losses)


def test_the_loss_is_that_of_a_slow_loop_over_pairs_of_edges() -> None:
    edges = edges_of()
    fast = AngularSums.of(unit_vectors(edges), one_hot(LABELS, 3)).loss
    torch.testing.assert_close(fast, slow_loss(edges, LABELS))
    shared = AngularSums.of(unit_vectors(edges), one_hot(LABELS[:1], 3)).loss
    torch.testing.assert_close(shared, slow_loss(edges, LABELS[:1].expand(2, -1)))


def test_edges_of_unknown_label_are_in_no_pair() -> None:
    edges, labels = edges_of(), LABELS.clone()
    labels[0, 1] = labels[1, 4] = -1
    fast = AngularSums.of(unit_vectors(edges), one_hot(labels, 3)).loss
    torch.testing.assert_close(fast, slow_loss(edges, labels))


def test_the_gradient_is_that_of_autograd() -> None:
    edges = edges_of(seed=1).requires_grad_(True)
    slow_loss(edges, LABELS).sum().backward()
    assert edges.grad is not None
    fast = angular_gradient(edges.detach(), one_hot(LABELS, 3).double())
    torch.testing.assert_close(fast, edges.grad)


def test_an_edge_between_equal_vectors_has_no_direction_and_no_gradient() -> None:
    edges = edges_of()
    edges[:, 3] = 0
    marks = one_hot(LABELS, 3).double()
    assert torch.isfinite(angular_gradient(edges, marks)).all()
    assert not angular_gradient(edges, marks)[:, 3].any()
    assert not unit_vectors(edges)[:, 3].any()


def test_a_direction_per_label_has_no_loss_and_the_opposite_one_has_the_most() -> None:
    axes = torch.eye(3, dtype=torch.float64)[LABELS[:1]]
    marks = one_hot(LABELS[:1], 3)
    assert float(AngularSums.of(axes, marks).loss) == pytest.approx(0.0, abs=1e-12)
    turned = axes.clone()
    turned[:, 0] *= -1
    same = int((LABELS[0] == 0).sum()) - 1
    assert float(AngularSums.of(turned, marks).loss) == pytest.approx(
        2 * same * 4 / LABELS.shape[1] ** 2
    )


def test_a_label_has_the_mean_direction_of_its_edges() -> None:
    units = unit_vectors(edges_of())
    got = AngularSums.of(units, one_hot(LABELS, 4)).directions
    for probe in range(2):
        for label in range(3):
            mean = units[probe, LABELS[probe] == label].mean(dim=0)
            torch.testing.assert_close(got[probe, label], mean / mean.norm())
        assert not got[probe, 3].any()


def test_labels_must_fit_edges() -> None:
    units = unit_vectors(edges_of())
    with pytest.raises(ShapeError, match="7 edges"):
        AngularSums.of(units, one_hot(LABELS[:, :3], 3))
    assert not AngularSums.of(units, one_hot(torch.full_like(LABELS, -1), 3)).loss.any()


def test_sums_of_parts_are_those_of_the_whole() -> None:
    units, marks = unit_vectors(edges_of()), one_hot(LABELS, 3)
    parts = (AngularSums.of(units[:, rows], marks[:, rows]) for rows in (slice(3), slice(3, None)))
    first, second = parts
    torch.testing.assert_close((first + second).loss, AngularSums.of(units, marks).loss)


def test_marks_are_single_whatever_another_thread_makes_the_default() -> None:
    """Loading a model in double precision changes torch's default while it lasts."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        marks = one_hot(LABELS, 3)
    finally:
        torch.set_default_dtype(usual)
    assert torch.equal(marks, one_hot(LABELS, 3))
