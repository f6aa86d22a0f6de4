"""Closed-form maps between two spaces: identity, Procrustes, ordinary least squares, ridge.

Every map uses the training rows only through their moments (means and covariances, in float64), so
that the maps of all layers of a pair are fitted together by batched products and
eigendecompositions.

Shapes: rows are `(..., row, d)`; leading dimensions (layers) are fitted independently.

References: Schönemann 1966 (orthogonal Procrustes); Gower & Dijksterhuis 2004, section 5 (with
scale); Hoerl & Kennard 1970 (ridge). Deviations: least squares drops directions of X with less than
`RCOND` of the largest variance, so that constant or collinear dimensions get no weight instead of
an arbitrary one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from jaxtyping import Float

from core.errors import ShapeError

# of the largest eigenvalue of a covariance: 1e-5 of the largest singular value of the rows
RCOND = 1e-10
HELD_OUT = 0.1  # share of the rows used for validation where no validation rows are given
PENALTIES = np.logspace(
    -6, 2, 17
)  # candidate ridge penalties, in units of the mean variance of a dimension of X

Rows = Float[np.ndarray, "... row d"]


@dataclass(frozen=True)
class Moments:
    """Means and covariances (divided by the number of rows) of paired rows, float64."""

    rows: int
    mean_x: Float[np.ndarray, "... 1 dx"]
    mean_y: Float[np.ndarray, "... 1 dy"]
    xx: Float[np.ndarray, "... dx dx"]
    yy: Float[np.ndarray, "... dy dy"]
    xy: Float[np.ndarray, "... dx dy"]


def moments(x: Rows, y: Rows) -> Moments:
    """Compute the moments of paired rows.

    Raises:
        ShapeError: If the rows do not pair up, there are fewer than two, or a value is not finite.

    Example:
        >>> paired = moments(np.array([[1.0], [3.0]]), np.array([[2.0], [6.0]]))
        >>> paired.rows, paired.mean_x.tolist(), paired.xy.tolist()
        (2, [[2.0]], [[2.0]])
    """
    x, y = np.asarray(x), np.asarray(y)
    check_pairs(x, y)
    if x.ndim > 2 and len(
        x
    ):  # one layer at a time: centred copies of all layers would double the memory
        each = [moments(left, right) for left, right in zip(x, y, strict=True)]
        names = ("mean_x", "mean_y", "xx", "yy", "xy")
        return Moments(
            each[0].rows, *(np.stack([getattr(layer, name) for layer in each]) for name in names)
        )
    x, y = x.astype(np.float64), y.astype(np.float64)
    n = x.shape[-2]
    mean_x, mean_y = x.mean(-2, keepdims=True), y.mean(-2, keepdims=True)
    x, y = x - mean_x, y - mean_y
    across = x.swapaxes(-1, -2)
    return Moments(n, mean_x, mean_y, across @ x / n, y.swapaxes(-1, -2) @ y / n, across @ y / n)


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
        raise ShapeError("The vectors contain NaN or infinite values; a model may have overflowed.")


def hold_out(
    x: np.ndarray, y: np.ndarray, validation: tuple[Rows, Rows] | None
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return training and validation rows: those given, or the last `HELD_OUT` of the training
    rows.

    Example:
        >>> x = np.arange(20.0).reshape(10, 2)
        >>> fitted, (held_x, held_y) = hold_out(x, x, None)[0], hold_out(x, x, None)[2]
        >>> len(fitted) + len(held_x)
        10
    """
    if validation is not None:
        return x, y, (np.asarray(validation[0]), np.asarray(validation[1]))
    cut = max(1, int(HELD_OUT * x.shape[-2]))
    return x[..., :-cut, :], y[..., :-cut, :], (x[..., -cut:, :], y[..., -cut:, :])


class Aligner:
    """A map from a source space to a target space, with the interface of a scikit-learn estimator.

    Class attributes:
        needs_equal_width: The two spaces must have the same d.
        invertible: `inverse_transform` exists.
        of_words: Its input is the number of each row's word type, (..., row, 1), instead of its
            vector.
        left_out: Training rows that a fit did not use.
    """

    left_out = 0
    needs_equal_width = False
    invertible = False
    of_words = False

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit the map on paired training rows; `validation` rows choose penalties and stop
        training."""
        raise TypeError(f"{type(self).__name__} does not implement fit")

    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""
        raise TypeError(f"{type(self).__name__} does not implement transform")

    def inverse_transform(self, y: Rows) -> Rows:
        """Map target rows back into the source space.

        Raises:
            ShapeError: If this map has no inverse.
        """
        raise ShapeError(f"{type(self).__name__} has no inverse.")

    def _check_widths(self, x: np.ndarray, y: np.ndarray) -> None:
        if self.needs_equal_width and x.shape[-1] != y.shape[-1]:
            name = type(self).__name__.lower()
            raise ShapeError(
                f"{name} needs spaces of equal width; these have d = {x.shape[-1]} and "
                f"{y.shape[-1]}."
            )


class Identity(Aligner):
    """The identity: the source vectors unchanged, as a baseline for every aligner."""

    needs_equal_width = True
    invertible = True

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Check that the rows pair up; there is nothing to fit."""
        self._check_widths(x, y)
        check_pairs(np.asarray(x), np.asarray(y))
        return self

    def transform(self, x: Rows) -> Rows:
        """Return the rows unchanged."""
        return np.asarray(x, dtype=np.float64)

    def inverse_transform(self, y: Rows) -> Rows:
        """Return the rows unchanged."""
        return np.asarray(y, dtype=np.float64)


