"""A fine-tune as a vector, in six ways, and the distances between fine-tunes in each.

`original` is the vector of "Vectors in the wild": the leading left singular vectors of each delta,
concatenated over families and averaged over layers. A singular vector is defined only up to its
sign (and a rotation where singular values are equal), so this average is partly arbitrary; it is
kept as published, and the other vectors avoid the problem. `factors` weights the same columns by
the square roots of their singular values, as an extracted LoRA would. `projector` uses the
subspaces that the columns span, which have no signs; its distance is the Frobenius distance of
projectors, computed from r x r products. `spectrum`, `norms` and `delta` use no single vectors.
`norms` is the baseline that the others must beat, because learning rate and number of steps alone
change it.

A delta of exactly zero (a frozen matrix) has no directions. `projector` and `spectrum` compare two
models on the matrices that changed in both; the triangle inequality need not hold then. In `norms`
such a matrix has norm 0; to `delta`, `factors` and `original` it adds nothing.

Reference: Golub & Van Loan 2013, section 2.5.3 (distance of subspaces).
Deviations: `original` and `factors` are compared by their cosine, which the original leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.plugins import Registry
from core.maths.spectra.spectra import relative_change


@dataclass(frozen=True)
class Features:
    """What is kept of one fine-tune's update: a few small arrays per matrix.

    Attributes:
        families: Family of each matrix.
        layers: Layer of each matrix, from 0.
        shapes: Rows and columns of each matrix.
        values: Singular values, falling, shape (matrix, value), zero beyond a matrix's smaller
            side.
        delta_norms, weight_norms: Frobenius norms of delta and base, shape (matrix,).
        left, right: Leading singular vectors of each matrix, (rows, kept) and (columns, kept).
        sketches: Each delta's entries in order, or its count sketch where it is large.
    """

    families: tuple[str, ...]
    layers: tuple[int, ...]
    shapes: tuple[tuple[int, int], ...]
    values: Float[ndarray, "matrix value"]
    delta_norms: Float[ndarray, " matrix"]
    weight_norms: Float[ndarray, " matrix"]
    left: tuple[Float[ndarray, "row rank"], ...]
    right: tuple[Float[ndarray, "column rank"], ...]
    sketches: tuple[Float[ndarray, " entry"], ...]


@dataclass(frozen=True)
class Vector:
    """One way of turning a fine-tune into a vector.

    Attributes:
        title: Its name in forms and legends.
        gauge_safe: Whether it is independent of signs and rotations of singular vectors.
        ranked: Whether it uses the leading directions only, as many as the rank.
        meaning: One sentence for the reader.
        distances: Function of all features and a rank; returns shape (model, model).
        short: Its name in a list within a sentence, where that is not its title.
    """

    title: str
    gauge_safe: bool
    ranked: bool
    meaning: str
    distances: Callable[[Sequence[Features], int], Float[ndarray, "model model"]]
    short: str = ""


def calc_distances(
    features: Sequence[Features], vector: str, rank: int
) -> Float[ndarray, "model model"]:
    """Calculate distances between fine-tunes: symmetric, zero on the diagonal.

    They are Euclidean if every matrix changed.

    Args:
        features: Of two or more fine-tunes with the same matrices.
        vector: A name in `VECTORS`.
        rank: Leading directions used by `projector`, `factors` and `original`, at most as many as
            were kept.

    Raises:
        ShapeError: If the vector is unknown, the models differ in their matrices, or the rank was
            not kept.

    Example:
        >>> shape, values, norm = ((2, 2),), np.array([[1.0, 0.0]]), np.ones(1)
        >>> straight, crossed = [
        ...     Features(("Wq",), (0,), shape, values, norm, norm, (side,), (side,), (np.zeros(4),))
        ...     for side in (np.eye(2), np.eye(2)[::-1])
        ... ]
        >>> calc_distances([straight, crossed], "projector", rank=1).round(2).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    if vector not in VECTORS:
        raise ShapeError(f"vector must be one of {', '.join(VECTORS)}, got {vector!r}.")
    if len(features) < 2:
        raise ShapeError(f"Distances need at least two models, got {len(features)}.")
    if len({(model.families, model.layers, model.shapes) for model in features}) > 1:
        raise ShapeError("The models differ in their matrices, so their deltas cannot be compared.")
    most = min((array.shape[1] for model in features for array in model.left), default=0)
    if not 1 <= rank <= most:
        raise ShapeError(f"rank must lie between 1 and the {most} directions kept, got {rank}.")
    distances = VECTORS[vector].distances(features, rank)
    np.fill_diagonal(distances, 0.0)
    halved: ndarray = (distances + distances.T) / 2
    return halved


