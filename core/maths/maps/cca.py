"""Canonical correlation analysis (CCA) as a map from X to Y.

CCA finds the directions of X and of Y that correlate most. As a map, a row of X is transformed into
its canonical coordinates, each coordinate is multiplied by its canonical correlation (the
least-squares prediction of Y's coordinate), and the result is transformed into Y. With all
directions this is ordinary least squares; with fewer it is reduced-rank regression.

SVCCA first keeps the principal components that hold 99 % of the variance on each side; PWCCA keeps
the canonical directions with most of the projection weight.

References: Hotelling 1936; Raghu et al. 2017 (SVCCA); Morcos et al. 2018 (PWCCA); Izenman 1975
(reduced rank).
Deviations: SVCCA and PWCCA are similarity indices in their papers; here the same directions make a
map. Moments in float64 with rank truncation instead of a QR of the rows, so that collinear
dimensions do not inflate correlations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float

from core.maths.maps.linear import LinearAligner
from core.maths.maps.moments import Moments, Rows, check_pairs
from core.maths.statistics import projection_weights

WEIGHT_KEPT = 0.99  # PWCCA: share of the projection weight in the directions kept
SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)  # of all directions: CCA chooses one on validation rows


@dataclass(frozen=True)
class Canonical:
    """Canonical directions of a pair of spaces, in order of decreasing correlation.

    Attributes:
        x_in: Centred rows of X times this are canonical coordinates with unit variance, (..., dx,
            k).
        y_out: Canonical coordinates of Y times this are centred rows of Y, (..., k, dy).
        correlations: Canonical correlations in [0, 1], (..., k).
    """

    x_in: Float[np.ndarray, "... dx k"]
    y_out: Float[np.ndarray, "... k dy"]
    correlations: Float[np.ndarray, "... k"]


def canonical_directions(moments: Moments) -> Canonical:
    """Compute canonical directions from moments; k = min(dx, dy), directions without variance get
    correlation 0.

    Example:
        >>> from core.maths.maps.moments import moments
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> canonical_directions(moments(x, 2 * x)).correlations.round(2).tolist()
        [1.0, 1.0]
    """
    left, values, right = moments.canonical
    return Canonical(
        moments.x.inverse_power(0.5) @ left,
        right @ moments.y.inverse_power(-0.5),
        np.clip(values, 0.0, 1.0),
    )


class Cca(LinearAligner):
    """CCA with a number of directions that is chosen on the validation rows; without any, with
    all."""

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        directions = canonical_directions(moments)
        k = directions.correlations.shape[-1]
        everything = np.ones((*moments.xy.shape[:-2], k))
        if validation is None:
            return _through(directions, everything)
        x = np.asarray(validation[0], dtype=np.float64) - moments.x.mean
        y = np.asarray(validation[1], dtype=np.float64) - moments.y.mean
        check_pairs(x, y)
        weights = [
            _through(directions, everything * (np.arange(k) < max(1, round(s * k)))) for s in SHARES
        ]
        errors = np.stack([((x @ weight - y) ** 2).mean((-1, -2)) for weight in weights])
        best = np.argmin(errors, axis=0)
        return cast(
            np.ndarray,
            np.take_along_axis(np.stack(weights), best[None, ..., None, None], axis=0)[0],
        )


class Svcca(LinearAligner):
    """CCA between the principal components that hold `VARIANCE_KEPT` of each side's variance."""

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        directions = canonical_directions(moments.leading)
        return _through(directions, np.ones_like(directions.correlations))


class Pwcca(LinearAligner):
    """CCA on the directions that carry `WEIGHT_KEPT` of the projection weight (Morcos et al. 2018,
    equation 3)."""

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        directions = canonical_directions(moments)
        # <canonical coordinate i, dimension j of X> over the rows: a column of this product
        weight = projection_weights((moments.x.covariance @ directions.x_in).swapaxes(-1, -2))
        order = np.argsort(-weight, axis=-1)
        shares = np.take_along_axis(weight, order, -1).cumsum(-1)
        kept_sorted = np.concatenate(
            [np.ones_like(shares[..., :1]), shares[..., :-1] < WEIGHT_KEPT], axis=-1
        )
        factors = np.zeros_like(weight)
        np.put_along_axis(factors, order, kept_sorted, -1)
        return _through(directions, factors)


def _through(directions: Canonical, factors: np.ndarray) -> np.ndarray:
    """The weight matrix of CCA as a map: each kept coordinate is multiplied by its correlation."""
    return cast(
        np.ndarray,
        (directions.x_in * (directions.correlations * factors)[..., None, :]) @ directions.y_out,
    )