class LinearAligner(Aligner):
    """Base of the maps `y = (x - mean_x) @ weight + mean_y`; subclasses compute the weight from the
    moments."""

    invertible = True
    weight: Float[np.ndarray, "... dx dy"]

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on paired training rows.

        Raises:
            ShapeError: If rows do not pair up, widths do not fit, or values are not finite.
        """
        self._check_widths(np.asarray(x), np.asarray(y))
        sums = moments(x, y)
        return self.fit_moments(sums, validation)

    def fit_moments(self, moments: Moments, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit from moments, so that several maps share one pass over the rows."""
        if self.needs_equal_width and moments.xx.shape[-1] != moments.yy.shape[-1]:
            self._check_widths(moments.mean_x, moments.mean_y)
        self.mean_x, self.mean_y = moments.mean_x, moments.mean_y
        self.weight = self._solve(moments, validation)
        return self

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not implement _solve")

    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""
        return cast(
            "Rows", (np.asarray(x, dtype=np.float64) - self.mean_x) @ self.weight + self.mean_y
        )

    def inverse_transform(self, y: Rows) -> Rows:
        """Map target rows back by the pseudo-inverse of the weight (exact where the weight is
        square and regular)."""
        back = np.linalg.pinv(self.weight, rcond=float(np.sqrt(RCOND)))
        return cast("Rows", (np.asarray(y, dtype=np.float64) - self.mean_y) @ back + self.mean_x)


class Procrustes(LinearAligner):
    """The rotation or reflection that fits best in least squares, with or without one scale for all
    directions."""

    needs_equal_width = True

    def __init__(self, scale: bool = False) -> None:
        self.scale = scale

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        left, values, right = np.linalg.svd(moments.xy, full_matrices=False)
        rotation = left @ right
        if not self.scale:
            return cast(np.ndarray, rotation)
        spread = np.trace(moments.xx, axis1=-2, axis2=-1)
        factor = np.divide(values.sum(-1), spread, out=np.ones_like(spread), where=spread > 0)
        return cast(np.ndarray, factor[..., None, None] * rotation)


class Ols(LinearAligner):
    """Ordinary least squares: the linear map with the lowest training error."""

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        return cast(np.ndarray, inverse_power(moments.xx, 1.0) @ moments.xy)


class Ridge(LinearAligner):
    """Least squares with an L2 penalty on the weight, chosen on the validation rows.

    Without validation rows the penalty is the middle one of `PENALTIES`.
    """

    penalty: Float[np.ndarray, ...]

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        values, vectors = np.linalg.eigh(moments.xx)
        values = np.maximum(values, 0.0)
        unit = np.maximum(values.mean(-1, keepdims=True), np.finfo(np.float64).tiny)
        inner = vectors.swapaxes(-1, -2) @ moments.xy

        def weight(penalty: np.ndarray) -> np.ndarray:
            return cast(
                np.ndarray, vectors @ (inner / (values + penalty[..., None] * unit)[..., None])
            )

        shape = moments.xx.shape[:-2]
        best = np.full(shape, PENALTIES[len(PENALTIES) // 2])
        if validation is not None:
            x = np.asarray(validation[0], dtype=np.float64) - moments.mean_x
            y = np.asarray(validation[1], dtype=np.float64) - moments.mean_y
            check_pairs(x, y)
            errors = [((x @ weight(np.full(shape, p)) - y) ** 2).mean((-1, -2)) for p in PENALTIES]
            best = PENALTIES[np.argmin(np.stack(errors), axis=0)]
        self.penalty = np.asarray(best)
        return weight(self.penalty)


def inverse_power(covariance: np.ndarray, power: float) -> np.ndarray:
    """Compute `covariance ** -power` on directions with variance, 0 on the others (batched,
    symmetric).

    Example:
        >>> inverse_power(np.diag([4.0, 0.0]), 0.5).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(covariance)
    floor = RCOND * np.maximum(values[..., -1:], np.finfo(np.float64).tiny)
    safe = np.where(values > floor, values, 1.0)
    scaled = np.where(values > floor, safe**-power, 0.0)
    return cast(np.ndarray, (vectors * scaled[..., None, :]) @ vectors.swapaxes(-1, -2))
