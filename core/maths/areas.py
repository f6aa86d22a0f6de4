"""The area under the ROC curve (AUC)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def area(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Compute the AUC: the probability that a positive item scores above a negative one, ties
    counting half.

    Args:
        positive: Which items are, (item,).
        score: Higher for what looks more positive, (item,).

    Returns:
        A number in [0, 1]; NaN unless there are positive and negative items.

    Example:
        >>> area(np.array([True, True, False]), np.array([3.0, 1.0, 1.0]))
        0.75
    """
    from scipy.stats import rankdata

    count, total = int(positive.sum()), len(positive)
    if count in (0, total):
        return float("nan")
    above = rankdata(score)[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (total - count)))
