"""Whether two models plausibly share a base, by the distance of a few of their matrices.

Unrelated matrices are nearly orthogonal, so their distance follows from their norms by Pythagoras;
that of a base and its fine-tune is much smaller. The matrices of the middle layer are read; where
they are equal, those of the lowest, the highest and then the other layers, until one differs. Of a
model on the Hub no more than these three layers are read.
"""

from __future__ import annotations

import numpy as np

from core.errors import ModelError
from core.maths.arrays import Value
from core.maths.spectra.spectra import relative_change
from core.models.changes import shares_no_start
from core.models.weights.adapters import AdapterPair, match_adapter, read_factors
from core.models.weights.sources import is_remote, open_adapter, open_model
from core.runs.tasks import pure

FEW = 3  # layers that are read at most of a model that is not on this machine


@pure("weights.relation", version=2)
def measure_relation(base: str, other: str, base_identity: str, other_identity: str) -> Value:
    """Measure "distance" of two models (or of a base and an adapter), and of "unrelated" weights
    with their norms, relative to the base's norm: NaN where nothing can be compared, with the
    "reason" ("" for none); "layers" read, from 0; "adapter"; "parameters" of the base; "types",
    "vocabularies" and "depths" of both. Raises ModelError if a model cannot be read."""
    ours, adapter = open_model(base, base_identity), open_adapter(other, other_identity)
    theirs = ours if adapter is not None else open_model(other, other_identity)
    value: Value = {
        "distance": float("nan"),
        "unrelated": float("nan"),
        "layers": [],
        "reason": "",
        "adapter": adapter is not None,
        "parameters": sum(int(np.prod(entry.shape)) for entry in ours.entries.values()),
        "types": [ours.model_type, theirs.model_type],
        "vocabularies": [int(opened.config.get("vocab_size") or 0) for opened in (ours, theirs)],
    }
    slots = [ours.slots, theirs.slots]
    depths = [1 + max(layer for _, layer in placed) for placed in slots]
    shapes = [
        {key: slot.shape(checkpoint.entries[slot.tensor].shape) for key, slot in placed.items()}
        for checkpoint, placed in zip((ours, theirs), slots, strict=True)
    ]
    value |= {"depths": depths, "widest": max(min(shape) for shape in shapes[0].values())}
    if adapter is not None:
        return value | _change_of(match_adapter(ours, adapter), depths[0] // 2)
    if ours.model_type != theirs.model_type:
        return {**value, "reason": f"one is a {ours.model_type}, the other a {theirs.model_type}"}
    if shapes[0] != shapes[1]:
        return {**value, "reason": "their matrices have different shapes"}
    order = list(dict.fromkeys((depths[0] // 2, 0, depths[0] - 1, *range(depths[0]))))
    if is_remote(base, base_identity) or is_remote(other, other_identity):
        order = order[:FEW]
    squares, read = np.zeros(3), list[int]()
    for layer in order:
        for key in [key for key in slots[0] if key[1] == layer]:
            first, second = (
                placed[key].cut(checkpoint.read(placed[key].tensor)).astype(np.float64)
                for checkpoint, placed in zip((ours, theirs), slots, strict=True)
            )
            squares += [float((part**2).sum()) for part in (second - first, first, second)]
        read.append(layer)
        if squares[0]:
            break
    if not squares[1]:
        raise ModelError(
            f"The matrices of {base} are zero, so nothing can be compared; choose another."
        )
    return value | {"layers": read} | _relative(squares)


def _change_of(pair: AdapterPair, layer: int) -> Value:
    """ "distance" and "unrelated" of a base and what an adapter makes of it, by the matrices of one
    layer."""
    elsewhere = {index for index, (slot, _) in enumerate(pair.slots) if slot.layer != layer}
    squares = np.zeros(3)
    for delta in read_factors(pair, elsewhere):
        parts = (delta.matrix, delta.weight, delta.weight + delta.matrix)
        squares += [float((part**2).sum()) for part in parts]
    return _relative(squares)


def _relative(squares: np.ndarray) -> Value:
    """ "distance" and "unrelated" from squared norms: of the change, of the base, of the other."""
    moved, ours, theirs = squares
    return {
        "distance": float(relative_change(moved, ours)),
        "unrelated": float(relative_change(ours + theirs, ours)),
    }


def is_related(value: Value) -> bool:
    """Whether one may be a fine-tune of the other, by these distances."""
    if len(value["layers"]) > 1:
        return True  # a layer is equal, which no two trainings from different starts have
    apart = float(value["distance"]) / float(value["unrelated"])
    return apart == apart and not shares_no_start(apart)
