"""Costs of this room's studies: forward passes, and measures that compare two spaces layer by
layer."""

from __future__ import annotations

from core.maths.similarity.registry import Options, get_measure
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, null_draws
from core.models import costs
from core.models.sizes import Size

PLAIN, SHUFFLED = (
    0.012,
    2.2e-9,
)  # processor seconds of a measure, whatever the size; of a number in a shuffle
PAIRS, PRODUCTS = 1.2e-10, 2.5e-11  # of a pair's dimension; of a multiplication
FACTORED, MATRICES = (
    4e-11,
    {"pearson": 9e-9, "ranks": 1.5e-8},
)  # canonical: of a multiplication; of a matrix's entry
SLOWER = {"cca": 1.0, "svcca": 0.8, "pwcca": 1.6, "procrustes": 0.5}  # than mean CCA
SORTED, COSINES = 6e-8, 6.5e-11  # nearest neighbours: of a pair of items; of its dimension
STRIPS, TABLES = 8, {"cka": 8, "cka-debiased": 10}  # of 512 rows; of a number an item and group
WHOLE_MATRICES = {"pearson": 3.5, "ranks": 6.0}  # matrices over items that are held at once
COPIES = 4  # of the vectors of two models
ROUNDINGS, SWAPPED = 4, 0.6  # of a frozen fine-tune; of a pass that a layer swap runs


def scoring(
    measure: str,
    kernel: str,
    comparison: str,
    items: float,
    width: int,
    sentences: float,
) -> float:
    """Estimate the processor seconds of one layer: the similarity, its band and its chance
    level."""
    options = Options(kernel, comparison)
    null = null_draws(get_measure(measure, options), round(items), width, options)
    once = comparing(measure, items, width)
    if measure in SLOWER:
        return PLAIN + once * (1 + JACKKNIFE_GROUPS + null)
    if measure == "knn":
        return PLAIN + 3 * once  # neighbours are found once for each of estimate, band and null
    seconds = PLAIN + once + SHUFFLED * null * items * width
    if measure == "cosine":
        return seconds
    seconds += PAIRS * items**2 * (width + 50)
    if measure in TABLES:
        seconds += TABLES[measure] * 8e-9 * min(JACKKNIFE_GROUPS, sentences) * items
    if measure == "rsa" and _whole(kernel, comparison):
        return seconds + MATRICES[_whole(kernel, comparison)] * null * items**2
    return seconds + PRODUCTS * null * items * width * min(items, width)


def comparing(measure: str, items: float, width: int) -> float:
    """Estimate the processor seconds of one similarity alone."""
    if measure in SLOWER:
        return SLOWER[measure] * FACTORED * (items * width**2 + 20.0 * min(items, width) ** 3)
    if measure == "knn":
        return (SORTED + COSINES * width) * items**2
    return 3 * PRODUCTS * items * width * min(items, width)


def holding(measure: str, kernel: str, comparison: str, items: float, sentences: float) -> float:
    """Estimate the peak memory of scoring one layer, without the vectors, in bytes."""
    held = STRIPS * 512 * items * costs.DOUBLE
    if measure in TABLES:
        held += TABLES[measure] * items * min(JACKKNIFE_GROUPS, sentences) * costs.DOUBLE
    if measure == "rsa" and _whole(kernel, comparison):
        held += WHOLE_MATRICES[_whole(kernel, comparison)] * items**2 * costs.DOUBLE
    return held


def _whole(kernel: str, comparison: str) -> str:
    """Name the comparison that holds whole matrices over items; "" if none does."""
    return "ranks" if comparison != "pearson" else "pearson" if kernel == "euclidean" else ""


def turning_a_change(size: Size, turns: int) -> float:
    """Estimate the processor seconds of rotating a fine-tune's change at random."""
    return turns * size.layers * 12 * 8e-11 * size.d_model**3


def most_numbers(sizes: dict[str, Size], items: float) -> float:
    """Count the numbers in the largest model's vectors of these items, in all layers."""
    return max(((size.layers + 1) * size.d_model * items for size in sizes.values()), default=0.0)
