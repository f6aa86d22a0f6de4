"""Erase from vectors what is linear in some of their projections: LEACE in closed form.

What is erased is the r-dimensional vector z = R x of a vector's projections, such as its
coordinates in the space of a distance probe with the map R: a continuous concept, not a label. With
the mean m and the covariance C of the vectors x, W = C^(-1/2) and U an orthonormal basis of the
columns of W cov(x, z) = C^(1/2) R', the erased vector is

    x - C^(1/2) U U' C^(-1/2) (x - m)  =  x - C R' (R C R')^+ R (x - m).

The right side is calculated: only the projections' covariance is inverted, on the scale of their
correlations, so that features of any spread count. The erased vector is uncorrelated with z, so
that no linear regression from it to z is better than the mean, and of all affine functions of x
with this property it changes x least in mean square. It is also x minus the best linear prediction
of x from z: what is erased is the r-dimensional row space of R after whitening, not the orthogonal
projection on it, which would leave what other directions share with it.

Reference: Belrose, Schneider-Joseph, Ravfogel, Cotterell, Raff & Biderman 2023, NeurIPS, "LEACE:
Perfect linear concept erasure in closed form", theorem 4.3. Deviations: the concept is the vector
of projections and not a one-hot label, so that what is guarded is linear regression and not linear
classification; the covariance is not shrunk; and the change may be scaled, in which case more or
less than the concept is taken away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from core.errors import ShapeError

SMALLEST = 1e-12  # eigenvalue of the projections' correlations, over the largest


@dataclass(frozen=True)
class Eraser:
    """An affine map that takes a subspace out of vectors: x - factor * left right (x - centre).

    Attributes:
        left: (d_model, rank), C R' times an inverse root of R C R'; that is C^(1/2) U.
        right: (rank, d_model), that root's transpose times R; the same as U' C^(-1/2).
        centre: Mean of the vectors, (d_model,).
        factor: 1 erases; others scale the change.
    """

    left: Float[np.ndarray, "d_model rank"]
    right: Float[np.ndarray, "rank d_model"]
    centre: Float[np.ndarray, " d_model"]
    factor: float = 1.0

    def __call__(
        self, vectors: Float[np.ndarray, "item d_model"]
    ) -> Float[np.ndarray, "item d_model"]:
        """Return the vectors without the subspace."""
        change = self.factor * ((vectors - self.centre) @ self.right.T) @ self.left.T
        return np.asarray(vectors - change)

    @property
    def change(self) -> float:
        """Mean squared length of the change, of vectors with the covariance that was fitted."""
        return float(self.factor**2 * np.square(self.left).sum())

    def matched(self, other: Eraser) -> Eraser:
        """Scale the change so that its mean squared length is that of another eraser.

        Raises:
            ShapeError: If this eraser changes nothing.
        """
        if self.change == 0:
            raise ShapeError("An eraser that changes nothing cannot be scaled to change more.")
        return replace(self, factor=self.factor * float(np.sqrt(other.change / self.change)))


def fit_eraser(
    centre: Float[np.ndarray, " d_model"],
    covariance: Float[np.ndarray, "d_model d_model"],
    readout: Float[np.ndarray, "rank d_model"],
) -> Eraser:
    """Fit the eraser of the projections `readout @ x`.

    Args:
        centre: Mean of the vectors.
        covariance: Of the vectors; directions without variance are left as they are.
        readout: The map R; its rows need not be independent.

    Raises:
        ShapeError: If the shapes do not fit.

    Example:
        >>> eraser = fit_eraser(np.zeros(2), np.eye(2), np.array([[2.0, 0.0]]))
        >>> eraser(np.array([[3.0, 4.0]])).round(6).tolist()
        [[0.0, 4.0]]
    """
    width = len(centre)
    if covariance.shape != (width, width) or readout.ndim != 2 or readout.shape[1] != width:
        raise ShapeError(
            f"A mean of {width} dimensions does not fit a covariance of shape {covariance.shape} "
            f"and a map of shape {readout.shape}."
        )
    rows, covariance = readout.astype(np.float64), covariance.astype(np.float64)
    spreads = np.sqrt(np.maximum(np.einsum("rd,de,re->r", rows, covariance, rows), 0.0))
    rows = rows[spreads > 0] / spreads[spreads > 0, None]
    values, axes = np.linalg.eigh(rows @ covariance @ rows.T)
    varies = values > SMALLEST * values.max(initial=0.0)
    right = (axes[:, varies] / np.sqrt(values[varies])).T @ rows
    return Eraser(covariance @ right.T, right, centre.astype(np.float64))


def measure_states(
    vectors: Float[np.ndarray, "item d_model"],
) -> tuple[Float[np.ndarray, " d_model"], Float[np.ndarray, "d_model d_model"]]:
    """Mean and covariance of vectors, in double precision.

    Raises:
        ShapeError: For fewer than two vectors.

    Example:
        >>> centre, covariance = measure_states(np.array([[0.0, 1.0], [2.0, 1.0]]))
        >>> centre.tolist(), covariance.tolist()
        ([1.0, 1.0], [[1.0, 0.0], [0.0, 0.0]])
    """
    if len(vectors) < 2:
        raise ShapeError(f"A covariance needs at least 2 vectors; there are {len(vectors)}.")
    values = vectors.astype(np.float64)
    centre = values.mean(axis=0)
    values -= centre
    return centre, values.T @ values / len(values)


def random_readout(
    rank: int, width: int, rng: np.random.Generator
) -> Float[np.ndarray, "rank d_model"]:
    """Draw the map of a random subspace: independent normal numbers, every direction alike.

    Example:
        >>> random_readout(2, 3, np.random.default_rng(0)).shape
        (2, 3)
    """
    return rng.standard_normal((rank, width))
