"""Processor seconds of maps between two spaces, fitted to one core.

Linear maps factor d by d matrices; kernel ridge factors a matrix of its rows; the two networks are
trained until they converge, with products by d by d matrices. Stitching runs the upper layers again
for every map and layer, and the published protocol trains networks four times as wide as d.
"""

from __future__ import annotations

from functools import lru_cache

from core.maths.evaluation.judging import JUDGED
from core.maths.maps.registry import METHODS

PRODUCTS, FACTORED = (
    2.2e-11,
    6e-10,
)  # processor seconds per multiplication, and per cubed width of a factorisation
SCORED = 6e-8  # per number of a row that is mapped and scored
KERNELS = 30  # factorisations in the search for a width and a penalty
SEARCHED, MOST_ROWS = 800.0, 4_000.0
# Processor seconds of training a network on included models (one map, layer and direction) on a
# processor without matrix units for bfloat16, and the power of the width with which they grow
# (where wide ones have AVX-512's products in bfloat16).
NETWORKS = {"inn": (3.4, 0.65), "mlp": (2.8, 0.4)}
BOX_WIDTH, BOX_ROWS, TRAINED = 128, 2_500.0, 0.7


def linear_maps(maps: float, width: int, rows: float) -> float:
    """Processor seconds of linear maps: moments, a factorisation, and the scores."""
    scores = SCORED * judged_rows(width, rows) * width
    return maps * (PRODUCTS * 4 * rows * width**2 + FACTORED * width**3 + scores)


def training_networks(name: str, width: int, rows: float) -> float:
    """Processor seconds of one non-linear map."""
    if name == "kernel":
        fitted = min(TRAINED * rows, MOST_ROWS)
        searched = min(fitted, SEARCHED)
        factors = KERNELS * searched**2 * (searched / 3 + width) + 3 * fitted**2 * (
            fitted / 3 + 2 * width
        )
        mapped = judged_rows(width, rows)
        return PRODUCTS * (factors + fitted * mapped * 2 * width) + SCORED * mapped * (
            width + fitted
        )
    seconds, power = NETWORKS[name]
    return float(
        seconds * (width / BOX_WIDTH) ** power * min(max(rows / BOX_ROWS, 0.25), 2.0) ** 0.5
    )


def judged_rows(width: int, rows: float) -> float:
    """Rows that a map is scored on: those of the test, and of the training `JUDGED` numbers."""
    return min(TRAINED * rows, JUDGED / width) + (1 - TRAINED) * rows


@lru_cache(maxsize=256)
def fitting(methods: tuple[str, ...], width: int, rows: float, maps: float) -> float:
    """Estimate the processor seconds of fitting and judging maps.

    Args:
        methods: Names in the registry, except those of a static window.
        width: Of both spaces.
        rows: Paired rows, training and test.
        maps: Number of layers, directions and forms that are fitted together.
    """
    return sum(
        training_networks(name, width, rows) * maps
        if METHODS[name].kind == "non-linear"
        else linear_maps(maps, width, rows)
        for name in methods
    )