def calc_factors(model: Features, rank: int, weighted: bool = True) -> Float[ndarray, " entry"]:
    """Average the leading left singular vectors of each family over layers, family by family.

    Where a family's matrices differ in their number of rows, those of one number are averaged.

    Args:
        weighted: Whether to weight columns by the roots of their singular values; if not, this is
            the original vector.

    Example:
        >>> side, values, norm = (np.eye(2),), np.array([[4.0, 1.0]]), np.ones(1)
        >>> model = Features(("Wq",), (0,), ((2, 2),), values, norm, norm, side, side,
        ...     (np.zeros(4),))
        >>> calc_factors(model, rank=1).tolist(), calc_factors(model, rank=2).tolist()
        ([2.0, 0.0], [2.0, 0.0, 0.0, 1.0])
    """
    parts = []
    values = np.pad(model.values, ((0, 0), (0, rank)))  # a small matrix has fewer than the rank
    rows = [shape[0] for shape in model.shapes]
    kinds = list(zip(model.families, rows, strict=True))
    for kind in dict.fromkeys(kinds):
        places = [place for place, name in enumerate(kinds) if name == kind]
        scales = [np.sqrt(values[place, :rank]) if weighted else np.ones(rank) for place in places]
        scaled = [
            model.left[place][:, :rank] * scale for place, scale in zip(places, scales, strict=True)
        ]
        parts.append(np.mean(scaled, axis=0).ravel())
    return np.concatenate(parts)


def _factor_distances(features: Sequence[Features], rank: int, *, weighted: bool = True) -> ndarray:
    return calc_chords(np.stack([calc_factors(model, rank, weighted) for model in features]))


def _projector_distances(features: Sequence[Features], rank: int) -> ndarray:
    """Root mean square over matrices and sides of |P - Q| / sqrt(2 rank), P and Q projectors.

    |P - Q|^2 = k + l - 2 |U'V|^2 for k and l orthonormal columns: the products of all pairs of
    models at one place are the blocks of one matrix product, and no d x d projector is ever formed.
    """
    models = len(features)
    squares = []
    for place in range(len(features[0].families)):
        square = np.zeros((models, models))
        for side in ("left", "right"):
            columns = np.stack(
                [getattr(model, side)[place][:, :rank].T for model in features]
            ).astype(np.float64)
            # Columns are stored in float32; normalising removes the first order of that error.
            lengths = np.linalg.norm(columns, axis=2, keepdims=True)
            np.divide(columns, lengths, out=columns, where=lengths > 0)
            counts = (lengths[..., 0] > 0).sum(1)
            flat = columns.reshape(models * rank, -1)
            products = (flat @ flat.T).reshape(models, rank, models, rank)
            overlap = np.einsum("ikjl,ikjl->ij", products, products)
            square += (counts[:, None] + counts[None, :] - 2 * overlap) / (4 * rank)
        squares.append(square)
    roots: ndarray = np.sqrt(
        np.maximum(_mean_where_both_moved(features, squares, farthest=1.0), 0.0)
    )
    return roots


def _spectrum_distances(features: Sequence[Features], rank: int) -> ndarray:
    squares = []
    for place in range(len(features[0].families)):
        spectra = np.stack([model.values[place] for model in features])
        lengths = np.linalg.norm(spectra, axis=1, keepdims=True)
        normalised = np.divide(spectra, lengths, out=np.zeros_like(spectra), where=lengths > 0)
        squares.append(_euclidean(normalised) ** 2)
    roots: ndarray = np.sqrt(_mean_where_both_moved(features, squares, farthest=2.0))
    return roots


def _mean_where_both_moved(
    features: Sequence[Features], squares: Sequence[ndarray], farthest: float
) -> ndarray:
    """Average squared distances over the matrices that changed in both models.

    Args:
        squares: For each place, shape (model, model).
        farthest: Largest possible square, for two models without a matrix that changed in both.
    """
    moved = np.stack([model.delta_norms > 0 for model in features]).astype(float)
    both = moved @ moved.T
    total = sum(
        square * np.outer(here, here) for square, here in zip(squares, moved.T, strict=True)
    )
    means: ndarray = np.divide(total, both, out=np.full_like(both, farthest), where=both > 0)
    return means


