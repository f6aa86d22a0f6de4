"""Training a bank of polar probes: the structural probe's loss and schedule, and the angular loss.

A probe's loss on a batch is that of the distance probe plus `weight` times the angular loss of the
batch's edges; with weight 0 it is a distance probe. Its development loss is the same sum, with the
angles of all development edges together.

Reference: Diego-Simón et al. 2024, NeurIPS; Hewitt & Manning 2019, NAACL, for the schedule.
Deviations: see `directions` and `core.maths.structural.training`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError, SpecError
from core.maths.angular.arcs import LabelledEdges
from core.maths.angular.directions import (
    AngularSums,
    angular_gradient,
    one_hot,
    unit_vectors,
)
from core.maths.structural.bank import Bank
from core.maths.structural.batches import Batch, Packer, ProbeData
from core.maths.structural.schedule import EPOCHS
from core.maths.structural.training import DEV_BATCH, Probe, TrainedBank, train_bank


@dataclass(frozen=True)
class EdgeData(ProbeData):
    """Sentences as a polar probe sees them: vectors, one set of tree distances, labelled edges.

    Attributes:
        edges: Between words that have a place in the tree.
        classes: Number of labels.
    """

    edges: LabelledEdges
    classes: int

    @property
    def targets(self) -> int:
        """Sets of labels of the edges."""
        return len(self.edges.labels)


@dataclass(frozen=True)
class EdgeBatch(Batch):
    """A batch with its edges: places of heads and dependents in the batch, and marks of labels."""

    heads: Int[Tensor, " edge"]
    dependents: Int[Tensor, " edge"]
    marks: Float[Tensor, "target edge label"]

    def edges_of(
        self, projected: Float[Tensor, "probe item rank"]
    ) -> Float[Tensor, "probe edge rank"]:
        """Dependents minus heads."""
        return projected.index_select(1, self.dependents) - projected.index_select(1, self.heads)


class EdgePacker(Packer):
    """Packs sentences with their edges."""

    def __init__(
        self,
        data: EdgeData,
        size: int,
        device: str = "cpu",
        precision: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(data, size, device, precision)
        self.edges, self.classes = data.edges, data.classes
        self.first = np.searchsorted(data.edges.sentence, np.arange(len(self.lengths) + 1))

    def pack(self, batches: Sequence[Int[np.ndarray, " sentence"]]) -> Sequence[EdgeBatch]:
        """These sentences, an array for each batch."""
        packed = zip(super().pack(batches), batches, strict=True)
        return [self._with_edges(batch, sentences) for batch, sentences in packed]

    def _with_edges(self, batch: Batch, sentences: Int[np.ndarray, " sentence"]) -> EdgeBatch:
        """A batch with the edges of its sentences."""
        rows, shifts, start = [], [], 0
        for number in np.unique(self.shelf[sentences]):  # in the order of the batch's blocks
            width = self.shelves[number].words.shape[1]
            for sentence in sentences[self.shelf[sentences] == number]:
                mine = np.arange(self.first[sentence], self.first[sentence + 1])
                rows.append(mine)
                shifts.append(np.full(len(mine), start))
                start += width
        every, shift = np.concatenate(rows), np.concatenate(shifts)
        places = (self.edges.head[every] + shift, self.edges.dependent[every] + shift)
        heads, dependents, labels = (
            torch.from_numpy(np.ascontiguousarray(part)).to(self.device)
            for part in (*places, self.edges.labels[:, every])
        )
        marks = one_hot(labels, self.classes)
        return EdgeBatch(batch.words, batch.blocks, batch.sentences, heads, dependents, marks)


class PolarBank(Bank):
    """A bank of polar probes in training."""

    def __init__(
        self, maps: Tensor, rows: list[int], targets: list[int], kind: str, *, weight: float
    ) -> None:
        super().__init__(maps, rows, targets, kind)
        self.weight = weight

    def differentiate(self, projected: Tensor, batch: Batch) -> None:
        """Add the gradient of the angles to that of the distances."""
        assert isinstance(batch, EdgeBatch)
        angles = None
        if self.weight and len(batch.heads):
            edges = batch.edges_of(projected)
            angles = self.weight * angular_gradient(edges, self._own(batch.marks))
        super().differentiate(projected, batch)
        if angles is not None:
            projected.index_add_(1, batch.dependents, angles)
            projected.index_add_(1, batch.heads, angles, alpha=-1)

    def mean_loss(self, vectors: Tensor, batches: Sequence[Batch]) -> Float[np.ndarray, " active"]:
        """Mean loss over sentences, plus the weighted loss of all edges' angles."""
        distances = super().mean_loss(vectors, batches)
        if not self.weight:
            return distances
        angles = sum_angles(vectors, batches, self.project_items, self._own).loss
        return distances + self.weight * angles.cpu().numpy()


