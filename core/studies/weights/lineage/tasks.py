"""The task of the lineage study: inner products of all models' weights, matrix by matrix.

Each matrix is read once from every model. Finished matrices are kept while the task runs, so an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.maths.spectra.products import HELD, multiply_models
from core.models.weights.matrix_families import Slot
from core.models.weights.sources import open_model
from core.models.weights.tensors import Checkpoint
from core.studies.task_kit import (
    Cost,
    Size,
    Value,
    compute_pieces,
    costs,
    identified,
    key_of,
    pure,
    tick,
)

VERSION = 1  # raised when what is kept of a matrix changes
HEADER = 0.01  # processor seconds to open a model for reading
PRODUCT = 4e-10  # per number of a model and other model
MULTIPLIED = 2 * (costs.SINGLE + costs.DOUBLE)  # bytes of a number as it is and with rows permuted
Place = tuple[str, int]
Opened = tuple[Checkpoint, dict[Place, Slot]]


def _cost(
    sizes: Mapping[str, Size], models: Sequence[str], families: Sequence[str], **_: Any
) -> Cost:
    """Estimate that every matrix is read from every model once, and multiplied."""
    here = [sizes[ref] for ref in models]
    most, seconds, largest = HELD / max(1, len(here)), HEADER * len(here), 0
    for size in here:
        for (rows, columns), number in costs.matrices_of(size, families):
            count = rows * columns
            largest = max(largest, count)
            each = costs.READ * count + costs.SKETCHED * count * (count > most)
            seconds += number * (each + PRODUCT * min(count, most) * len(here))
    held = MULTIPLIED * min(largest, most) * len(here) + 2 * costs.DOUBLE * largest
    return Cost(seconds, held, torch=False)


@pure("weights.products", version=2, cost=_cost)
def multiply_weights(
    models: tuple[str, ...], identities: tuple[str, ...], families: tuple[str, ...], seed: int
) -> Value:
    """Multiply the weights of all pairs of models that can be read and have the commonest
    matrices."""
    return of_readable(models, identities, families, partial(_multiply_all, seed=seed))


class UnreadableError(ModelError):
    """A matrix that cannot be read; `ref` is its model's."""

    def __init__(self, ref: str, reason: str) -> None:
        super().__init__(reason)
        self.ref = ref


def of_readable(
    models: Sequence[str],
    identities: Sequence[str],
    families: Sequence[str],
    compute: Callable[[list[Opened], list[Place], list[str]], Value],
) -> Value:
    """Compute a value of the models that can be read, with "models" and "left_out", pairs of
    reference and reason. `compute` takes models, the places of their matrices and the models'
    identities. Raises ModelError if there are fewer than two."""
    opened, places, left_out = open_all(models, identities, families)
    contents = dict(zip(models, identities, strict=True))
    while True:
        refs = [checkpoint.ref for checkpoint, _ in opened]
        try:
            value = compute(opened, places, [identified(contents[ref]) for ref in refs])
        except UnreadableError as error:
            left_out[error.ref] = str(error)
            opened = [each for each in opened if each[0].ref != error.ref]
            if len(opened) < 2:
                raise
        else:
            reasons = [[ref, reason] for ref, reason in left_out.items()]
            return value | {"models": refs, "left_out": reasons}


def read_place(opened: Opened, place: Place) -> Float[ndarray, "row column"]:
    """Read a matrix of a model, in float64. Raises UnreadableError if it cannot be read."""
    checkpoint, slots = opened
    try:
        matrix = slots[place].cut(checkpoint.read(slots[place].tensor))
    except ModelError as error:
        raise UnreadableError(checkpoint.ref, str(error)) from error
    return matrix.astype(np.float64)


def open_all(
    models: Sequence[str], identities: Sequence[str], families: Sequence[str]
) -> tuple[list[Opened], list[Place], dict[str, str]]:
    """Open the models with the commonest set of matrices; return them, the places of the matrices,
    and why others are left out. Raises ModelError if there are fewer than two, or one has none of
    the families."""
    opened: list[Opened] = []
    left_out: dict[str, str] = {}
    for ref, identity in zip(models, identities, strict=True):
        tick(0.0, ref)
        try:
            checkpoint = open_model(ref, identity)
            slots = checkpoint.slots
        except ModelError as error:
            left_out[ref] = str(error)
            continue
        by_place = {
            at: slot for at, slot in slots.items() if not families or slot.family in families
        }
        if not by_place:
            there = ", ".join(dict.fromkeys(family for family, _ in slots))
            raise ModelError(
                f"{ref} has none of the families {', '.join(families)}; choose from {there}."
            )
        opened.append((checkpoint, by_place))
    layouts = [
        tuple((place, slot.shape(checkpoint.entries[slot.tensor].shape))
              for place, slot in slots.items())
        for checkpoint, slots in opened
    ]  # fmt: skip
    commonest = max(layouts, key=layouts.count, default=())
    alike = [each for each, layout in zip(opened, layouts, strict=True) if layout == commonest]
    if len(alike) < 2:
        raise ModelError(
            "Fewer than two models could be read whose matrices have the same shapes; "
            "choose models of one architecture and size."
        )
    left_out |= {
        checkpoint.ref: "Its matrices differ from those of most models in number or shape."
        for (checkpoint, _), layout in zip(opened, layouts, strict=True)
        if layout != commonest
    }
    return alike, [place for place, _ in commonest], left_out


def _multiply_all(
    opened: Sequence[Opened], places: Sequence[Place], names: Sequence[str], seed: int
) -> Value:
    """Multiply all matrices: "paired" and, with rows permuted, "permuted" (matrix, model, model),
    "kurtosis" (matrix, model); "equal" (model, model) counts the same matrices. `names` are the
    identities of the models."""
    keys = [key_of("lineage matrix", VERSION, list(names), list(place), seed) for place in places]
    parts = compute_pieces(keys, lambda number: _multiply_place(opened, places[number], seed))
    return {
        "places": [list(place) for place in places],
        **{name: np.stack([part[name] for part in parts])
           for name in ("paired", "permuted", "kurtosis")},
        "equal": np.sum([part["equal"] for part in parts], axis=0),
    }  # fmt: skip


def _multiply_place(opened: Sequence[Opened], place: Place, seed: int) -> Value:
    """Multiply one matrix of all models."""
    kurtosis: list[float] = []
    digests: list[bytes] = []

    def read() -> Iterator[Float[ndarray, "row column"]]:
        for number, each in enumerate(opened):
            tick(number / len(opened), f"{place[0]}, layer {place[1] + 1}")
            matrix = read_place(each, place)
            kurtosis.append(calc_kurtosis(matrix))
            digests.append(hashlib.sha256(matrix.tobytes()).digest())
            yield matrix

    place_seed = zlib.crc32(f"lineage {seed} {place}".encode())
    paired, permuted = multiply_models(read(), len(opened), place_seed)
    equal = [[first == second for second in digests] for first in digests]
    return {
        "paired": paired,
        "permuted": permuted.astype(np.float32),  # a rival; half the store
        "kurtosis": np.array(kurtosis),
        "equal": np.array(equal, dtype=np.int64),
    }


def calc_kurtosis(matrix: Float[ndarray, "row column"]) -> float:
    """Calculate the kurtosis of a matrix's entries: 3 for a Gaussian, 0 where all are equal."""
    squares = (matrix - matrix.mean()) ** 2
    variance = float(squares.mean())
    return float((squares**2).mean()) / variance**2 if variance else 0.0
