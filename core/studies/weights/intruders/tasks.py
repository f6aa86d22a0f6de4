"""The study's tasks: how much each matrix's leading directions resemble the base's, and how many
would be intruders after random updates of the same spectrum.

Every matrix is compared with the base's and with random updates of equal norm. A running task keeps
finished matrices, so that an interrupted run goes on where it stopped.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228. Deviations: see
`core.maths.spectra.intruders`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from core.maths.spectra.directions import SMALL
from core.maths.spectra.intruders import compare_directions, turned_cosines
from core.maths.spectra.spectra import relative_change
from core.models.weights.deltas import Delta
from core.studies.task_kit import (
    Cost,
    Size,
    Value,
    costs,
    identified,
    keep_pieces,
    key_of,
    pure,
    span,
    tick,
)
from core.studies.weights.clusters.tasks import deltas_with_progress, open_pair

VERSION = 3  # raised when what is kept of a matrix changes
LARGE, LARGE_DRAWS = 512, 3  # above these sides few turned updates are drawn: each is decomposed
# Processor seconds: per number of a random update of a small matrix, and per cubed side for its
# leading directions; per side of a large matrix for both; per cubed side for the singular values of
# a matrix and its update, for a turned update, and for the decomposition of the base
DRAWN, LED, NOISY = 2e-8, 6e-10, 1.1e-5
TURNED_SECONDS, TURN, BASE = 3e-10, 1.6e-10, 5e-10
PARTS = 2  # tasks per fine-tune, so that one fine-tune keeps two cores busy


def _measured_cost(
    sizes: Mapping[str, Size], model: str, families: Sequence[str], leading: int, draws: int,
    **_: Any,
) -> Cost:  # fmt: skip
    """Estimate the decompositions of the base, and random updates with their leading directions."""
    size, seconds = sizes[model], 0.0
    for shape, number in costs.matrices_of(size, families):
        once = DRAWN * shape[0] * shape[1] + LED * costs.cubed_side(shape)
        if min(shape) > SMALL:
            once = NOISY * min(shape)
        seconds += number * (draws * once + BASE * costs.cubed_side(shape))
    stored = 6 * size.layers * draws * leading * costs.SINGLE
    held = costs.bytes_of_largest(size) + stored
    return Cost(costs.OPENING + seconds / PARTS, held, torch=False)


def _turned_cost(
    sizes: Mapping[str, Size], model: str, families: Sequence[str], draws: int, **_: Any
) -> Cost:
    """Estimate turned updates, which are decomposed whole."""
    seconds = costs.OPENING
    for shape, number in costs.matrices_of(sizes[model], families):
        count = turned_draws(shape, draws)
        each = (TURNED_SECONDS + TURN * count) * costs.cubed_side(shape)
        seconds += number * (each + DRAWN * count * shape[0] * shape[1])
    return Cost(seconds, costs.bytes_of_largest(sizes[model]), torch=False)


@pure("weights.intruders", version=3, cost=_measured_cost)
def measure_intruders(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    leading: int,
    draws: int,
    seed: int,
    part: int,
) -> Value:
    """Measure how much the leading directions of every `PARTS`-th matrix resemble the base's: for
    its "places" (family and layer from 0) "relative" norms, "values" and "cosines" (matrix,
    direction) and "null" (matrix, draw, direction), NaN where a matrix did not move or has fewer
    directions. Raises ModelError if a model is no fine-tune of the base."""
    whole = open_pair(base, model, base_identity, model_identity, families)
    pair = replace(whole, slots=whole.slots[part::PARTS])
    count = len(pair.slots)
    places = [[slot.family, slot.layer] for slot, _ in pair.slots]
    identities = identified(base_identity), identified(model_identity)
    keys = {
        index: key_of("intruders matrix", VERSION, *identities, place, leading, draws, seed)
        for index, place in enumerate(places)
    }
    with keep_pieces(keys) as pieces:
        for done, delta in enumerate(
            deltas_with_progress(pair, pieces.values), start=len(pieces.values)
        ):
            rng = np.random.default_rng(
                zlib.crc32(f"intruders {seed} {places[delta.index]}".encode())
            )
            with span(done / count, (done + 1) / count):
                pieces.add(delta.index, _measure_matrix(delta, leading, draws, rng))
    ordered = [pieces.values[index] for index in range(count)]
    values, cosines = np.full((2, count, leading), np.nan)
    null = np.full((count, draws, leading), np.nan, np.float32)
    for place, piece in enumerate(ordered):
        directions = len(piece["values"])
        values[place, :directions], cosines[place, :directions] = piece["values"], piece["cosines"]
        null[place, :, :directions] = piece["null"]
    return {
        "places": places,
        "relative": np.array([piece["relative"] for piece in ordered]),
        "values": values,
        "cosines": cosines,
        "null": null,
        "notices": list(pair.notices),
    }


@pure("weights.turned_intruders", version=4, cost=_turned_cost)
def measure_turned(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    leading: int,
    threshold: float,
    draws: int,
    seed: int,
) -> Value:
    """Count the intruder dimensions after updates of the same spectrum, "turned" (matrix, draw), 0
    where a matrix did not move: the cosines would take too much room. Of sides above `LARGE` at
    most `LARGE_DRAWS` updates are drawn, and then of all. Raises as `measure_intruders`."""
    pair, directions = open_pair(base, model, base_identity, model_identity, families), shared(seed)
    drawn: dict[int, np.ndarray] = {}
    for delta in deltas_with_progress(pair):
        if not np.any(delta.matrix):
            continue
        rng = np.random.default_rng(zlib.crc32(f"turned {seed} {delta.index}".encode()))
        count = turned_draws(delta.matrix.shape, draws)
        cosines = turned_cosines(delta.weight, delta.matrix, leading, count, directions, rng, tick)
        drawn[delta.index] = (cosines < threshold).sum(1)
    least = min((len(each) for each in drawn.values()), default=draws)
    turned = np.zeros((len(pair.slots), least), np.int32)
    for at, counts in drawn.items():
        turned[at] = counts[:least]
    return {"turned": turned}


def turned_draws(shape: tuple[int, ...], draws: int) -> int:
    """Limit the updates of the same spectrum that a large matrix gets."""
    return draws if min(shape) <= LARGE else min(draws, LARGE_DRAWS)


def shared(seed: int) -> Callable[[int, int, int], np.ndarray]:
    """Make a source of random orthonormal vectors, drawn once for each side (0: left, 1: right),
    length and number, for all matrices of a model.

    Example:
        >>> directions = shared(0)
        >>> left, right = directions(0, 4, 2), directions(1, 4, 2)
        >>> left is directions(0, 4, 2), bool(np.allclose(left, right))
        (True, False)
    """

    @cache
    def directions(side: int, length: int, count: int) -> np.ndarray:
        of = zlib.crc32(f"directions {seed} {side} {length} {count}".encode())
        return np.linalg.qr(np.random.default_rng(of).normal(size=(length, count)))[0]

    return directions


def joined_parts(parts: Sequence[Value]) -> Value:
    """Join the values of a model's parts, in the order of its matrices.

    Example:
        >>> whole = np.arange(3.0)  # of three matrices, of which a part has every second
        >>> parts = [
        ...     {name: whole[part::PARTS] for name in ("relative", "values", "cosines", "null")}
        ...     | {"places": [["query", row] for row in range(3)[part::PARTS]], "notices": []}
        ...     for part in range(PARTS)
        ... ]
        >>> joined = joined_parts(parts)
        >>> joined["places"], joined["relative"].tolist()
        ([['query', 0], ['query', 1], ['query', 2]], [0.0, 1.0, 2.0])
    """
    counts = [len(part["places"]) for part in parts]
    places = [number + PARTS * row for number, count in enumerate(counts) for row in range(count)]
    order = np.argsort(places)
    joined: Value = {
        name: np.concatenate([part[name] for part in parts])[order]
        for name in ("relative", "values", "cosines", "null")
    }
    all_places = [place for part in parts for place in part["places"]]
    return joined | {
        "places": [all_places[row] for row in order],
        "notices": list(dict.fromkeys(notice for part in parts for notice in part["notices"])),
    }


def _measure_matrix(delta: Delta, leading: int, draws: int, rng: np.random.Generator) -> Value:
    """Measure one matrix; an unchanged one has no directions."""
    size = float(np.linalg.norm(delta.matrix))
    relative = float(relative_change(size**2, delta.weight_norm**2))
    if not size:
        return {
            "relative": relative,
            "values": np.zeros(0),
            "cosines": np.zeros(0),
            "null": np.zeros((draws, 0), np.float32),
        }
    compared = compare_directions(delta.weight, delta.matrix, leading, draws, rng, tick)
    return {
        "relative": relative,
        "values": compared.values,
        "cosines": compared.cosines,
        "null": compared.null.astype(np.float32),
    }
