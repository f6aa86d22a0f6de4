"""The size of a model's weight change, and models between a base and its fine-tune.

The relative size of the change is ||W - W_base|| / ||W_base||, Frobenius norms over all matrices of
the layers (attention and feed-forward; no embeddings, biases or norms). It grows with longer
training and higher learning rates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ModelError
from core.maths.progress import tick
from core.maths.spectra.spectra import relative_change
from core.models.describing import describe, locate
from core.models.files import checkpoints
from core.models.files.opening import ROUNDING, open_weights
from core.models.files.safetensors import Stored
from core.models.loading.memory import borrow_model
from core.models.references import parse_ref
from core.runs.runner import Outputs
from core.runs.store import current_store, key_of
from core.runs.tasks import Task, pure

if TYPE_CHECKING:
    from torch import Tensor

    from core.models.loading.model import LoadedModel

BODY = re.compile(
    r"((?:(?:encoder|decoder)\.)?(?:layers?|h|block)\.\d+\..+)$"
)  # a layer's tensor, without prefix

# Cosine of weights above which two models come from one start. Two starts are orthogonal: among the
# included models they have .01 at most, while a common start leaves .43 and more, that being step 0
# and the end of a run; long runs leave less.
COMMON_START = 0.1
BEYOND_CHANCE = 5.0  # in standard deviations of the cosine of independent weights: of few numbers


@dataclass(frozen=True)
class Change:
    """How much the weights of two models differ; NaN without common matrices.

    Attributes:
        size: |W - W_base| / |W_base| over all matrices of the layers.
        apart: |W - W_base| over what it would be for unrelated weights of these norms, median over
            matrices: about 1 for models trained from other random weights, 0 where at least half of
            the matrices are the same.
    """

    size: float = math.nan
    apart: float = math.nan


def _expected(sizes: Mapping[str, Any], base: str, other: str) -> Change:
    """Return a typical fine-tune's change, of another size for each model; none of random ones."""
    some = 1.0 + crc32(other.encode()) / 2**32
    return Change() if parse_ref(base).random or parse_ref(other).random else Change(some, 0.0)


@pure("models.weight_change", expect=_expected)
def weight_change(base: str, other: str) -> Change:
    """Measure the weight change; NaN for models of other shapes, random models and pickled
    weights."""
    if parse_ref(base).random or parse_ref(other).random:
        return Change()
    contents = describe(base).fingerprint, describe(other).fingerprint
    key = key_of("weight change", 1, *contents)  # what a reference names may change
    store = current_store().without_precomputed()  # they hold the values of stored tasks alone
    value, _ = store.get_or_compute(key, lambda: asdict(_change(base, other)))
    return Change(**value)


def change_tasks(base: str, refs: tuple[str, ...]) -> list[Task]:
    """Make a task of the first stage per model, with the role ("change", reference)."""
    return [
        Task.of(ref, weight_change, role=("change", ref), fleeting=True, base=base, other=ref)
        for ref in dict.fromkeys(refs)
    ]


def changes_of(ready: Outputs) -> dict[str, Change]:
    """Collect the outputs of `change_tasks`, by reference."""
    return {role[1]: change for role, change in ready.values.items() if isinstance(change, Change)}


def apartness(moved: float, first: float, second: float) -> float:
    """Divide the distance of two weights by that of unrelated ones; NaN if both are zero."""
    return math.sqrt(moved / (first + second)) if first + second > 0 else math.nan


def share_start(cosine: ArrayLike, chance: ArrayLike = 0.0) -> NDArray[np.bool_]:
    """Whether models come from one start, by the cosine of their weights and the standard deviation
    that chance gives it."""
    least = np.maximum(COMMON_START, BEYOND_CHANCE * np.asarray(chance))
    return np.asarray(np.asarray(cosine) > least)


def shares_no_start(apart: float, chance: float = 0.0) -> bool:
    """Whether two models are too far apart to share a start, see `apartness`; False for NaN."""
    return apart == apart and not share_start(1 - apart**2, chance)


@contextmanager
def borrow_between(
    base: str, tuned: str, share: float, *, device: str | None = None, dtype: str = "float32"
) -> Iterator[LoadedModel]:
    """Load a model with the weights W_base + share * (W - W_base) for the length of the block, with
    the fine-tune's tokenizer and configuration. Raises ModelError if the weights of the two differ
    in names or shapes."""
    import torch

    with borrow_model(base, device=device, dtype=dtype) as loaded:
        between = {name: value.detach().clone() for name, value in loaded.model.named_parameters()}
    with borrow_model(tuned, device=device, dtype=dtype) as loaded:
        weights = dict(loaded.model.named_parameters())
        if {name: value.shape for name, value in weights.items()} != {
            name: value.shape for name, value in between.items()
        }:
            raise ModelError(
                f"The weights of {tuned} and {base} differ in names or shapes, "
                "so there is nothing between them; choose a fine-tune of the base."
            )
        with torch.no_grad():
            for name, value in weights.items():
                between[name].lerp_(value, share)
        _exchange(weights, between)
        try:
            yield loaded
        finally:
            _exchange(weights, between)  # the model stays in memory for later use


def _exchange(weights: Mapping[str, Tensor], stored: dict[str, Tensor]) -> None:
    """Give parameters the numbers that are stored, and store theirs: no further copy is made."""
    for name, value in weights.items():
        value.data, stored[name] = stored[name], value.data


def _change(base: str, tuned: str) -> Change:
    """Measure the change, matrix by matrix."""
    first, second = _matrices(base), _matrices(tuned)
    shared = [name for name in first if name in second]
    squares = []
    for number, name in enumerate(shared):
        tick(number / len(shared), name)
        before, after = (entries[name].read().astype(np.float64) for entries in (first, second))
        if before.shape == after.shape:
            squares.append([float((values**2).sum()) for values in (after - before, before, after)])
    moved, size, _ = np.sum(squares, axis=0) if squares else (0.0, 0.0, 0.0)
    if not size > 0:
        return Change()
    return Change(
        float(relative_change(moved, size)),
        float(np.nanmedian([apartness(*matrix) for matrix in squares])),
    )


def _matrices(ref: str) -> dict[str, Stored]:
    """Find the layers' matrices by name without prefix."""
    folder = locate(ref)
    return {
        hit[1]: entry
        for name, entry in open_weights(folder, checkpoints.read_config(folder)).items()
        if len(entry.shape) == 2 and entry.dtype in ROUNDING and (hit := BODY.search(name))
    }
