"""The loss barrier between two networks: how far losses on the straight line between their weights
exceed those of its ends.

Reference: Frankle et al. 2020. Deviation: the barrier is the largest excess of the inner points, so
that a path that sags below the chord has a negative one, and not 0.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from core.errors import ShapeError


def excess_of(
    losses: Float[np.ndarray, "*shape point"], shares: ArrayLike
) -> Float[np.ndarray, "*shape point"]:
    """Subtract from the losses on a path what lies on the straight line between its ends' losses.

    Args:
        losses: At each point.
        shares: Of the second end, from 0 to 1.
    """
    share = np.asarray(shares, dtype=np.float64)
    return cast(np.ndarray, losses - (1 - share) * losses[..., :1] - share * losses[..., -1:])


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
