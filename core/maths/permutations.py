"""Permutations that a network does not notice: units and heads matched between two networks, and
the barrier on the straight line between their weights.

References: Entezari et al. 2022 and Ainsworth, Hayase & Srinivasa 2023 (units matched by
correlations of their activations, assigned by the Hungarian method); Frankle et al. 2020 (the
barrier). Deviation: the barrier is the largest excess of the inner points, so that a path that
sags below the chord has a negative one, and not 0.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from core.errors import ShapeError


def correlations(
    x: Float[np.ndarray, "row unit"], y: Float[np.ndarray, "row other"]
) -> Float[np.ndarray, "unit other"]:
    """Correlate every unit of one network with every unit of another over the same inputs; 0 for a
    unit that is constant.

    Raises:
        ShapeError: If there are not as many inputs, or numbers are not finite.
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ShapeError("Units cannot be matched by numbers that are not finite.")
    if len(x) != len(y):
        raise ShapeError(f"Units are matched over the same inputs, got {x.shape} and {y.shape}.")
    parts = []
    for values in (x, y):
        centred = values - values.mean(0)
        norms = np.linalg.norm(centred, axis=0)
        parts.append(centred / np.where(norms > 1e-12, norms, np.inf))
    product: np.ndarray = parts[0].T @ parts[1]
    return product


def match_units(similarity: Float[np.ndarray, "unit other"]) -> Int[np.ndarray, " unit"]:
    """Assign to each unit of the first network one of the second, which has as many or more, with
    the largest sum of similarities.

    Example:
        >>> match_units(np.array([[0.1, 0.9], [0.8, 0.7]])).tolist()
        [1, 0]
    """
    chosen: np.ndarray = linear_sum_assignment(-similarity)[1]
    return chosen


def match_heads(
    x: Float[np.ndarray, "row head part unit"], y: Float[np.ndarray, "row head part unit"]
) -> tuple[Int[np.ndarray, " head"], Int[np.ndarray, "head unit"]]:
    """Match heads by the sum of the best matches of their units, and the units within.

    Args:
        x, y: Outputs of the heads; parts are query heads that share the units of one value head.

    Returns:
        The second network's head for each of the first's, and for each of these its units in the
        order of the first's.
    """
    rows, heads, parts, units = x.shape
    whole = np.zeros((heads, units, heads, units))
    for part in range(parts):
        flat = (values[:, :, part].reshape(rows, -1) for values in (x, y))
        whole += correlations(*flat).reshape(whole.shape)
    orders = np.array([
        [match_units(whole[first, :, second]) for second in range(heads)] for first in range(heads)
    ])  # fmt: skip
    sums = np.array([
        [whole[first, range(units), second, orders[first, second]].sum() for second in range(heads)]
        for first in range(heads)
    ])  # fmt: skip
    chosen = match_units(sums)
    return chosen, orders[range(heads), chosen]


def excess_of(
    losses: Float[np.ndarray, "*shape point"], shares: ArrayLike
) -> Float[np.ndarray, "*shape point"]:
    """Subtract from the losses on a path what lies on the straight line between its ends' losses.

    Args:
        losses: At each point.
        shares: Of the second end, from 0 to 1.
    """
    share = np.asarray(shares, dtype=np.float64)
    excess: np.ndarray = losses - (1 - share) * losses[..., :1] - share * losses[..., -1:]
    return excess


def calc_barrier(losses: Float[np.ndarray, " point"], shares: ArrayLike) -> tuple[int, float]:
    """Find the inner point with the largest excess, and the excess there.

    Raises:
        ShapeError: If there is no inner point.

    Example:
        >>> calc_barrier(np.array([1.0, 4.0, 2.0]), [0.0, 0.5, 1.0])
        (1, 2.5)
    """
    if len(losses) < 3:
        raise ShapeError(f"A path needs a point between its ends, got {len(losses)} points.")
    excess = excess_of(losses, shares)
    highest = 1 + int(np.argmax(excess[1:-1]))
    return highest, float(excess[highest])
