"""The study's tasks: a fine-tune's update, the spectra of a model's weights, a map of models.

A task reads one matrix of base and fine-tune at a time and keeps a few small arrays of it, so
memory grows with the largest matrix, not with the model or the number of models. Finished matrices
are kept while a task runs, so an interrupted run goes on where it stopped; those of a Hub model
stay, for another choice of families.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from core.errors import ModelError
from core.maths.spectra.products import EXACT, calc_sketch
from core.maths.spectra.projections import draw_map
from core.maths.spectra.registry import Features
from core.maths.spectra.spectra import (
    decompose,
    decompose_factors,
    relative_change,
    singular_values,
    stack_spectra,
)
from core.models.weights.adapters import AdapterPair, match_adapter, read_factors
from core.models.weights.deltas import ROUNDED, Delta, Pair, match, read_deltas
from core.models.weights.sources import is_remote, open_adapter, open_model
from core.studies.task_kit import (
    Cost,
    Size,
    Value,
    compute_pieces,
    costs,
    identified,
    keep_pieces,
    key_of,
    pure,
    span,
    tick,
)

VERSION = 1  # raised when what is kept of a matrix changes
# parts of an update's value that only distances need
HEAVY = ("left", "right", "sketch", "sketch_lengths")
FACTORED = 3.6e-10  # processor seconds per cubed side of a matrix
STORED_NUMBERS = 2**14 + 4_000  # numbers stored per matrix
PLACING = {"umap": 25.0, "tsne": 3.0}  # processor seconds of a map
KEPT_RANKS = (8, 16, 32, 64)


def kept_rank(rank: int) -> int:
    """Round up how many directions a task keeps, so that a smaller rank needs no new run."""
    return next(kept for kept in KEPT_RANKS if kept >= rank)


def _cost(sizes: Mapping[str, Size], model: str, families: Sequence[str], **_: Any) -> Cost:
    """Estimate the decompositions of an update, or of a model's own matrices; the product of an
    adapter's factors is only sketched where that takes less."""
    size, seconds = sizes[model], costs.OPENING
    for (rows, columns), number in costs.matrices_of(size, families):
        once = FACTORED * costs.cubed_side((rows, columns))
        sketched = costs.SKETCHED * rows * columns
        seconds += number * (min(once, sketched) if size.adapter else once)
    return Cost(seconds, costs.bytes_of_largest(size), torch=False)


def _update_cost(sizes: Mapping[str, Size], model: str, families: Sequence[str], **_: Any) -> Cost:
    return replace(_cost(sizes, model, families), store=bytes_of_update(sizes[model]))


def bytes_of_update(size: Size) -> float:
    """Estimate the bytes that are stored of an update, and held where updates are compared."""
    return STORED_NUMBERS * 6 * size.layers * costs.SINGLE


def _placing_cost(sizes: Mapping[str, Size], drawing: str, **_: Any) -> Cost:
    return Cost(PLACING.get(drawing, 0.0), torch=False)


@pure("weights.delta", cost=_update_cost)
def measure_delta(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    kept: int,
    seed: int,
) -> Value:
    """Measure one fine-tune's update, with `kept` leading directions: what `unpack_features` reads,
    "relative" (over all matrices) and "notices". Raises ModelError if a model cannot be read or is
    not a fine-tune of the base."""
    pair = open_pair(base, model, base_identity, model_identity, families)
    shapes = [pair.shape(index) for index in range(len(pair.slots))]
    exact = sum(rows * columns for rows, columns in shapes) <= EXACT
    places = [[slot.family, slot.layer] for slot, _ in pair.slots]
    identities = identified(base_identity), identified(model_identity)
    keys = {
        index: key_of("weights matrix", VERSION, *identities, place, kept, exact, seed)
        for index, place in enumerate(places)
    }
    remote = is_remote(base, base_identity) or is_remote(model, model_identity)
    with keep_pieces(keys, lasting=remote) as pieces:
        for delta in deltas_with_progress(pair, pieces.values):
            # By place, not index: a sketch does not depend on which families are read.
            place_seed = zlib.crc32(f"{seed} {places[delta.index]}".encode())
            pieces.add(delta.index, _measure_matrix(delta, kept, None if exact else place_seed))
    ordered = [pieces.values[index] for index in range(len(pair.slots))]
    if not any(record["delta_norm"] for record in ordered):
        raise ModelError(
            f"{model} has the same matrices as {base}, so there is no update to compare; "
            "choose a model that was fine-tuned."
        )
    return {
        "places": places,
        "shapes": [list(shape) for shape in shapes],
        "notices": [*pair.notices, *_check_rounding(model, ordered)],
        **_pack(ordered),
    }


def open_pair(
    base: str, model: str, base_identity: str, model_identity: str, families: Sequence[str] = ()
) -> Pair:
    """Open a base and a fine-tune of it, a model or an adapter, at the commits of their identities.
    Raises ModelError if one cannot be read, or they do not belong together."""
    adapter = open_adapter(model, model_identity)
    if adapter is not None:
        return match_adapter(open_model(base, base_identity), adapter, families)
    return match(open_model(base, base_identity), open_model(model, model_identity), families)


def deltas_of(pair: Pair, skip: Collection[int] = ()) -> Iterator[Delta]:
    """Read the matrices of an update one at a time, without those at the indices in `skip`."""
    return read_factors(pair, skip) if isinstance(pair, AdapterPair) else read_deltas(pair, skip)


