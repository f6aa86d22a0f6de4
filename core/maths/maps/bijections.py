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
    turned = _unit(rows) @ _rotation(rows.shape[1], rng)
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


def _bend(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    for _ in range(blocks):
        rows = (FLAT * rows + np.tanh(STEEP * rows)) @ _rotation(rows.shape[1], rng)
    return rows


def _residual(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    for _ in range(blocks):
        inward, outward = _rotation(d, rng), _rotation(d, rng)
        rows = rows + CONTRACTION * np.tanh(rows @ inward + rng.normal(size=d)) @ outward
    return rows


def _monotone(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    for _ in range(blocks):
        bent = FLAT * rows + np.logaddexp(0.0, STEEP * rows)
        rows = _unit(bent @ _rotation(rows.shape[1], rng))
    return rows


def _triangular(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    before = np.sqrt(np.maximum(np.arange(d), 1) * 2.0)  # the sd of a sum of squares, less 1 each
    for _ in range(blocks):
        weights = np.triu(rng.normal(size=(d, d)), 1) / before
        rows = _unit((rows + QUADRATIC * (rows**2 - 1) @ weights) @ _rotation(d, rng))
    return rows


def _inversion(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    for _ in range(blocks):
        away = rng.normal(size=d)
        away *= np.sqrt(d) / np.linalg.norm(away)
        from_centre = rows - away
        inverted = d * from_centre / (from_centre**2).sum(1, keepdims=True)
        rows = _unit(inverted @ _rotation(d, rng))
    return rows


def _twist(rows: Single, blocks: int, rng: np.random.Generator) -> Single:
    d = rows.shape[1]
    pairs = d // 2
    for _ in range(blocks):
        norms = np.linalg.norm(rows, axis=1, keepdims=True) / np.sqrt(d)
        angles = norms * rng.normal(scale=TURN, size=pairs)
        first, second = rows[:, : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]
        turned = rows.copy()
        turned[:, : 2 * pairs : 2] = first * np.cos(angles) - second * np.sin(angles)
        turned[:, 1 : 2 * pairs : 2] = first * np.sin(angles) + second * np.cos(angles)
        rows = turned @ _rotation(d, rng)
    return rows


def _unit(rows: Single) -> Single:
    """Centre rows and scale them, all coordinates by one factor, to unit variance."""
    scaled: np.ndarray = (rows - rows.mean(0)) / max(float(rows.std()), 1e-12)
    return scaled


def _rotation(d: int, rng: np.random.Generator) -> Single:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


FORMS: dict[str, Callable[[Single, int, np.random.Generator], Single]] = {
    "coupling": _coupling,
    "bend": _bend,
    "residual": _residual,
    "monotone": _monotone,
    "triangular": _triangular,
    "inversion": _inversion,
    "twist": _twist,
}