def sum_angles(
    vectors: Tensor,
    batches: Sequence[Batch],
    project: Callable[[Tensor], Tensor],
    choose: Callable[[Tensor], Tensor],
) -> AngularSums:
    """Sums over the edges of all batches.

    Args:
        vectors: Of all words.
        batches: Of an `EdgePacker`; one at least.
        project: Vectors -> the words in each probe's space.
        choose: Marks of all sets of labels -> those of each probe, or one set for all.
    """
    parts = []
    for batch in batches:
        assert isinstance(batch, EdgeBatch)
        projected = project(vectors.index_select(0, batch.words))
        units = unit_vectors(batch.edges_of(projected))
        parts.append(AngularSums.of(units, choose(batch.marks)))
    first, *rest = parts
    return sum(rest, start=first)


def train_polar_bank(
    train: EdgeData,
    dev: EdgeData,
    probes: Sequence[Probe],
    *,
    weight: float,
    layers: Sequence[int],
    seed: int = 0,
    epochs: int = EPOCHS,
    exact: bool = True,
    device: str = "cpu",
    report: Callable[[float, str], None] | None = None,
) -> tuple[TrainedBank, Float[np.ndarray, "probe label rank"]]:
    """Train polar probes until each has stopped, as `train_bank` does.

    Args:
        train, dev: Training sentences, and those that decide when a probe stops.
        probes: The probes; a target is a set of labels.
        weight: Of the angular loss; 0 for distance probes.
        layers, seed, epochs, exact, device, report: As for `train_bank`.

    Returns:
        The bank, and each label's mean direction over the training edges.

    Raises:
        SpecError: For a negative weight, and as `train_bank`.
        ShapeError: If no training edge has a label, and as `train_bank`.
    """
    if weight < 0:
        raise SpecError(f"The weight of the angles is 0 or more; got {weight:g}.")
    if not (train.edges.labels >= 0).any():
        raise ShapeError("A polar probe needs labelled edges; no training edge has a label.")
    bank = train_bank(
        train, dev, probes, layers=layers, seed=seed, epochs=epochs, exact=exact,
        device=device, report=report,
        bank_of=partial(PolarBank, weight=weight), packer_of=EdgePacker,
    )  # fmt: skip
    rows = [list(layers).index(probe.layer) for probe in probes]
    maps = torch.from_numpy(bank.maps).double()
    means = torch.zeros(len(probes), train.classes, maps.shape[1], dtype=torch.float32)
    batches = list(EdgePacker(train, DEV_BATCH).epoch())
    for place, (row, probe) in enumerate(zip(rows, probes, strict=True)):
        sums = sum_angles(
            train.vectors[:, row], batches, partial(_project_rows, maps[place]),
            itemgetter([probe.target]),
        )  # fmt: skip
        means[place] = sums.directions[0]
    return bank, means.numpy()


def _project_rows(
    rows: Float[Tensor, "rank d_model"], read: Float[Tensor, "item d_model"]
) -> Float[Tensor, "one item rank"]:
    """Vectors of one layer in the space of one probe."""
    return (read.to(rows.dtype) @ rows.T)[None]
