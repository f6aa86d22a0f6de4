"""Means and covariances of paired rows, which closed-form maps are made of, and their
decompositions.

A decomposition takes most of a wide map's time, so each is made once, when it is first asked for,
and serves every map of the pair in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from jaxtyping import Float

from core.errors import ShapeError

# of the largest eigenvalue of a covariance: 1e-5 of the largest singular value of the rows
RCOND = 1e-10
VARIANCE_KEPT = 0.99  # share of a side's variance in its leading directions
TINY = float(np.finfo(np.float64).tiny)

Rows = Float[np.ndarray, "... row d"]
Singular = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Space:
    """One side's mean and covariance (divided by the number of rows), float64."""

    mean: Float[np.ndarray, "... 1 d"]
    covariance: Float[np.ndarray, "... d d"]

    @cached_property
    def axes(self) -> tuple[Float[np.ndarray, "... d"], Float[np.ndarray, "... d d"]]:
        """Variances along the principal directions, rising, and the directions, in columns."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def leading(self) -> Space:
        """The same on the fewest directions that hold `VARIANCE_KEPT` of the variance, without
        any on the others."""
        values, vectors = self.axes
        above = values[..., ::-1].cumsum(-1)[..., ::-1] - values  # of the larger directions
        enough = VARIANCE_KEPT * np.maximum(values.sum(-1, keepdims=True), TINY)
        leads = (above < enough) & (values > RCOND * values[..., -1:])
        values = np.where(leads, values, 0.0)
        space = Space(self.mean, (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2))
        vars(space)["axes"] = (values, vectors)
        return space

    def inverse_power(self, power: float) -> Float[np.ndarray, "... d d"]:
        """Compute `covariance ** -power` on directions with variance, 0 on the others.

        Example:
            >>> Space(np.zeros((1, 2)), np.diag([4.0, 0.0])).inverse_power(0.5).tolist()
            [[0.5, 0.0], [0.0, 0.0]]
        """
        values, vectors = self.axes
        floor = RCOND * np.maximum(values.max(-1, keepdims=True), TINY)
        safe = np.where(values > floor, values, 1.0)
        scaled = np.where(values > floor, safe**-power, 0.0)
        return cast(np.ndarray, (vectors * scaled[..., None, :]) @ vectors.swapaxes(-1, -2))


@dataclass(frozen=True, eq=False)
class Moments:
    """The two sides of paired rows, and their covariance with each other, float64.

    Attributes:
        rows: How many.
        x, y: The sides.
        xy: Covariance of x with y, divided by the number of rows, (..., dx, dy).
    """

    rows: int
    x: Space
    y: Space
    xy: Float[np.ndarray, "... dx dy"]

    @cached_property
    def singular(self) -> Singular:
        """The singular value decomposition of `xy`: left vectors, values, right vectors."""
        return _singular(self.xy)

    @cached_property
    def canonical(self) -> Singular:
        """The decomposition of `xy` between whitened sides; its values are the canonical
        correlations."""
        return _singular(self.x.inverse_power(0.5) @ self.xy @ self.y.inverse_power(0.5))

    @cached_property
    def leading(self) -> Moments:
        """The moments of both sides' leading directions."""
        return Moments(self.rows, self.x.leading, self.y.leading, self.xy)

    @cached_property
    def swapped(self) -> Moments:
        """The moments of (y, x), with the decompositions that were made of (x, y)."""
        turned = Moments(self.rows, self.y, self.x, self.xy.swapaxes(-1, -2))
        for name in ("singular", "canonical"):
            if name in vars(self):
                left, values, right = vars(self)[name]
                vars(turned)[name] = (right.swapaxes(-1, -2), values, left.swapaxes(-1, -2))
        if "leading" in vars(self):
            vars(turned)["leading"] = self.leading.swapped
        return turned


def space_of(rows: Rows) -> Space:
    """Compute mean and covariance of one side's rows.

    Example:
        >>> side = space_of(np.array([[1.0], [3.0]]))
        >>> side.mean.tolist(), side.covariance.tolist()
        ([[2.0]], [[1.0]])
    """
    if rows.ndim > 2 and len(rows):  # a centred copy of all layers would double the memory
        each = [space_of(layer) for layer in rows]
        return Space(np.stack([s.mean for s in each]), np.stack([s.covariance for s in each]))
    double = rows.astype(np.float64)
    mean = double.mean(-2, keepdims=True)
    double -= mean
    return Space(mean, double.swapaxes(-1, -2) @ double / rows.shape[-2])


def moments(
    x: Rows, y: Rows, space_x: Space | None = None, space_y: Space | None = None
) -> Moments:
    """Compute the moments of paired rows.

    Args:
        x, y: The rows.
        space_x, space_y: Their sides, where they are known.

    Raises:
        ShapeError: If the rows do not pair up, there are fewer than two, or a value is not finite.

    Example:
        >>> paired = moments(np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]]))
        >>> paired.rows, paired.x.mean.tolist(), paired.xy.tolist()
        (2, [[2.0]], [[2.0]])
    """
    x, y = np.asarray(x), np.asarray(y)
    check_pairs(x, y)
    space_x, space_y = space_x or space_of(x), space_y or space_of(y)
    return Moments(x.shape[-2], space_x, space_y, _across(x, y, space_x.mean, space_y.mean))


def check_pairs(x: np.ndarray, y: np.ndarray) -> None:
    """Check that rows pair up, that there are at least two, and that all values are finite.

    Raises:
        ShapeError: If one of these does not hold.

    Example:
        >>> check_pairs(np.zeros((3, 2)), np.zeros((2, 2)))  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
            ...
        core.errors.ShapeError: Source (3, 2) and target (2, 2) must have the same layers and rows.
    """
    if x.ndim < 2 or x.shape[:-1] != y.shape[:-1]:
        raise ShapeError(
            f"Source {x.shape} and target {y.shape} must have the same layers and rows, in order."
        )
    if x.shape[-2] < 2:
        raise ShapeError(f"A map needs at least two training rows; there are {x.shape[-2]}.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ShapeError("Some vectors hold NaN or infinite values: leave these items out.")


def _across(x: Rows, y: Rows, mean_x: np.ndarray, mean_y: np.ndarray) -> np.ndarray:
    """Covariance of x with y, (..., dx, dy)."""
    if x.ndim > 2 and len(x):
        return np.stack([_across(*layer) for layer in zip(x, y, mean_x, mean_y, strict=True)])
    x, y = x.astype(np.float64) - mean_x, y.astype(np.float64) - mean_y
    return cast(np.ndarray, x.swapaxes(-1, -2) @ y / x.shape[-2])


def _singular(matrix: np.ndarray) -> Singular:
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left, values, right
