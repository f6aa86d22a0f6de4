"""Two models that share a space: which weights belong to which layer, how far each moved, and a
random donor.

A random change of equal size is the baseline of a swap: the fine-tune's own weights plus its
change from the base, rotated at random, which keeps the singular values of the real change but not
its directions. Real inputs lie along few directions, which a rotated change meets less than the
real one does; so each layer's rotated change is scaled until the layer's output moves as far, on
the fine-tune's own input, as it does when the layer is reverted to the base's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.errors import ModelError
from core.models.loading.layers import (
    Batch,
    Call,
    answers_in_tuples,
    apply_layers,
    body_of,
    calls_of,
    first_of,
    layer_list,
    run_model,
    run_rebuilt,
    state_in,
)
from core.models.loading.task_models import TaskModel
from core.studies.rsa.swap.interventions import MOST_KEPT
from core.vectors.turning import BOTTOM, turned

EQUAL_EFFECT = 0.01  # by which a random change may move outputs more or less than the real one
MOST_SCALINGS = 8  # outputs are nearly linear in a small change: three do on the included models


@dataclass(frozen=True)
class Pair:
    """A fine-tune with its head, and the sizes of its layers' changes against the base.

    Attributes:
        task: The fine-tune.
        changes: Each weight's change against the base, by its name in the body.
        sizes: Relative size of each layer's change over its matrices, (layer,).
        unchanged: Whether every weight of the layer is the base's, bit for bit, (layer,).
        in_tuple: See `models.loading.layers.answers_in_tuples`.
    """

    task: TaskModel
    changes: dict[str, Tensor]
    sizes: NDArray[np.float64]
    unchanged: NDArray[np.bool_]
    in_tuple: bool

    @property
    def layers(self) -> list[nn.Module]:
        """List the fine-tune's layers."""
        return list(layer_list(self.task.model))

    def run(self, batch: Batch, hidden: Tensor, layers: Sequence[nn.Module | None]) -> Any:
        """Run a state through these layers and the fine-tune's head."""
        return run_rebuilt(self.task.model, batch, hidden, layers, in_tuple=self.in_tuple)


def compare(base: str, origin: nn.Module, task: TaskModel, batch: Batch) -> Pair:
    """Pair a fine-tune with its base, with the size of each layer's change. Raises ModelError if
    the two differ in their weights' names or shapes."""
    tuned, base_weights = (
        dict(body_of(task.model).named_parameters()),
        dict(body_of(origin).named_parameters()),
    )
    number_of = numbering(task.model)
    placed = {name: layer for name in tuned if (layer := number_of(name)) is not None}
    layers = len(layer_list(task.model)) + 1
    if any(
        name not in base_weights or base_weights[name].shape != tuned[name].shape for name in placed
    ) or layers != 1 + len(layer_list(origin)):
        raise ModelError(
            f"The layers of {task.ref} and {base} differ in shape, so none can be swapped: "
            "choose the model's own base."
        )
    changes, same = {}, np.ones(layers, dtype=bool)
    for name, layer in placed.items():
        changes[name] = tuned[name] - base_weights[name]
        same[layer] &= torch.equal(base_weights[name], tuned[name])
    sizes = relative_sizes(origin, task.model)
    return Pair(task, changes, sizes, same, answers_in_tuples(task.model, first_of_batch(batch, 1)))


def relative_sizes(origin: nn.Module, changed: nn.Module) -> NDArray[np.float64]:
    """Compute the relative size of each layer's weight change over its matrices, (layer,)."""
    number_of, theirs = numbering(origin), dict(body_of(changed).named_parameters())
    moved, size = np.zeros((2, len(layer_list(origin)) + 1))
    for name, weight in body_of(origin).named_parameters():
        layer = number_of(name)
        if layer is not None and weight.dim() == 2 and name in theirs:
            moved[layer] += float((theirs[name] - weight).double().norm()) ** 2
            size[layer] += float(weight.double().norm()) ** 2
    return np.asarray(np.sqrt(moved / np.where(size > 0, size, 1.0)))


