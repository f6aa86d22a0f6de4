"""A few numbers of a checkpoint's matrices, read in ranges: enough to tell checkpoints apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.maths.arrays import Value
from core.models import costs
from core.models.architectures import describe_type
from core.models.files.pickled import PickledTensor
from core.models.files.safetensors import BYTES_PER_NUMBER, NUMBERS, Entry
from core.models.identity import identify
from core.models.weights.matrix_families import check_depth, match_names
from core.models.weights.sources import open_model
from core.models.weights.tensors import Checkpoint
from core.runs.price import Cost
from core.runs.tasks import pure

if TYPE_CHECKING:
    from core.models.sizes import Size

SHARE = 0.005  # of the numbers of the layers
MATRICES = 16  # that are sampled at least, the same ones of every checkpoint,
MOST_LAYERS = 64  # of which each gives a matrix; of more layers, this many are chosen
MOST = 4_096  # numbers of one matrix
SECONDS = 0.05  # processor seconds to open a checkpoint and to read a few ranges
HASHING = 4e-9  # processor seconds per parameter of a file on this machine
# A matrix of a layer from its stack's name on, or of the embeddings: checkpoints with and without a
# head, or with another prefix ("bert.", "model."), have the same.
IN_LAYER = re.compile(r"(?:^|\.)((?:(?:encoder|decoder)\.)?\w+\.\d+\..+)$")
LAYER = re.compile(r"(?P<stack>(?:(?:encoder|decoder)\.)?\w+)\.(?P<number>\d+)\.")
EMBEDDED = re.compile(r"(?:^|\.)((?:embed\w*|wte|wpe|shared)\..+)$")


def read_sample(checkpoint: Checkpoint) -> tuple[dict[str, Float[ndarray, " number"]], float]:
    """Read consecutive numbers from the middle of a few matrices, chosen by their names alone, so
    that checkpoints of a run are read at the same places: of the embeddings, which move first, and
    of every layer. Returns also the share of bytes that was read."""
    stored = {
        name: entry
        for name, entry in checkpoint.entries.items()
        if isinstance(entry, Entry | PickledTensor)
    }
    entries = {
        name: entry
        for name, entry in stored.items()
        if len(entry.shape) == 2 and min(entry.shape) > 1 and entry.dtype in NUMBERS
    }
    if len(stored) < len(checkpoint.entries):
        raise ModelError(
            f"{checkpoint.ref} has quantised weights, of which no sample is read: "
            "convert it to safetensors, or choose another."
        )
    if not entries:
        raise ModelError(
            f"{checkpoint.ref} has no matrices that could be compared: choose another."
        )
    model_type, config = checkpoint.model_type, checkpoint.config
    if model_type and (slots := match_names(model_type, stored, config)):
        check_depth(describe_type(model_type, checkpoint.ref), slots, config)
    layers = _named(IN_LAYER, entries)
    embedded = _named(EMBEDDED, entries) if layers else {}
    entries = embedded | (layers or entries)
    names = sorted(embedded, key=_random)[: MATRICES // 2]
    names += _spread(layers, MATRICES - len(names)) or sorted(entries, key=_random)[:MATRICES]
    numbers = sum(prod(entry.shape) for entry in (layers or entries).values())
    most = round(SHARE * numbers / len(names))
    sample, read = {}, _header_bytes(stored)
    for name in names:
        part = _middle(entries[name], most)
        sample[name] = part.astype(np.float64)
        read += len(part) * BYTES_PER_NUMBER[entries[name].dtype]
    return sample, read / (sum(_bytes_of(entry) for entry in stored.values()) or 1)


def _named(
    pattern: re.Pattern[str], entries: Mapping[str, Entry | PickledTensor]
) -> dict[str, Entry | PickledTensor]:
    """Keep the matrices whose names match, by the part that does."""
    return {match[1]: entry for name, entry in entries.items() if (match := pattern.search(name))}


def _spread(names: Iterable[str], count: int) -> list[str]:
    """Choose at least this many matrices of layers, from bottom to top: one of every layer, then a
    second one, and so on."""
    layers: dict[tuple[str, int], list[str]] = {}
    for name in sorted(names, key=_random):
        place = LAYER.match(name)
        if place is not None:
            layers.setdefault((place["stack"], int(place["number"])), []).append(name)
    count = max(count, min(len(layers), MOST_LAYERS))
    sample: list[str] = []
    for at_each in zip_longest(*(layers[key] for key in sorted(layers))):
        if len(sample) >= count:  # the rest is as much as layers times matrices
            break
        there = [name for name in at_each if name is not None]
        ends = np.linspace(0, len(there) - 1, min(len(there), count - len(sample)))
        sample += [there[round(at)] for at in ends]
    return sample


def _random(name: str) -> bytes:
    """Draw where a matrix stands among those to be chosen, from its name."""
    return hashlib.sha256(name.encode()).digest()


def _bytes_of(entry: Entry | PickledTensor) -> int:
    """Count the bytes of a tensor; pickled ones that are no floats are left out."""
    if isinstance(entry, Entry):
        return entry.stop - entry.start
    return prod(entry.shape) * BYTES_PER_NUMBER[entry.dtype] if entry.dtype in NUMBERS else 0


def _middle(entry: Entry | PickledTensor, most: int) -> Float[ndarray, " number"]:
    """Read at most this many numbers in the middle of a matrix."""
    width = BYTES_PER_NUMBER[entry.dtype]
    count = min(prod(entry.shape), MOST, max(2, most))
    first = (prod(entry.shape) - count) // 2
    if isinstance(entry, PickledTensor):
        return entry.read_part(first, count)
    start = entry.start + first * width
    return replace(entry, shape=(count,), start=start, stop=start + count * width).read()


def _header_bytes(entries: Mapping[str, Entry | PickledTensor]) -> int:
    """Count the bytes of the headers that were read to find the tensors: what is before them."""
    # of a pickled file it is a list of places, which is small
    stored = [entry for entry in entries.values() if isinstance(entry, Entry)]
    descending = sorted(stored, key=lambda entry: entry.start, reverse=True)
    return sum({entry.file.name: entry.start for entry in descending}.values())


def _cost(sizes: Mapping[str, Size], ref: str, identity: str) -> Cost:
    """Estimate what a sample takes: the hash of a local file, or a few ranges of one on the Hub,
    and its header."""
    parameters = sizes[ref].parameters
    return Cost(
        SECONDS + HASHING * parameters,
        costs.DOUBLE * min((MATRICES + MOST_LAYERS) * MOST, SHARE * parameters),
        torch=False,
        fetched=2 * SHARE,
    )


@pure("weights.sample", version=3, cost=_cost)
def sample_weights(ref: str, identity: str) -> Value:
    """Read a sample of weights: `names` of matrices, `sizes` and `numbers` of their parts, and the
    `share` of bytes read. Raises ModelError if they cannot be opened or there are no matrices."""
    sample, share = read_sample(open_model(ref, identity))
    return {
        "names": list(sample),
        "sizes": np.array([len(part) for part in sample.values()], dtype=np.int64),
        "numbers": np.concatenate(list(sample.values())),
        "share": share,
    }


def sample_of(value: Value) -> dict[str, Float[ndarray, " number"]]:
    """Cut the output of `sample_weights` into its matrices."""
    ends = np.cumsum(value["sizes"])
    parts = np.split(value["numbers"], ends[:-1])
    return dict(zip(value["names"], parts, strict=True))


@pure("weights.look", version=3, expect=lambda sizes, ref: {})
def look_at(ref: str) -> Value:
    """Sample a checkpoint's weights, with what copies are known by (`weights`), or say the `reason`
    why not: a study that can read a model in other ways goes on without the sample."""
    try:
        identity = identify(ref, run=False)
        return {**sample_weights(ref, identity.content), "weights": identity.weights}
    except ModelError as error:
        return {"reason": str(error)}
