"""Permutations that a network does not notice: units and heads matched between two networks.

References: Entezari et al. 2022 and Ainsworth, Hayase & Srinivasa 2023 (units matched by
correlations of their activations, assigned by the Hungarian method). Deviations: none.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from jaxtyping import Float, Int
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
    return cast(np.ndarray, parts[0].T @ parts[1])


def match_units(similarity: Float[np.ndarray, "unit other"]) -> Int[np.ndarray, " unit"]:
    """Assign to each unit of the first network one of the second, which has as many or more, with
    the largest sum of similarities.

    Example:
        >>> match_units(np.array([[0.1, 0.9], [0.8, 0.7]])).tolist()
        [1, 0]
    """
    return cast(np.ndarray, linear_sum_assignment(-similarity)[1])


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
