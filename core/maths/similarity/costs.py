"""Processor seconds and memory of measures that compare two spaces, fitted to one core."""

from __future__ import annotations

from core.maths.similarity.registry import Options, get_measure
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, null_draws

DOUBLE = 8.0  # bytes of a number
# processor seconds of a measure, whatever the size; of a number in a shuffle
PLAIN, SHUFFLED = 0.012, 2.2e-9
PAIRS, PRODUCTS = 1.2e-10, 2.5e-11  # of a pair's dimension; of a multiplication
# canonical: of a multiplication; of a matrix's entry
FACTORED, MATRICES = 4e-11, {"pearson": 9e-9, "ranks": 1.5e-8}
SLOWER = {"cca": 1.0, "svcca": 0.8, "pwcca": 1.6, "procrustes": 0.5}  # than mean CCA
SORTED, COSINES = 6e-8, 6.5e-11  # nearest neighbours: of a pair of items; of its dimension
STRIPS, TABLES = 8, {"cka": 8, "cka-debiased": 10}  # of 512 rows; of a number an item and group
WHOLE_MATRICES = {"pearson": 3.5, "ranks": 6.0}  # matrices over items that are held at once


def scoring(
    measure: str,
    kernel: str,
    comparison: str,
    items: float,
    width: int,
    sentences: float,
) -> float:
    """Estimate the processor seconds of one layer: the similarity, its band and its chance level.

    Example:
        >>> scoring("rsa", "cosine", "pearson", 1_000, 128, 200) > comparing("rsa", 1_000, 128)
        True
    """
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
    """Estimate the processor seconds of one similarity alone.

    Example:
        >>> round(comparing("rsa", 2_000, 64) / comparing("rsa", 1_000, 64), 1)
        2.0
    """
    if measure in SLOWER:
        return SLOWER[measure] * FACTORED * (items * width**2 + 20.0 * min(items, width) ** 3)
    if measure == "knn":
        return (SORTED + COSINES * width) * items**2
    return 3 * PRODUCTS * items * width * min(items, width)


def holding(measure: str, kernel: str, comparison: str, items: float, sentences: float) -> float:
    """Estimate the peak memory of scoring one layer, without the vectors, in bytes.

    Example:
        >>> holding("rsa", "cosine", "spearman", 1_000, 200) > 8 * 1_000**2
        True
    """
    held = STRIPS * 512 * items * DOUBLE
    if measure in TABLES:
        held += TABLES[measure] * items * min(JACKKNIFE_GROUPS, sentences) * DOUBLE
    if measure == "rsa" and _whole(kernel, comparison):
        held += WHOLE_MATRICES[_whole(kernel, comparison)] * items**2 * DOUBLE
    return held


def _whole(kernel: str, comparison: str) -> str:
    """Name the comparison that holds whole matrices over items; "" if none does."""
    return "ranks" if comparison != "pearson" else "pearson" if kernel == "euclidean" else ""
