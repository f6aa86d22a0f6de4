"""How often the acceptable sentence scores higher, with intervals.

Reference:
    Wilson 1927, JASA, Probable inference (interval of a share).
    Korn & Graubard 1998, Survey Methodology (interval of a share of clustered observations).
Deviations: Wilson's interval has the place of Clopper and Pearson's in Korn and Graubard's; where
all pairs are right, or none, each group counts as one pair.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from core.maths.statistics import LEVEL

Floats = NDArray[np.float64]


def correct(good: Floats, bad: Floats) -> Floats:
    """Count a pair as 1 where the acceptable sentence scores higher, as .5 where both score the
    same."""
    return np.asarray((good > bad) + 0.5 * (good == bad), dtype=np.float64)


def wilson_interval(hits: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Compute Wilson's interval of a share."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    width = z / (1 + spread) * sqrt(share * (1 - share) / count + spread / (4 * count))
    # A share of 0 or 1 is an end of its own interval, which rounding must not leave.
    return max(0.0, min(middle - width, share)), min(1.0, max(middle + width, share))


def group_variance(values: Floats, groups: NDArray[np.int64]) -> tuple[float, int]:
    """Compute the variance of a mean of values that come in groups, and the number of groups."""
    totals = np.bincount(groups, weights=values - values.mean())
    count = len(totals)
    inflated = count / (count - 1) if count > 1 else np.nan
    return float(inflated * np.square(totals).sum() / len(values) ** 2), count


def grouped_interval(
    right: Floats, groups: NDArray[np.int64], level: float = LEVEL
) -> tuple[float, float]:
    """Compute Wilson's interval for as many independent pairs as tell as much as these: their
    number over the design effect (at least 1) and over the square of how much wider Student's t is
    with so few groups. NaN of fewer than two groups."""
    from scipy.special import stdtrit

    variance, several = group_variance(right, groups)
    count, share = len(right), float(right.mean())
    if several < 2:
        return float("nan"), float("nan")
    alone = share * (1 - share) / count
    design = max(variance / alone, 1.0) if alone > 0 else count / several
    few = stdtrit(several - 1, (1 + level) / 2) / stdtrit(max(count - 1, 1), (1 + level) / 2)
    effective = count / design / float(few) ** 2
    return wilson_interval(share * effective, effective, level)