def deltas_with_progress(pair: Pair, skip: Collection[int] = ()) -> Iterator[Delta]:
    """Read as `deltas_of` does, with a step of progress, and a chance to cancel, per matrix."""
    total = len(pair.slots)
    deltas = deltas_of(pair, set(skip))  # a copy: the collection grows with every matrix
    for done in range(len(skip), total):
        with span(done / total, (done + 1) / total):
            tick(0.0, f"matrix {done + 1} of {total}")
            delta = next(deltas)
        yield delta


@pure("weights.model", cost=_cost)
def measure_weights(model: str, model_identity: str, families: tuple[str, ...]) -> Value:
    """Measure the singular values of a model's own matrices: "places", "shapes" and "values" as in
    `measure_delta`. Raises ModelError if the model cannot be read."""
    checkpoint = open_model(model, model_identity)
    slots = [slot for slot in checkpoint.slots.values() if not families or slot.family in families]
    places = [[slot.family, slot.layer] for slot in slots]
    identity = identified(model_identity)
    keys = [key_of("weights spectrum", VERSION, identity, place) for place in places]

    def measure(number: int) -> Value:
        slot = slots[number]
        tick(0.0, f"{slot.family}, layer {slot.layer + 1}")
        return {"values": singular_values(slot.cut(checkpoint.read(slot.tensor)))}

    spectra = compute_pieces(keys, measure, lasting=is_remote(model, model_identity))
    return {
        "places": places,
        "shapes": [list(slot.shape(checkpoint.entries[slot.tensor].shape)) for slot in slots],
        "values": stack_spectra([piece["values"] for piece in spectra]),
    }


@pure("weights.map", cost=_placing_cost)
def place_models(distances: Sequence[Sequence[float]], drawing: str, seed: int) -> Value:
    """Place models on a map: "points" (model, axis), and "explained", shares of squared
    distance."""
    tick(0.0, "loading")
    if drawing == "umap":
        import umap  # half a minute where it was never imported, so it has a step of its own  # noqa: F401
    tick(0.3, f"placing {len(distances)} models; the first map on a machine takes longer")
    drawn = draw_map(np.asarray(distances, dtype=np.float64), drawing, seed)
    return {"points": drawn.points, "explained": np.array(drawn.explained)}


def unpack_features(value: Value) -> Features:
    """Unpack what `measure_delta` returned; without directions if these were dropped."""
    whole = all(name in value for name in HEAVY)
    shapes = tuple((int(rows), int(columns)) for rows, columns in value["shapes"])
    kept = int(value["kept"])
    return Features(
        families=tuple(str(family) for family, _ in value["places"]),
        layers=tuple(int(layer) for _, layer in value["places"]),
        shapes=shapes,
        values=value["values"],
        delta_norms=value["delta_norms"],
        weight_norms=value["weight_norms"],
        left=_cut(value["left"], [(rows, kept) for rows, _ in shapes]) if whole else (),
        right=_cut(value["right"], [(columns, kept) for _, columns in shapes]) if whole else (),
        sketches=_cut(value["sketch"], [(size,) for size in value["sketch_lengths"]])
        if whole
        else (),
    )


def _measure_matrix(delta: Delta, kept: int, seed: int | None) -> dict[str, Any]:
    parts = (
        decompose_factors(*delta.factors, kept) if delta.factors else decompose(delta.matrix, kept)
    )
    sketch = delta.matrix.ravel() if seed is None else calc_sketch(delta.matrix, seed)
    return {
        "values": parts.values,
        "left": parts.left.astype(np.float32),
        "right": parts.right.astype(np.float32),
        "sketch": sketch.astype(np.float32),
        "delta_norm": float(np.linalg.norm(delta.matrix)),
        "weight_norm": delta.weight_norm,
        "floor": delta.floor,
    }


def _pack(records: Sequence[dict[str, Any]]) -> Value:
    delta_norms = np.array([record["delta_norm"] for record in records])
    weight_norms = np.array([record["weight_norm"] for record in records])
    return {
        "kept": int(records[0]["left"].shape[1]),
        "values": stack_spectra([record["values"] for record in records]),
        "left": np.concatenate([record["left"].ravel() for record in records]),
        "right": np.concatenate([record["right"].ravel() for record in records]),
        "sketch": np.concatenate([record["sketch"] for record in records]),
        "sketch_lengths": [len(record["sketch"]) for record in records],
        "delta_norms": delta_norms,
        "weight_norms": weight_norms,
        "relative": float(relative_change((delta_norms**2).sum(), (weight_norms**2).sum())),
    }


def _cut(flat: ndarray, shapes: Sequence[tuple[int, ...]]) -> tuple[ndarray, ...]:
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = zip(np.split(flat, ends[:-1]), shapes, strict=True)
    return tuple(part.reshape(shape) for part, shape in parts)


def _check_rounding(model: str, records: Sequence[dict[str, Any]]) -> list[str]:
    """The notice of updates that are hardly larger than the rounding of the file."""
    changed = [record for record in records if record["delta_norm"]]
    rounded = [
        record
        for record in changed
        if record["delta_norm"] < ROUNDED * record["floor"] * record["weight_norm"]
    ]
    if not rounded:
        return []
    return [
        f"{model}: the updates of {len(rounded)} of {len(changed)} changed matrices are hardly "
        "larger than the rounding of its file, so their ranks are those of rounding errors."
    ]
