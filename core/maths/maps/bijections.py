"""Known bijections of seven forms, one of them the form of the invertible network.

- `coupling`: affine coupling blocks with random weights, the form of the invertible network;
- `bend`: a monotone function of every coordinate, .3 z + tanh 2 z, between two rotations;
- `residual`: x + c tanh(x A + b) B with random rotations A and B and c < 1, a contraction added to
the identity;
- `monotone`: .3 z + log(1 + exp 2 z) of every coordinate, steep on one side and flat on the other;
- `triangular`: each coordinate plus a quadratic of the coordinates before it;
- `inversion`: inversion in a sphere around a point that lies as far out as the rows;
- `twist`: pairs of coordinates turned by an angle that grows with the row's norm.

With 0 blocks each form is a rotation, which every linear map can undo.

References: Dinh et al. 2017 (coupling); Behrmann et al. 2019 (invertible residual networks).
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from jaxtyping import Float

# factor on the coupling network's initial weights: curved enough that least squares leaves an error
GAIN = 1.5
CONTRACTION = 0.9  # c, the Lipschitz constant of what a residual block adds
FLAT, STEEP = 0.3, 2.0  # the bend's slope is .3 far from 0 and 2.3 at 0
QUADRATIC = 0.5  # standard deviation of what a triangular block adds, for Gaussian coordinates
TURN = 1.5  # standard deviation of the angle of a pair, in radians, at the typical norm
HIDDEN = 64  # of the coupling network

Single = Float[np.ndarray, "row d"]


def plant(rows: Single, form: str, blocks: int, seed: int) -> Single:
    """Apply a known bijection to rows: centre, scale to unit variance, rotate, then apply `blocks`
    blocks of a form.

    Args:
        rows: Shape (row, d).
        form: Of `FORMS`.
        blocks: How many blocks; 0 leaves the rotation alone.
        seed: Of the bijection's random weights.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
        >>> plant(rows, "bend", 1, seed=0).shape
        (8, 2)
    """
    rng = np.random.default_rng(seed)
    turned = _turned(_unit(rows), rng)
    return FORMS[form](turned, blocks, rng) if blocks else turned


def _coupling(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    import torch

    from core.maths.maps.coupling import coupling_network

    network = coupling_network(
        rows.shape[1], blocks, HIDDEN, int(rng.integers(2**31)), zero=False
    ).double()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.mul_(GAIN)
        bent: np.ndarray = network(torch.from_numpy(rows), jac=False)[0].numpy()
    return bent


def _bend(rows: Single, rng: np.random.Generator) -> Single:
    return _turned(FLAT * rows + np.tanh(STEEP * rows), rng)


def _residual(rows: Single, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    inward, outward = _rotation(d, rng), _rotation(d, rng)
    added = CONTRACTION * np.tanh(rows @ inward + rng.normal(size=d)) @ outward
    return cast(np.ndarray, rows + added)


def _monotone(rows: Single, rng: np.random.Generator) -> Single:
    return _unit(_turned(FLAT * rows + np.logaddexp(0.0, STEEP * rows), rng))


def _triangular(rows: Single, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    before = np.sqrt(np.maximum(np.arange(d), 1) * 2.0)  # the sd of a sum of squares, less 1 each
    weights = np.triu(rng.normal(size=(d, d)), 1) / before
    return _unit(_turned(rows + QUADRATIC * (rows**2 - 1) @ weights, rng))


def _inversion(rows: Single, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    away = rng.normal(size=d)
    from_centre = rows - away * (np.sqrt(d) / np.linalg.norm(away))
    return _unit(_turned(d * from_centre / (from_centre**2).sum(1, keepdims=True), rng))


def _twist(rows: Single, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    even, odd = slice(0, d // 2 * 2, 2), slice(1, d // 2 * 2, 2)
    norms = np.linalg.norm(rows, axis=1, keepdims=True) / np.sqrt(d)
    angles = norms * rng.normal(scale=TURN, size=d // 2)
    turned = rows.copy()
    turned[:, even] = rows[:, even] * np.cos(angles) - rows[:, odd] * np.sin(angles)
    turned[:, odd] = rows[:, even] * np.sin(angles) + rows[:, odd] * np.cos(angles)
    return _turned(turned, rng)


def _in_turn(
    block: Callable[[Single, np.random.Generator], Single],
    rows: Single,
    blocks: int,
    rng: np.random.Generator,
) -> Single:
    for _ in range(blocks):
        rows = block(rows, rng)
    return rows


def _unit(rows: Single) -> Single:
    """Centre rows and scale them, all coordinates by one factor, to unit variance."""
    return cast(np.ndarray, (rows - rows.mean(0)) / max(float(rows.std()), 1e-12))


def _turned(rows: Single, rng: np.random.Generator) -> Single:
    return cast(np.ndarray, rows @ _rotation(rows.shape[1], rng))


def _rotation(d: int, rng: np.random.Generator) -> Single:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


FORMS: dict[str, Callable[[Single, int, np.random.Generator], Single]] = {
    "coupling": _coupling,
    "bend": partial(_in_turn, _bend),
    "residual": partial(_in_turn, _residual),
    "monotone": partial(_in_turn, _monotone),
    "triangular": partial(_in_turn, _triangular),
    "inversion": partial(_in_turn, _inversion),
    "twist": partial(_in_turn, _twist),
}
