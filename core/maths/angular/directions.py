"""Directions of edges after a linear map: the angular loss of the polar probe.

An edge is the difference of its dependent's and its head's projected vectors. In the space of a
polar probe, edges of one label point in one direction, and edges of different labels are
orthogonal; the opposite direction is that of the label with head and dependent exchanged. With u_i
the unit vector of edge i and [i ~ j] 1 for edges of one label, else 0, the loss over n edges is

    sum over i, j of (u_i . u_j - [i ~ j])^2 / n^2.

With the unit vectors as rows of U and labels as one-hot rows of Y, the sum is |UU' - YY'|^2 =
|U'U|^2 - 2 |Y'U|^2 + |Y'Y|^2, so that its time grows with n and not with its square; its gradient
with respect to U is 4 (U(U'U) - Y(Y'U)) / n^2.

Reference: Diego-Simón et al. 2024, NeurIPS, "A polar coordinate system represents syntax in large
language models" (edges of one type collinear, those of different types orthogonal, beside the loss
of the structural probe). Deviations: every pair of edges of a batch has the same weight, and the
squared error of the cosine is minimised.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError
from core.maths.angular.arcs import NO_LENGTH


def one_hot(labels: Int[Tensor, "target edge"], classes: int) -> Float[Tensor, "target edge label"]:
    """Mark the label of each edge; an edge labelled -1 has no mark.

    Example:
        >>> one_hot(torch.tensor([[1, -1]]), 2).tolist()
        [[[0.0, 1.0], [0.0, 0.0]]]
    """
    marks = torch.zeros(*labels.shape, classes, dtype=torch.float32, device=labels.device)
    return marks.scatter_(2, labels.clamp(min=0)[..., None], (labels >= 0).float()[..., None])


def unit_vectors(edges: Float[Tensor, "probe edge rank"]) -> Float[Tensor, "probe edge rank"]:
    """Scale edges to length 1; an edge without a direction becomes 0.

    Example:
        >>> unit_vectors(torch.tensor([[[3.0, 4.0], [0.0, 0.0]]])).tolist()
        [[[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]]
    """
    lengths = edges.norm(dim=-1, keepdim=True)
    return torch.where(lengths > NO_LENGTH, edges / lengths.clamp(min=NO_LENGTH), 0.0)


@dataclass(frozen=True)
class AngularSums:
    """Sums over edges from which the loss and the labels' directions follow, in double precision.

    Attributes:
        among: U'U, (probe, rank, rank).
        shared: Y'U, (probe, label, rank).
        counts: Number of edges of each label, (target, label).
    """

    among: Float[Tensor, "probe rank rank"]
    shared: Float[Tensor, "probe label rank"]
    counts: Float[Tensor, "target label"]

    @classmethod
    def of(
        cls, units: Float[Tensor, "probe edge rank"], marks: Float[Tensor, "target edge label"]
    ) -> AngularSums:
        """Sum over edges; those without a mark are left out.

        Args:
            units: Of `unit_vectors`.
            marks: Of `one_hot`; one set of labels for each probe, or one for all.

        Raises:
            ShapeError: If units and marks differ in edges.

        Example:
            >>> units = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
            >>> AngularSums.of(units, one_hot(torch.tensor([[0, 0, 1]]), 2)).loss.tolist()
            [0.0]
        """
        if units.shape[1] != marks.shape[1]:
            raise ShapeError(
                f"{units.shape[1]} edges need as many labels; got {tuple(marks.shape)}."
            )
        marks = marks.double()
        units = units.double() * marks.sum(dim=2, keepdim=True)
        back = marks.transpose(1, 2)
        return cls(units.transpose(1, 2) @ units, back @ units, marks.sum(dim=1))

    def __add__(self, more: AngularSums) -> AngularSums:
        """Sum over these edges and more."""
        return AngularSums(
            self.among + more.among, self.shared + more.shared, self.counts + more.counts
        )

    @property
    def loss(self) -> Float[Tensor, " probe"]:
        """Mean squared error, over pairs of edges, of the cosine of their directions; 0 without
        edges."""
        error = self.among.square().sum(dim=(1, 2)) - 2 * self.shared.square().sum(dim=(1, 2))
        pairs = self.counts.sum(dim=1).square().clamp(min=1)
        return (error + self.counts.square().sum(dim=1)) / pairs

    @property
    def directions(self) -> Float[Tensor, "probe label rank"]:
        """Mean direction of the edges of each label, of length 1; 0 for a label without edges."""
        return unit_vectors(self.shared)


def angular_gradient(
    edges: Float[Tensor, "probe edge rank"], marks: Float[Tensor, "target edge label"]
) -> Float[Tensor, "probe edge rank"]:
    """Gradient of the angular loss with respect to the edges; every edge has a mark.

    Args:
        edges: Of any length; one without a direction has gradient 0.
        marks: As for `AngularSums.of`.

    Example:
        >>> edges = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])
        >>> angular_gradient(edges, one_hot(torch.tensor([[0, 0]]), 1)).tolist()
        [[[0.0, -0.5], [-1.0, 0.0]]]
    """
    lengths, marks = edges.norm(dim=-1, keepdim=True), marks.to(edges.dtype)
    units = unit_vectors(edges)
    back = units.transpose(1, 2)
    error = units @ (back @ units) - marks @ (marks.transpose(1, 2) @ units)
    error -= units * (error * units).sum(dim=-1, keepdim=True)  # a length changes no angle
    scale = 4 / edges.shape[1] ** 2
    return torch.where(lengths > NO_LENGTH, scale * error / lengths.clamp(min=NO_LENGTH), 0.0)
