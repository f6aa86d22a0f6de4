"""A bank of structural probes in training: their maps and the state of their optimisers.

See `core.maths.structural.training`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from core.maths.arrays import Value
from core.maths.structural.batches import Batch, Block
from core.maths.structural.probe import (
    depth_gradient,
    depth_loss,
    distance_gradient,
    distance_loss,
    squared_distances,
    squared_norms,
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
from core.maths.structural.scratch import Scratch

STATE = ("best", "maps", "first", "second", "steps", "rate", "targets")
LISTS = ("rows", "active", "best_epoch")


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
        self.steps = torch.zeros_like(maps[:, :1, :1])
        self.rate = torch.full_like(self.steps, LEARNING_RATE)
        self.products, self.scratch = maps.dtype, Scratch()

    def state(self) -> Value:
        """Everything needed to resume training."""
        tensors = {name: getattr(self, name).cpu().numpy() for name in STATE}
        return tensors | {"minimum": self.minimum, **{name: getattr(self, name) for name in LISTS}}

    def restore(self, state: Value) -> None:
        """Resume from the output of `state`, in a new run of the same probes."""
        for name in STATE:  # copied, so that memory is aligned as torch aligns it
            setattr(self, name, torch.tensor(state[name], device=self.maps.device))
        self.minimum = np.array(state["minimum"])
        for name in LISTS:
            setattr(self, name, list(state[name]))

    def step(self, vectors: Float[Tensor, "item layer d_model"], batch: Batch) -> None:
        """Take one step of Adam for each probe; probes share no parameters."""
        read = self._read(vectors, batch, self.products)
        projected = self._project(read)
        self.differentiate(projected, batch)
        projected = self._converted("projected", projected, read.dtype)
        gradient = self.scratch.take("gradient", self.maps.shape, read.dtype, read.device)
        for row, mine in self._by_layer():
            # All probes of a layer read the same vectors without a copy.
            torch.bmm(
                projected[mine].transpose(1, 2),
                read[:, row].expand(mine.stop - mine.start, -1, -1),
                out=gradient[mine],
            )
        self._adam(self._converted("gradient", gradient, self.maps.dtype))

    def differentiate(self, projected: Float[Tensor, "probe item rank"], batch: Batch) -> None:
        """Replace projected words by the gradient of the batch's loss with respect to them."""
        for block in batch.blocks:
            part = projected[:, block.places]
            gold, weights = (
                tensor.to(part.dtype) for tensor in (self._own(block.gold), block.weights)
            )
            if self.pairs:
                part.copy_(
                    distance_gradient(_in_sentences(part, block), gold, weights).flatten(1, 2)
                )
            else:
                part.copy_(depth_gradient(part, gold.flatten(1), weights.flatten()))

    def mean_loss(self, vectors: Tensor, batches: Sequence[Batch]) -> Float[np.ndarray, " active"]:
        """Mean loss over sentences, for each active probe."""
        total, count = torch.zeros(len(self.active), dtype=torch.float64, device=vectors.device), 0
        for batch in batches:
            projected = self._project(self._read(vectors, batch, self.maps.dtype))
            for block in batch.blocks:
                part = _in_sentences(projected[:, block.places], block)
                gold = self._own(block.gold).to(part.dtype)
                losses = (
                    distance_loss(squared_distances(part), gold, block.lengths)
                    if self.pairs
                    else depth_loss(squared_norms(part), gold, block.lengths)
                )
                total += losses.double() * len(block.lengths)
                count += len(block.lengths)
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
            moving = steps * float(self.rate[slot]) >= STILL
            if epoch - self.best_epoch[probe] < PATIENCE and moving:
                keep.append(slot)
        if len(keep) < len(self.active):
            self._shrink(keep)
        return row

    def project_items(
        self, read: Float[Tensor, "item layer d_model"]
    ) -> Float[Tensor, "probe item rank"]:
        """Words projected by every active probe, each from its layer."""
        return self._project(in_precision(read, self.maps.dtype))

    def _project(
        self, read: Float[Tensor, "item layer d_model"]
    ) -> Float[Tensor, "probe item rank"]:
        """Words projected by products in the precision of the words, in that of the maps."""
        maps = self._converted("maps", self.maps, read.dtype)
        probes, rank, _ = maps.shape
        shape = (probes, len(read), rank)
        projected = self.scratch.take("projected", shape, read.dtype, read.device)
        for row, mine in self._by_layer():
            torch.bmm(
                read[:, row].expand(mine.stop - mine.start, -1, -1),
                maps[mine].transpose(1, 2),
                out=projected[mine],
            )
        return self._converted("projected", projected, self.maps.dtype)

    def _read(
        self, vectors: Float[Tensor, "item layer d_model"], batch: Batch, precision: torch.dtype
    ) -> Float[Tensor, "item layer d_model"]:
        """The vectors of a batch in a precision; see `in_precision`."""
        shape = (len(batch.words), *vectors.shape[1:])
        read = self.scratch.take("read", shape, vectors.dtype, vectors.device)
        torch.index_select(vectors, 0, batch.words, out=read)
        for dtype in _steps(read.dtype, precision):
            read = self._converted("converted", read, dtype)
        return read

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

    def _by_layer(self) -> list[tuple[int, slice]]:
        """Pairs of a row of the vectors and the slice of probes that read it."""
        blocks, start = [], 0
        for row, members in groupby(self.rows):
            stop = start + len(list(members))
            blocks.append((row, slice(start, stop)))
            start = stop
        return blocks

    def _adam(self, gradient: Tensor) -> None:
        """Adam with a rate and a step count for every probe, both changed at its plateaus."""
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = (1 - BETAS[1] ** self.steps).sqrt()
        scale = (BETAS[0] ** self.steps - 1) / (
            self.rate * root
        )  # of the denominator: -rate * root / (1 - beta^t)
        denominator = torch.sqrt(self.second, out=self.scratch.like("denominator", self.second))
        torch.addcmul(scale * root * EPSILON, denominator, scale, out=denominator)
        self.maps.addcdiv_(self.first, denominator)

    def _shrink(self, keep: list[int]) -> None:
        """Shrink the bank to these slots."""
        self.active = [self.active[slot] for slot in keep]
        self.rows = [self.rows[slot] for slot in keep]
        self.targets, self.maps, self.first, self.second, self.steps, self.rate = (
            state[keep]
            for state in (self.targets, self.maps, self.first, self.second, self.steps, self.rate)
        )


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


def _in_sentences(
    part: Float[Tensor, "probe item rank"], block: Block
) -> Float[Tensor, "probe sentence word rank"]:
    """Reshape a block's words by sentence."""
    return part.reshape(len(part), *block.shape, part.shape[2])