def _norm_distances(features: Sequence[Features], rank: int) -> ndarray:
    return _euclidean(np.stack([relative_norms(model) for model in features]))


def _delta_distances(features: Sequence[Features], rank: int) -> ndarray:
    # One product per place, so that memory never holds the whole updates of all models.
    inner = np.zeros((len(features), len(features)))
    for place in range(len(features[0].sketches)):
        rows = np.stack([model.sketches[place] for model in features]).astype(np.float64)
        inner += rows @ rows.T
    return _chords(inner)


def relative_size(model: Features) -> float:
    """Norm of the whole update over that of the base's matrices; 0 if both are zero.

    Example:
        >>> moved, size, sides = np.array([3.0, 4.0]), np.array([6.0, 8.0]), (np.eye(2), np.eye(2))
        >>> shapes = ((2, 2), (2, 2))
        >>> relative_size(Features(("Wq", "Wk"), (0, 0), shapes, np.ones((2, 2)), moved, size,
        ...     sides, sides, sides))
        0.5
    """
    return float(relative_change((model.delta_norms**2).sum(), (model.weight_norms**2).sum()))


def relative_norms(model: Features) -> Float[ndarray, " matrix"]:
    """Norm of each matrix's update over that of the base's matrix; 0 if both are zero.

    Example:
        >>> moved, size, sides = np.array([3.0, 0.0]), np.array([6.0, 0.0]), (np.eye(2), np.eye(2))
        >>> shapes = ((2, 2), (2, 2))
        >>> model = Features(("Wq", "Wk"), (0, 0), shapes, np.ones((2, 2)), moved, size, sides,
        ...     sides, sides)
        >>> relative_norms(model).tolist()
        [0.5, 0.0]
    """
    return relative_change(model.delta_norms**2, model.weight_norms**2)


def calc_chords(
    vectors: Float[ndarray, "model entry"],
) -> Float[ndarray, "model model"]:
    """Distances of directions, sqrt(2 - 2 cosine); a zero vector has cosine 0 with all others.

    Example:
        >>> calc_chords(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])).round(2).tolist()
        [[0.0, 0.0, 1.41], [0.0, 0.0, 1.41], [1.41, 1.41, 0.0]]
    """
    return _chords(vectors @ vectors.T)


def _chords(inner: ndarray) -> ndarray:
    """Distance on the unit sphere, sqrt(2 - 2 cosine); a zero vector has cosine 0 with all."""
    lengths = np.sqrt(np.diag(inner))
    scale = np.outer(lengths, lengths)
    cosine = np.divide(inner, scale, out=np.zeros_like(inner), where=scale > 0)
    chords: ndarray = np.sqrt(np.maximum(2 - 2 * cosine, 0.0))
    np.fill_diagonal(chords, 0.0)
    return chords


def _euclidean(points: ndarray) -> ndarray:
    # Differences, not inner products, which lose digits for close and long vectors.
    return np.stack([np.linalg.norm(points - point, axis=1) for point in points])


_HOUSE: dict[str, Vector] = {
    "projector": Vector(
        "Subspaces",
        True,
        True,
        "Subspaces spanned by the leading left and right singular vectors of each update, "
        "compared by their principal angles.",
        _projector_distances,
    ),
    "spectrum": Vector(
        "Spectrum",
        True,
        False,
        "Singular values of each update, divided by its norm: their shape without the size.",
        _spectrum_distances,
    ),
    "norms": Vector(
        "Norms",
        True,
        False,
        "Size of each matrix's update relative to the base's matrix, without any direction.",
        _norm_distances,
    ),
    "delta": Vector(
        "Delta", True, False, "Cosine similarity of the updates, entry by entry.", _delta_distances
    ),
    "factors": Vector(
        "Factors",
        False,
        True,
        "Left singular vectors times the square roots of their singular values, "
        "averaged over layers; their signs are arbitrary.",
        _factor_distances,
    ),
    "original": Vector(
        "Original (U alone)",
        False,
        True,
        "Left singular vectors of each update, averaged over layers, as first proposed; "
        "their signs and rotations are arbitrary.",
        partial(_factor_distances, weighted=False),
        "original",
    ),
}
VECTORS = Registry("vectors", Vector, _HOUSE)
