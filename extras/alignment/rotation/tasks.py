"""The pure task of the test of rotations: a rotation with one scale and a linear map, compared.

If one space is a rotation of the other, up to one scale and noise, a linear map fitted to the pair
has nearly equal singular values and predicts no better than the rotation. How nearly depends on the
rows, the noise and the penalty: the same maps are therefore fitted to planted targets, the scaled
rotation that fits best plus the errors that ridge leaves on held-out rows, dealt out at random.

The task's value holds `m/nmse` and `m/error` for each map m, `spread`, and what describes the pair,
all as in `core.studies.alignment.seeds.tasks`; `spectrum` (direction, layer, value), ridge's
singular values over their root mean square, falling; and where a rotation was planted
`planted_spectrum` (direction, draw, layer, value) and `planted_gap` (direction, draw, layer), the
error of the scaled rotation minus that of ridge on test rows.

Reference: Schönemann 1966; Gower & Dijksterhuis 2004 (Procrustes with scale). Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import ShapeError
from core.maths.evaluation.costs import linear_maps
from core.maths.evaluation.judging import Judge, by_direction
from core.maths.evaluation.scoring import unexplained
from core.maths.evaluation.split import Parts
from core.maths.maps.linear import LinearAligner
from core.maths.maps.moments import TINY, Moments, moments
from core.maths.maps.registry import make_aligner
from core.studies.alignment.seeds.tasks import described, read_pair
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick

ROTATION, LINEAR = "procrustes-scaled", "ridge"  # the two maps that are compared
MAPS = ("procrustes", ROTATION, LINEAR, "ols")
PLANTED = 2  # maps fitted to a planted rotation, and copies of the rows that it takes
STACKED = 40  # bytes per number of both directions, in single precision and in double
SCORES_READ = ("nmse", "error")  # of what a map's scores are


def _cost(
    sizes: Mapping[str, Size],
    one: str,
    other: str,
    sentences: Words,
    items: str,
    draws: int,
    **_: Any,
) -> Cost:
    (width, states), rows = costs.shape_of(sizes, one, other), costs.rows_of(sentences, items)
    return Cost(
        (len(MAPS) + PLANTED * draws) * linear_maps(2 * states, width, rows),
        PLANTED * 2 * states * rows * width * STACKED,
        shared=costs.reading(sizes, (one, other), sentences),
    )


@pure("alignment.rotation", version=3, guard=as_identified, cost=_cost)
def compare_rotation(
    one: str,
    other: str,
    one_identity: str,
    other_identity: str,
    sentences: Words,
    items: str,
    split: str,
    draws: int,
    seed: int,
    sinks: str = "",
) -> Value:
    """Fit rotations and linear maps between two models at every layer in both directions, and to
    planted rotations. Raises ShapeError if the models differ in width, or the split leaves too few
    rows."""
    with span(0.0, 0.3):
        x, y, parts, remarks = read_pair(one, other, sentences, items, split, seed, sinks=sinks)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"{one} and {other} are {x.shape[-1]} and {y.shape[-1]} wide, "
            "so neither is a rotation of the other: choose models of one width."
        )
    layers = np.arange(len(x))
    value = described(x, y, parts, layers, remarks)
    with span(0.3, 1.0):
        fit = compare_maps(
            np.concatenate([x, y]),
            np.concatenate([y, x]),
            parts,
            draws,
            np.random.default_rng(seed),
        )
    return value | by_direction([fit], len(layers))


def compare_maps(
    x: np.ndarray, y: np.ndarray, parts: Parts, draws: int, rng: np.random.Generator
) -> Value:
    """Fit and score the maps on paired rows of one width, (layer, row, d), as in `compare_rotation`
    without a direction; `rng` deals out the errors of the planted rotations."""
    judge, sums = Judge(y, parts), moments(x[:, parts.train], y[:, parts.train])
    value: Value = {}
    fitted: dict[str, LinearAligner] = {}
    for name in MAPS:
        fitted[name] = _fit(name, sums, x, y, parts)
        scores = judge.scores(name, fitted[name], x)
        keys = ("spread", *(f"{name}/{part}" for part in SCORES_READ))
        value |= {key: scores[key] for key in keys}
    value["spectrum"] = spectrum(fitted[LINEAR].weight)
    errors = y[:, parts.test] - fitted[LINEAR].transform(x[:, parts.test])
    errors = errors - errors.mean(1, keepdims=True)
    rotated = fitted[ROTATION].transform(x)
    gaps, spectra = [], []
    for draw in range(draws):
        tick(draw / draws, "planted rotations")
        dealt = errors[:, rng.integers(errors.shape[1], size=x.shape[1])]
        gap, values = _of_planted(x, rotated + dealt, parts)
        gaps.append(gap)
        spectra.append(values)
    value["planted_gap"] = np.array(gaps)
    value["planted_spectrum"] = np.array(spectra, dtype=np.float32)  # for a range alone
    return value


def spectrum(weight: np.ndarray) -> np.ndarray:
    """Compute the singular values of a linear map over their root mean square, falling, (...,
    value); all 1 for a scaled rotation.

    Example:
        >>> spectrum(np.array([[0.0, 3.0], [-3.0, 0.0]])).tolist()
        [1.0, 1.0]
    """
    values = np.linalg.svd(weight, compute_uv=False)
    size = np.sqrt((values**2).mean(-1, keepdims=True))
    return np.asarray(values / np.maximum(size, TINY))


def _fit(name: str, sums: Moments, x: np.ndarray, y: np.ndarray, parts: Parts) -> LinearAligner:
    held, aligner = parts.validation, make_aligner(name)
    assert isinstance(aligner, LinearAligner)
    return aligner.fit_moments(sums, (x[:, held], y[:, held]))


def _of_planted(x: np.ndarray, planted: np.ndarray, parts: Parts) -> tuple[np.ndarray, np.ndarray]:
    """Compute how much higher the scaled rotation's error is than ridge's, (layer,), and ridge's
    spectrum."""
    sums = moments(x[:, parts.train], planted[:, parts.train])
    tested = planted[:, parts.test]
    maps = [_fit(name, sums, x, planted, parts) for name in (ROTATION, LINEAR)]
    rotation, linear = (
        unexplained(each.transform(x[:, parts.test]), tested, sums.y.mean) for each in maps
    )
    return rotation - linear, spectrum(maps[1].weight)
