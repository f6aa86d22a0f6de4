"""Leading left directions: of any matrices, and of a large diagonal one with Gaussian noise, which
is not decomposed.

A matrix D + sG, D diagonal with falling values, is cut into the block of its first directions, the
block of the rest, and two blocks of pure noise that couple them. Noise keeps its distribution under
rotations, so the rest may be decomposed once and stand in every draw as its singular values; what a
draw makes anew is the first block and the couplings. Columns (or rows) of a coupling that meet only
zeros of the rest act through their product alone, which is a Wishart matrix: its triangular factor
of Bartlett (1933) takes their place.

The leading directions come from Davidson's (1975) method for several at once: the diagonal of the
product of that matrix with its transpose is nearly all of it where noise is small, so that a few
steps do, and each is one product of large matrices, during which other threads run. (Lanczos'
method takes twice as long where noise is a fortieth of the matrix, less where it is a third or
more, and its ten thousand products with single vectors leave a second core idle.)

The draws are those of the whole matrix except that they share the noise of the rest. Its
singular values hardly differ between draws; means and spreads of the cosines agree with those of
whole decompositions in the tests, for small noise and for noise larger than the matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from jaxtyping import Float
from numpy import ndarray

SMALL = 256  # sides up to which matrices are decomposed in batches
FIRST = 64  # directions of the block that is drawn anew, at least
PER_DIRECTION = 3  # of the same, per leading direction
# of a residual, relative to a squared singular value; cosines are then right to 1e-5 on average and
# 1e-3 at worst, far less than draws differ
TOLERANCE = 1e-4
SPARE = 6  # directions searched for beyond the leading ones
MOST = 8  # times as many in the basis before it is cut to twice as many
LEAST_VALUE = 1e-9  # of the largest squared value: smaller ones are known as well as this one
NEAR = 1e-3  # of the largest squared value: a smaller distance to a diagonal number counts as this


def leading_directions(
    matrices: Float[ndarray, "batch row column"], count: int
) -> tuple[Float[ndarray, "batch row direction"], Float[ndarray, "batch direction"]]:
    """Find leading left singular vectors and values from the Gram matrix on the smaller side.

    Example:
        >>> directions, values = leading_directions(np.diag([1.0, 3.0, 2.0])[None], 2)
        >>> np.abs(directions[0]).argmax(0).tolist(), values[0].tolist()
        ([1, 2], [3.0, 2.0])
    """
    tall = matrices.shape[1] > matrices.shape[2]
    short = matrices.transpose(0, 2, 1) if tall else matrices
    eigenvalues, vectors = leading_eigenvectors(short @ short.transpose(0, 2, 1), count)
    values = np.sqrt(np.maximum(eigenvalues, 0.0))
    if not tall:
        return vectors, values
    scale = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    return matrices @ vectors * scale[:, None, :], values


def leading_eigenvectors(
    grams: Float[ndarray, "batch side side"], count: int
) -> tuple[Float[ndarray, "batch direction"], Float[ndarray, "batch side direction"]]:
    """Find the largest eigenvalues of symmetric matrices, which are overwritten, and their vectors.

    Example:
        >>> leading_eigenvectors(np.diag([1.0, 3.0, 2.0])[None], 2)[0].tolist()
        [[3.0, 2.0]]
    """
    if grams.shape[-1] <= SMALL:
        values, vectors = np.linalg.eigh(grams)
        return values[:, ::-1][:, :count], vectors[:, :, ::-1][:, :, :count]
    pairs = [leading_vectors(each, count) for each in grams]
    return np.stack([each[0] for each in pairs]), np.stack([each[1] for each in pairs])


def leading_vectors(
    gram: Float[ndarray, "side side"], count: int
) -> tuple[Float[ndarray, " direction"], Float[ndarray, "side direction"]]:
    """Find the largest eigenvalues of a symmetric matrix, which is overwritten, and their vectors.

    Example:
        >>> leading_vectors(np.diag([1.0, 3.0, 2.0]), 2)[0].tolist()
        [3.0, 2.0]
    """
    from scipy.linalg import eigh

    side = len(gram)
    values, vectors = eigh(gram, subset_by_index=[side - count, side - 1], overwrite_a=True)
    return values[::-1], vectors[:, ::-1]


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
        lefts = _leading_left(corner, right, below, rest, leading)
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


def _leading_left(
    corner: Float[ndarray, "first first"],
    right: Float[ndarray, "first other"],
    below: Float[ndarray, "another first"],
    rest: Float[ndarray, " direction"],
    leading: int,
) -> Float[ndarray, "side leading"]:
    """Leading left singular vectors of [[corner, right], [below, diagonal of rest]], largest
    first."""
    first, side = len(corner), len(corner) + len(below)
    couplings = below @ corner.T
    couplings[: len(rest)] += rest[:, None] * right.T[: len(rest)]
    values, axes = np.linalg.eigh(corner @ corner.T + right @ right.T)
    narrow = np.ascontiguousarray(np.hstack([couplings @ axes, below]).T)
    squares = np.zeros(len(below))
    squares[: len(rest)] = rest**2
    diagonal = np.concatenate([values, squares + (below**2).sum(1)])

    def times(vectors: ndarray) -> ndarray:
        """The matrix times its transpose, the first block in its own axes, times vectors."""
        head, tail = vectors[:first], vectors[first:]
        parts, product = narrow @ tail, np.empty_like(vectors)
        product[:first] = values[:, None] * head + parts[:first]
        parts[:first] = head
        product[first:] = narrow.T @ parts + squares[:, None] * tail
        return product

    width = leading + SPARE
    if MOST * width > side // 2:  # a basis would be nearly as large as the matrix
        gram = np.diag(np.concatenate([values, squares]))
        gram[first:, first:] += below @ below.T
        gram[first:, :first] = narrow[:first].T  # eigh reads the lower triangle
        lefts = leading_vectors(gram, leading)[1]
        lefts[:first] = axes @ lefts[:first]
        return lefts
    basis = np.eye(side, width, width - first)  # the largest of the first block
    images = times(basis)
    while True:
        sizes, mix = np.linalg.eigh(basis.T @ images)
        sizes, mix = sizes[::-1], mix[:, ::-1]
        lefts = basis @ mix[:, :leading]
        residual = images @ mix[:, :leading] - lefts * sizes[:leading]
        enough = TOLERANCE * np.maximum(sizes[:leading], LEAST_VALUE * sizes[0])
        left = np.linalg.norm(residual, axis=0) > enough
        if not left.any():
            break
        if basis.shape[1] > MOST * width:
            basis, images = basis @ mix[:, : 2 * width], images @ mix[:, : 2 * width]
        apart = diagonal[:, None] - sizes[:leading][left]
        near = np.abs(apart) < NEAR * sizes[0]
        step = residual[:, left] / np.where(near, -NEAR * sizes[0], apart)
        for _ in range(2):  # once leaves rounding errors of what was large
            step -= basis @ (basis.T @ step)
            step /= np.linalg.norm(step, axis=0)
        step = np.linalg.qr(step)[0]
        basis, images = np.hstack([basis, step]), np.hstack([images, times(step)])
    lefts[:first] = axes @ lefts[:first]
    return cast(ndarray, lefts)
