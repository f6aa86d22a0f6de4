"""Prices of the alignment studies: maps between two spaces, fitted in both directions at every
layer.

Linear maps factor d by d matrices; kernel ridge factors a matrix of its rows; the two networks are
trained until they converge, with products by d by d matrices. Stitching runs the upper layers again
for every map and layer, and the published protocol trains networks four times as wide as d.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.maths.evaluation.judging import JUDGED
from core.maths.maps.registry import METHODS
from core.vectors.window import REACHES

PRODUCTS, FACTORED = (
    2.2e-11,
    6e-10,
)  # processor seconds per multiplication, and per cubed width of a factorisation
SCORED = 6e-8  # per number of a row that is mapped and scored
STATIC_TRIES = 24  # kernels and penalties that a static window is tried with
KERNELS = 30  # factorisations in the search for a width and a penalty
SEARCHED, MOST_ROWS = 800.0, 4_000.0
# Processor seconds of training a network on included models (one map, layer and direction) on a
# processor without matrix units for bfloat16, and the power of the width with which they grow
# (where wide ones have AVX-512's products in bfloat16).
NETWORKS = {"inn": (3.4, 0.65), "mlp": (2.8, 0.4)}
BOX_WIDTH, BOX_ROWS, TRAINED = 128, 2_500.0, 0.7
# Bytes per number of both models: of all layers, which are read, and of those mapped at once, by
# networks and by other maps.
READ, TRAINING, MAPPING = 6.8, 30.0, 20.0


def static_rivals(name: str, width: int, rows: float, maps: float) -> float:
    """Processor seconds of a map from the static window: one factorisation serves all layers of a
    direction."""
    if name == "state-and-window":
        return training_networks("kernel", 2 * width, rows) * maps
    fitted = min(TRAINED * rows, MOST_ROWS)
    searched = min(fitted, SEARCHED)
    tries = STATIC_TRIES * (len(REACHES) if name == "static-window" else 1)
    chosen = 2 * tries * searched**2 * (searched / 3) + tries * searched**2 * width * maps
    return PRODUCTS * (
        chosen
        + 3 * 2 * fitted**2 * fitted / 3
        + (3 * fitted + _judged(width, rows)) * fitted * width * maps
    )


def linear_maps(maps: float, width: int, rows: float) -> float:
    """Processor seconds of linear maps: moments, a factorisation, and the scores."""
    scores = SCORED * _judged(width, rows) * width
    return maps * (PRODUCTS * 4 * rows * width**2 + FACTORED * width**3 + scores)


def training_networks(name: str, width: int, rows: float) -> float:
    """Processor seconds of one non-linear map."""
    if name == "kernel":
        fitted = min(TRAINED * rows, MOST_ROWS)
        searched = min(fitted, SEARCHED)
        factors = KERNELS * searched**2 * (searched / 3 + width) + 3 * fitted**2 * (
            fitted / 3 + 2 * width
        )
        mapped = _judged(width, rows)
        return PRODUCTS * (factors + fitted * mapped * 2 * width) + SCORED * mapped * (
            width + fitted
        )
    seconds, power = NETWORKS[name]
    return float(
        seconds * (width / BOX_WIDTH) ** power * min(max(rows / BOX_ROWS, 0.25), 2.0) ** 0.5
    )


def _judged(width: int, rows: float) -> float:
    """Rows that a map is scored on: those of the test, and of the training `JUDGED` numbers."""
    return min(TRAINED * rows, JUDGED / width) + (1 - TRAINED) * rows


def tasks_of(methods: Iterable[str]) -> int:
    """Tasks of one pair."""
    kinds = [METHODS[name].kind for name in methods]
    return (
        kinds.count("non-linear")
        + any(kind in ("control", "linear") for kind in kinds)
        + ("static" in kinds)
    )
