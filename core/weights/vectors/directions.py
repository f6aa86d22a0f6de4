"""Leading left directions: of any matrices, and of a large diagonal one with Gaussian noise, which
is not decomposed.

A matrix D + sG, D diagonal with falling values, is cut into the block of its first directions, the
block of the rest, and two blocks of pure noise that couple them. Noise keeps its distribution under
rotations, so the rest may be decomposed once and stand in every draw as its singular values; what a
draw makes anew is the first block and the couplings. Columns (or rows) of a coupling that meet only
zeros of the rest act through their product alone, which is a Wishart matrix: its triangular factor
of Bartlett (1933) takes their place. The leading directions of that sparse matrix come from
Lanczos' method.

The draws are those of the whole matrix but for one thing: they share the noise of the rest. Its
singular values hardly differ between draws; means and spreads of the cosines agree with those of
whole decompositions in the tests, for small noise and for noise larger than the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

SMALL = 256  # sides up to which matrices are decomposed in batches
FIRST = 64  # directions of the block that is drawn anew, at least
PER_DIRECTION = 3  # of the same, per leading direction
TOLERANCE = 1e-8  # of a squared singular value, relative


def leading_directions(
    matrices: Float[ndarray, "batch row column"], kept: int
) -> tuple[Float[ndarray, "batch row direction"], Float[ndarray, "batch direction"]]:
    """Find leading left singular vectors and values from the Gram matrix on the smaller side.

    Example:
        >>> directions, values = leading_directions(np.diag([1.0, 3.0, 2.0])[None], 2)
        >>> np.abs(directions[0]).argmax(0).tolist(), values[0].tolist()
        ([1, 2], [3.0, 2.0])
    """
    tall = matrices.shape[1] > matrices.shape[2]
    short = matrices.transpose(0, 2, 1) if tall else matrices
    gram = short @ short.transpose(0, 2, 1)
    side = gram.shape[-1]
    if side <= SMALL:
        eigenvalues, vectors = np.linalg.eigh(gram)
        eigenvalues, vectors = eigenvalues[:, ::-1][:, :kept], vectors[:, :, ::-1][:, :, :kept]
    else:
        from scipy.linalg import eigh

        pairs = [
            eigh(each, subset_by_index=[side - kept, side - 1], overwrite_a=True) for each in gram
        ]
        eigenvalues = np.stack([each[0][::-1] for each in pairs])
        vectors = np.stack([each[1][:, ::-1] for each in pairs])
    values = np.sqrt(np.maximum(eigenvalues, 0.0))
    if not tall:
        return vectors, values
    scale = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    return matrices @ vectors * scale[:, None, :], values


def first_directions(leading: int) -> int:
    """Return the size of the block that each draw makes anew.

    Example:
        >>> first_directions(10), first_directions(40)
        (64, 120)
    """
    return max(FIRST, PER_DIRECTION * leading)


def noisy_cosines(
    values: Float[ndarray, " direction"],
    shape: tuple[int, int],
    scale: float,
    leading: int,
    draws: int,
    rng: np.random.Generator,
    tick: Callable[[float], None] = lambda fraction: None,
) -> Float[ndarray, "draw leading"]:
    """Compute the largest absolute cosine of each leading left direction with any of the base's.

    Args:
        values: The base's singular values, falling; more than `first_directions(leading)`.
        shape: Of the matrix; its smaller side has as many entries as `values`.
        scale: Standard deviation of the noise's entries.
        leading: Directions kept, largest singular value first.
        draws: Draws of noise.
        tick: Called with the finished share between draws.

    Example:
        >>> values, rng = np.linspace(9.0, 1.0, 200), np.random.default_rng(0)
        >>> little, much = (
        ...     noisy_cosines(values, (200, 300), scale, 2, 20, rng).mean() for scale in (1e-4, 1.0)
        ... )
        >>> bool(little > 0.99 > 0.5 > much)
        True
    """
    from scipy.sparse.linalg import eigsh

    first = first_directions(leading)
    rest, directions = _rest(values[first:], shape, first, scale, rng)
    beyond = len(rest)
    cosines = np.empty((draws, leading))
    for draw in range(draws):
        tick(draw / draws)
        corner = rng.normal(scale=scale, size=(first, first))
        corner[np.diag_indices(first)] += values[:first]
        right = _coupling(first, beyond, shape[1] - first - beyond, scale, rng)
        below = _coupling(first, beyond, shape[0] - first - beyond, scale, rng).T
        gram = _gram(corner, right, below, rest)
        start = np.zeros(gram.shape[0])
        some = min(gram.shape[0], first + right.shape[1])
        start[:some] = rng.normal(size=some)
        squares, lefts = eigsh(gram, leading, tol=TOLERANCE, v0=start)
        lefts = lefts[:, np.argsort(-squares)]
        cosines[draw] = np.maximum(
            np.abs(lefts[:first]).max(0),
            np.abs(directions @ lefts[first : first + beyond]).max(0),
        )
    return cosines


def _rest(
    values: Float[ndarray, " direction"],
    shape: tuple[int, int],
    first: int,
    scale: float,
    rng: np.random.Generator,
) -> tuple[Float[ndarray, " direction"], Float[ndarray, "direction left"]]:
    """Singular values of the rest with noise, and its left directions' cosines with the base's."""
    noisy = rng.normal(scale=scale, size=(shape[0] - first, shape[1] - first))
    places = np.arange(len(values))
    noisy[places, places] += values
    left, sizes = leading_directions(noisy[None], len(values))
    return sizes[0], left[0, : len(values)]


def _coupling(
    first: int, beyond: int, idle: int, scale: float, rng: np.random.Generator
) -> Float[ndarray, "first other"]:
    """Noise between the first directions and the rest's, and `idle` ones that the rest lacks."""
    rest = rng.normal(scale=scale, size=(first, beyond))
    if idle <= first:
        return np.hstack([rest, rng.normal(scale=scale, size=(first, idle))])
    factor = np.tril(rng.normal(scale=scale, size=(first, first)), -1)
    factor[np.diag_indices(first)] = scale * np.sqrt(rng.chisquare(idle - np.arange(first)))
    return np.hstack([rest, factor])


def _gram(corner: ndarray, right: ndarray, below: ndarray, rest: ndarray) -> LinearOperator:
    """The product of [[corner, right], [below, diagonal of rest]] with its transpose, as products
    with vectors.

    What the first rows share with all is multiplied out once, so that a product with a vector
    reads one narrow matrix twice.
    """
    from scipy.sparse.linalg import LinearOperator

    first, beyond, side = len(corner), len(rest), len(corner) + len(below)
    firsts = corner @ corner.T + right @ right.T
    both = below @ corner.T
    both[:beyond] += rest[:, None] * right.T[:beyond]
    narrow = np.ascontiguousarray(np.hstack([both, below]).T)  # (2 first, other rows)
    squares = np.zeros(len(below))
    squares[:beyond] = rest**2

    def times(vector: ndarray) -> ndarray:
        head, tail = vector[:first], vector[first:]
        made, parts = np.empty(side), narrow @ tail
        np.add(firsts @ head, parts[:first], out=made[:first])
        parts[:first] = head
        np.add(parts @ narrow, squares * tail, out=made[first:])
        return made

    return LinearOperator((side, side), matvec=times, dtype=np.float64)
