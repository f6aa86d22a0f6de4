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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self, cast

import numpy as np
from jaxtyping import Float

from core.errors import ShapeError
from core.maths.maps.moments import RCOND, TINY, Moments, Rows, check_pairs, moments

HELD_OUT = 0.1  # share of the rows used for validation where no validation rows are given
PENALTIES = np.logspace(
    -6, 2, 17
)  # candidate ridge penalties, in units of the mean variance of a dimension of X


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


class Aligner(ABC):
    """A map from a source space to a target space, with the interface of a scikit-learn estimator.

    Class attributes:
        needs_equal_width: The two spaces must have the same d.
        invertible: `inverse_transform` exists.
        of_words: Its input is the number of each row's word type, (..., row, 1), instead of its
            vector.
        from_moments: `fit_known` uses the moments of the training rows.
        left_out: Training rows that a fit did not use.
        penalty: The ridge penalty of each layer, after a fit; None where there is none.
        numbers: Of the layers in the whole study, which random weights depend on; 0, 1 and so on
            where empty.
    """

    left_out = 0
    penalty: Float[np.ndarray, ...] | None = None
    numbers: Sequence[int] = ()
    from_moments = False
    needs_equal_width = False
    invertible = False
    of_words = False

    @abstractmethod
    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit the map on paired training rows; `validation` rows choose penalties and stop
        training."""

    def fit_known(self, x: Rows, y: Rows, validation: tuple[Rows, Rows], sums: Moments) -> Self:
        """Fit as `fit` does, where the moments of the training rows are known."""
        return self.fit(x, y, validation)

    @abstractmethod
    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""

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
                f"{name} needs spaces of equal width; "
                f"these have d = {x.shape[-1]} and {y.shape[-1]}."
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
    from_moments = True
    weight: Float[np.ndarray, "... dx dy"]
    back: Float[np.ndarray, "... dy dx"] | None = None  # once it was needed

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on paired training rows.

        Raises:
            ShapeError: If rows do not pair up, widths do not fit, or values are not finite.
        """
        self._check_widths(np.asarray(x), np.asarray(y))
        return self.fit_moments(moments(x, y), validation)

    def fit_known(self, x: Rows, y: Rows, validation: tuple[Rows, Rows], sums: Moments) -> Self:
        """Fit from the moments alone."""
        return self.fit_moments(sums, validation)

    def fit_moments(self, moments: Moments, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit from moments, so that several maps share one pass over the rows."""
        self._check_widths(moments.x.mean, moments.y.mean)
        self.mean_x, self.mean_y = moments.x.mean, moments.y.mean
        self.weight, self.back = self._solve(moments, validation), None
        return self

    @abstractmethod
    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        """Compute the weight, (..., dx, dy)."""

    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""
        return cast(
            "Rows", (np.asarray(x, dtype=np.float64) - self.mean_x) @ self.weight + self.mean_y
        )

    def inverse_transform(self, y: Rows) -> Rows:
        """Map target rows back by the pseudo-inverse of the weight (exact where the weight is
        square and regular)."""
        if self.back is None:
            self.back = self._invert()
        return cast(
            "Rows", (np.asarray(y, dtype=np.float64) - self.mean_y) @ self.back + self.mean_x
        )

    def _invert(self) -> np.ndarray:
        return pseudo_inverse(self.weight)


class Procrustes(LinearAligner):
    """The rotation or reflection that fits best in least squares, with or without one scale for all
    directions."""

    needs_equal_width = True

    def __init__(self, scale: bool = False) -> None:
        self.scale = scale

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        left, values, right = moments.singular
        rotation = left @ right
        if not self.scale:
            return rotation
        spread = np.trace(moments.x.covariance, axis1=-2, axis2=-1)
        factor = np.divide(values.sum(-1), spread, out=np.ones_like(spread), where=spread > 0)
        return cast(np.ndarray, factor[..., None, None] * rotation)

    def _invert(self) -> np.ndarray:
        """The transpose over the squared scale."""
        squared = (self.weight**2).mean((-1, -2), keepdims=True) * self.weight.shape[-1]
        return cast(np.ndarray, self.weight.swapaxes(-1, -2) / np.maximum(squared, TINY))


class Ols(LinearAligner):
    """Ordinary least squares: the linear map with the lowest training error."""

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        return cast(np.ndarray, moments.x.inverse_power(1.0) @ moments.xy)


class Ridge(LinearAligner):
    """Least squares with an L2 penalty on the weight, chosen on the validation rows.

    Without validation rows the penalty is the middle one of `PENALTIES`.
    """

    penalty: Float[np.ndarray, ...]

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        values, vectors = moments.x.axes
        unit = np.maximum(values.mean(-1, keepdims=True), TINY)
        inner = vectors.swapaxes(-1, -2) @ moments.xy
        self.penalty = np.full(values.shape[:-1], PENALTIES[len(PENALTIES) // 2])
        if validation is not None:
            shrunk = [1 / (values + penalty * unit) for penalty in PENALTIES]
            errors = _errors(shrunk, vectors, inner, moments, validation)
            self.penalty = np.asarray(PENALTIES[np.argmin(np.stack(errors), axis=0)])
        shrinking = values + self.penalty[..., None] * unit
        return cast(np.ndarray, vectors @ (inner / shrinking[..., None]))


def _errors(
    shrunk: list[np.ndarray],
    vectors: np.ndarray,
    inner: np.ndarray,
    moments: Moments,
    validation: tuple[Rows, Rows],
) -> list[np.ndarray]:
    """Squared error of `vectors @ diag(s) @ inner` on validation rows for each s, up to a constant.

    It is a quadratic form in s, so that a further s costs no product over the rows.
    """
    x = np.asarray(validation[0], dtype=np.float64) - moments.x.mean
    y = np.asarray(validation[1], dtype=np.float64) - moments.y.mean
    check_pairs(x, y)
    along = x @ vectors
    across = along.swapaxes(-1, -2)
    curved = (across @ along) * (inner @ inner.swapaxes(-1, -2))
    slope = ((across @ y) * inner).sum(-1)
    return [(((s[..., None, :] @ curved)[..., 0, :] - 2 * slope) * s).sum(-1) for s in shrunk]


def pseudo_inverse(weight: Float[np.ndarray, "... dx dy"]) -> Float[np.ndarray, "... dy dx"]:
    """Invert matrices on directions with more than the square root of `RCOND` of the largest
    singular value.

    A matrix that is regular beyond doubt, by its Frobenius norm and that of its inverse, needs no
    singular values.

    Example:
        >>> pseudo_inverse(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    if weight.ndim > 2:
        return np.stack([pseudo_inverse(layer) for layer in weight])
    least = float(np.sqrt(RCOND))
    if weight.shape[0] == weight.shape[1]:
        try:
            inverse: np.ndarray = np.linalg.inv(weight)
        except np.linalg.LinAlgError:  # singular
            inverse = np.full_like(weight, np.inf)
        if np.linalg.norm(weight) * np.linalg.norm(inverse) < 1 / least:
            return inverse
    return cast(np.ndarray, np.linalg.pinv(weight, rcond=least))
