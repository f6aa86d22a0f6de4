"""A bank of structural probes in training: their maps and the state of their optimisers.

See `core.maths.structural.training`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from core.maths.arrays import Value
from core.maths.structural.batches import Batch, Block
from core.maths.structural.probe import (
    depth_gradient,
    distance_gradient,
    squared_distances,
    squared_norms,
    weighted_error,
)
from core.maths.structural.schedule import (
    BETAS,
    DECAY,
    EPSILON,
    IMPROVEMENT,
    LEARNING_RATE,
    PATIENCE,
    STILL,
)

STATE = ("best", "maps", "first", "second", "targets")
NUMBERS = ("steps", "rate", "minimum")
LISTS = ("rows", "active", "best_epoch")


@dataclass(frozen=True)
class Neighbours:
    """Neighbours among the layers that are read, the slice of their probes, and how many probes
    each of the layers has."""

    layers: slice
    probes: slice
    each: int


class Scratch:
    """Memory that every step uses again: named blocks that grow to the largest array asked for.

    A wide bank's step makes arrays of some ten megabytes. The C library maps blocks of that size
    anew each time and the system clears them, page by page: a fifth of the processor's time.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, torch.dtype], Tensor] = {}

    def take(
        self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> Tensor:
        """An array of this shape with arbitrary numbers, in the memory of the last of this name and
        type.

        Example:
            >>> scratch, cpu = Scratch(), torch.device("cpu")
            >>> first = scratch.take("rows", (2, 3), torch.float32, cpu)
            >>> scratch.take("rows", (4,), torch.float32, cpu).data_ptr() == first.data_ptr()
            True
        """
        size = prod(shape)
        block = self._blocks.get((name, dtype))
        if block is None or len(block) < size:
            block = torch.empty(size, dtype=dtype, device=device)
            self._blocks[name, dtype] = block
        return block[:size].view(*shape)

    def like(self, name: str, pattern: Tensor) -> Tensor:
        """`take` an array of the shape, type and device of another."""
        return self.take(name, pattern.shape, pattern.dtype, pattern.device)


class Bank:
    """State of a bank in training, sorted by layer: maps, moments, rates, and the active probes."""

    def __init__(self, maps: Tensor, rows: list[int], targets: list[int], kind: str) -> None:
        self.best, self.maps, self.rows = maps.clone(), maps, rows
        self.targets, self.pairs = torch.tensor(targets, device=maps.device), kind == "distance"
        first = targets[0]  # that of all probes, unless they differ
        self.shared = slice(first, first + 1) if len(set(targets)) == 1 else None
        self.best_epoch = [-1] * len(maps)
        self.minimum = np.full(len(maps), np.inf)
        self.active = list(range(len(maps)))
        self.first, self.second = torch.zeros_like(maps), torch.zeros_like(maps)
        self.steps = np.zeros(len(maps))
        self.rate = np.full_like(self.steps, LEARNING_RATE)
        self.products, self.scratch = maps.dtype, Scratch()
        self._arrange()

    def state(self) -> Value:
        """Everything needed to resume training."""
        tensors = {name: getattr(self, name).cpu().numpy() for name in STATE}
        return tensors | {name: getattr(self, name) for name in (*NUMBERS, *LISTS)}

    def restore(self, state: Value) -> None:
        """Resume from the output of `state`, in a new run of the same probes."""
        for name in STATE:  # copied, so that memory is aligned as torch aligns it
            setattr(self, name, torch.tensor(state[name], device=self.maps.device))
        for name in NUMBERS:
            setattr(self, name, np.array(state[name]))
        for name in LISTS:
            setattr(self, name, list(state[name]))
        self._arrange()

    def step(self, vectors: Float[Tensor, "item layer d_model"], batch: Batch) -> None:
        """Take one step of Adam for each probe; probes share no parameters."""
        read = self._read(vectors, batch, self.products)
        projected = self._project(read)
        self.differentiate(projected, batch)
        projected = self._converted("projected", projected, read.dtype)
        gradient = self.scratch.take("gradient", self.maps.shape, read.dtype, read.device)
        for group in self.groups:
            stacked = self._stacked(projected, group)
            if group.each > 1:
                _apart(stacked, group).copy_(_of_group(projected, group))
            torch.bmm(
                stacked.transpose(1, 2),
                read[:, group.layers].transpose(0, 1),
                out=gradient[group.probes].view(len(stacked), -1, read.shape[2]),
            )
        self._adam(self._converted("gradient", gradient, self.maps.dtype))

    def differentiate(self, projected: Float[Tensor, "probe item rank"], batch: Batch) -> None:
        """Replace projected words by the gradient of the batch's loss with respect to them."""
        for block, part in _in_blocks(projected, batch):
            gradient = distance_gradient if self.pairs else depth_gradient
            part.copy_(gradient(part, self._own(block.gold), block.weights))

    def mean_loss(self, vectors: Tensor, batches: Sequence[Batch]) -> Float[np.ndarray, " active"]:
        """Mean loss over sentences, for each active probe."""
        total, count = torch.zeros(len(self.active), dtype=torch.float64, device=vectors.device), 0
        for batch in batches:
            projected = self._project(self._read(vectors, batch, self.maps.dtype))
            for block, part in _in_blocks(projected, batch):
                predicted = squared_distances(part) if self.pairs else squared_norms(part)
                loss = weighted_error(predicted, self._own(block.gold), block.weights)
                total += loss.double() * batch.sentences
            count += batch.sentences
        return (total / count).cpu().numpy()

    def end_epoch(
        self, epoch: int, losses: Float[np.ndarray, " active"], steps: int
    ) -> Float[np.ndarray, " probe"]:
        """Keep new minima, lower the rate of the other probes, drop those that have stopped.

        Args:
            epoch: Its number, from 0.
            losses: Development losses of the active probes.
            steps: Steps of an epoch.

        Returns:
            The losses by probe; NaN where one had stopped before.
        """
        row = np.full(len(self.best), np.nan)
        row[self.active] = losses
        keep = []
        for slot, probe in enumerate(self.active):
            if losses[slot] < self.minimum[probe] - IMPROVEMENT:
                self.minimum[probe], self.best_epoch[probe] = losses[slot], epoch
                self.best[probe] = self.maps[slot]
            else:
                self.rate[slot] *= DECAY
                for state in (self.first, self.second, self.steps):
                    state[slot] = 0
            moving = steps * self.rate[slot] >= STILL
            if epoch - self.best_epoch[probe] < PATIENCE and moving:
                keep.append(slot)
        if len(keep) < len(self.active):
            self._shrink(keep)
        return row

    def project_items(
        self, read: Float[Tensor, "item layer d_model"]
    ) -> Float[Tensor, "probe item rank"]:
        """Words projected by every active probe, each from its layer."""
        if len(self.read) < read.shape[1]:
            read = read.index_select(1, self.read)
        return self._project(in_precision(read, self.maps.dtype))

    def _project(
        self, read: Float[Tensor, "item layer d_model"]
    ) -> Float[Tensor, "probe item rank"]:
        """Words projected by products in the precision of the words, in that of the maps."""
        maps = self._converted("maps", self.maps, read.dtype)
        probes, rank, d_model = maps.shape
        shape = (probes, len(read), rank)
        projected = self.scratch.take("projected", shape, read.dtype, read.device)
        for group in self.groups:
            stacked = self._stacked(projected, group)
            torch.bmm(
                read[:, group.layers].transpose(0, 1),
                maps[group.probes].view(len(stacked), -1, d_model).transpose(1, 2),
                out=stacked,
            )
            if group.each > 1:
                _of_group(projected, group).copy_(_apart(stacked, group))
        return self._converted("projected", projected, self.maps.dtype)

    def _read(
        self, vectors: Float[Tensor, "item layer d_model"], batch: Batch, precision: torch.dtype
    ) -> Float[Tensor, "item layer d_model"]:
        """The vectors of a batch at the layers of active probes, in a precision; see
        `in_precision`."""
        (_, layers, d_model), words = vectors.shape, batch.words
        if len(self.read) < layers:
            words = (words[:, None] * layers + self.read).flatten()
            vectors = vectors.view(-1, 1, d_model)
        shape = (len(words), *vectors.shape[1:])
        read = self.scratch.take("read", shape, vectors.dtype, vectors.device)
        torch.index_select(vectors, 0, words, out=read)
        for dtype in _steps(read.dtype, precision):
            read = self._converted("converted", read, dtype)
        return read.view(len(batch.words), -1, d_model)

    def _converted(self, name: str, numbers: Tensor, precision: torch.dtype) -> Tensor:
        """These numbers in a precision, in the memory of that name if it is another one."""
        if numbers.dtype == precision:
            return numbers
        block = self.scratch.take(name, numbers.shape, precision, numbers.device)
        return block.copy_(numbers)

    def _own(self, gold: Float[Tensor, "target ..."]) -> Float[Tensor, "probe ..."]:
        """The trees of each probe; one set for all that have the same."""
        if len(gold) == 1:
            return gold
        return gold.index_select(0, self.targets) if self.shared is None else gold[self.shared]

    def _stacked(
        self, projected: Float[Tensor, "probe item rank"], group: Neighbours
    ) -> Float[Tensor, "layer item stack"]:
        """Memory for the words of a group's layers as all probes of a layer project them; where a
        layer has one, that of `projected`."""
        if group.each == 1:
            return projected[group.probes]
        layers, (_, items, rank) = group.layers.stop - group.layers.start, projected.shape
        shape = (layers, items, group.each * rank)
        return self.scratch.take("stacked", shape, projected.dtype, projected.device)

    def _adam(self, gradient: Tensor) -> None:
        """Adam with a rate and a step count for every probe, both changed at its plateaus."""
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = np.sqrt(1 - BETAS[1] ** self.steps)
        # of the denominator: -rate * root / (1 - beta^t)
        scale = (BETAS[0] ** self.steps - 1) / (self.rate * root)
        shift, scaled = (
            torch.from_numpy(part).to(gradient).view(-1, 1, 1)
            for part in (scale * root * EPSILON, scale)
        )
        denominator = torch.sqrt(self.second, out=self.scratch.like("denominator", self.second))
        torch.addcmul(shift, denominator, scaled, out=denominator)
        self.maps.addcdiv_(self.first, denominator)

    def _shrink(self, keep: list[int]) -> None:
        """Shrink the bank to these slots."""
        self.active = [self.active[slot] for slot in keep]
        self.rows = [self.rows[slot] for slot in keep]
        self.targets, self.maps, self.first, self.second = (
            state[keep] for state in (self.targets, self.maps, self.first, self.second)
        )
        self.steps, self.rate = self.steps[keep], self.rate[keep]
        self._arrange()

    def _arrange(self) -> None:
        """Note which layers the active probes read, and which of them as many probes."""
        counts = list(Counter(self.rows).items())
        self.read = torch.tensor([row for row, _ in counts], device=self.maps.device)
        self.groups, layer, probe = [], 0, 0
        for each, some in groupby(count for _, count in counts):
            layers = len(list(some))
            stop = probe + layers * each
            self.groups.append(Neighbours(slice(layer, layer + layers), slice(probe, stop), each))
            layer, probe = layer + layers, stop


def in_precision(
    read: Float[Tensor, "item layer d_model"], precision: torch.dtype
) -> Float[Tensor, "item layer d_model"]:
    """Vectors in the precision of the maps.

    Example:
        >>> in_precision(torch.ones(1, 1, 1, dtype=torch.float16), torch.float64).dtype
        torch.float64
    """
    for dtype in _steps(read.dtype, precision):
        read = read.to(dtype)
    return read


def _steps(given: torch.dtype, wanted: torch.dtype) -> tuple[torch.dtype, ...]:
    """Precisions to convert to, one after another.

    Half precision goes to double or bfloat16 through single: the numbers are the same, and it is
    two to three times as fast, because torch has no vector instructions from half to these.
    """
    if given == wanted:
        return ()
    through = given is torch.float16 and wanted is not torch.float32
    return (torch.float32, wanted) if through else (wanted,)


def _in_blocks(
    projected: Float[Tensor, "probe item rank"], batch: Batch
) -> Iterator[tuple[Block, Float[Tensor, "probe ... rank"]]]:
    """The blocks of a batch with their words, by sentence where words are paired."""
    parts = projected.split([block.items for block in batch.blocks], dim=1)
    for block, part in zip(batch.blocks, parts, strict=True):
        paired = block.gold.ndim == 4
        yield block, part.view(len(part), *block.gold.shape[1:3], -1) if paired else part


def _of_group(
    projected: Float[Tensor, "probe item rank"], group: Neighbours
) -> Float[Tensor, "layer item each rank"]:
    """The words of a group's probes."""
    return projected[group.probes].view(-1, group.each, *projected.shape[1:]).transpose(1, 2)


def _apart(
    stacked: Float[Tensor, "layer item stack"], group: Neighbours
) -> Float[Tensor, "layer item each rank"]:
    """The same from the memory of `Bank._stacked`."""
    return stacked.view(*stacked.shape[:2], group.each, -1)