def first_of_batch(batch: Batch, count: int) -> Batch:
    """Cut a batch to its first sentences, padded as before."""
    starts = None if batch.starts is None else batch.starts[:count]
    return Batch(batch.ids[:count], batch.mask[:count], batch.sentences[:count], starts)


class Measured:
    """Batches on which changes of outputs are measured, with the calls of the fine-tune's layers,
    which are the same for all donors; kept up to `MOST_KEPT` bytes."""

    def __init__(self, pair: Pair, batches: Sequence[Batch]) -> None:
        self.pair, self.batches = pair, batches
        self._kept: dict[int, list[Call]] = {}
        self._room = MOST_KEPT

    def __iter__(self) -> Iterator[tuple[Batch, list[Call]]]:
        """Give each batch with the calls of the fine-tune's layers on it."""
        for number, batch in enumerate(self.batches):
            calls = self._kept.get(number)
            if calls is None:
                calls = calls_of(self.pair.task.model, partial(run_model, batch=batch))
                taken = sum(first_of(output).nbytes for _, _, output in calls)
                if taken <= self._room:
                    self._kept[number] = calls
                    self._room -= taken
            yield batch, calls


def numbering(model: nn.Module) -> Any:
    """Make a function from a weight's name in the body to its layer; None for weights above the
    layers."""
    body, places = body_of(model), layer_list(model)
    stack = next(name for name, module in body.named_modules() if module is places)

    def number_of(name: str) -> int | None:
        if name.startswith(f"{stack}."):
            return 1 + int(name[len(stack) + 1 :].split(".")[0])
        return 0 if BOTTOM.search(name) else None

    return number_of


def output_changes(measured: Measured, donor: nn.Module) -> NDArray[np.float64]:
    """Measure how far each layer's output moves when the donor's layer replaces the fine-tune's:
    root mean square over subwords of the distance between the two outputs, (layer,)."""
    squares, subwords = np.zeros(len(measured.pair.layers) + 1), 0
    for batch, calls in measured:
        run = partial(run_model, batch=replace(batch, starts=None))
        (args, kwargs, _), inside = calls[0], batch.mask.bool()
        states = [state_in(args, kwargs), *(first_of(output) for _, _, output in calls)]
        for layer, outputs in enumerate(zip(apply_layers(calls, donor, run), states, strict=True)):
            squares[layer] += float((outputs[0] - outputs[1])[inside].double().square().sum())
        subwords += int(inside.sum())
    return np.sqrt(squares / subwords)


def noise_donor(
    measured: Measured, seed: int, changes: NDArray[np.float64]
) -> tuple[nn.Module, NDArray[np.float64]]:
    """Copy the fine-tune's body and add its own change once more, rotated at random and scaled
    until each layer's output moves as far as `changes` (layer,) says; with the factors, 1 where
    nothing changed."""
    pair = measured.pair
    donor = copy.deepcopy(body_of(pair.task.model))
    drawn, number_of = torch.Generator().manual_seed(seed), numbering(pair.task.model)
    rotated = {
        name: turned(pair.changes[name], drawn, rows=not BOTTOM.search(name))
        for name, _ in donor.named_parameters()
        if name in pair.changes
    }
    origin = dict(body_of(pair.task.model).named_parameters())
    scale = np.ones(len(changes))
    for attempt in range(MOST_SCALINGS):
        with torch.no_grad():
            for name, weight in donor.named_parameters():
                if name in rotated:
                    weight.copy_(origin[name] + float(scale[number_of(name)]) * rotated[name])
        if attempt == MOST_SCALINGS - 1:
            break  # the factors that are returned are those that the donor has
        moved = output_changes(measured, donor)
        ratio = np.divide(changes, moved, out=np.ones_like(moved), where=moved > 0)
        if np.abs(ratio - 1.0).max() <= EQUAL_EFFECT:
            break
        scale *= ratio
    return donor, scale
