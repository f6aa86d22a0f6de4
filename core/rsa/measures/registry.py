"""All similarity measures, each with its estimate, its band and its chance level, behind one
signature.

A band is a percentile bootstrap over sentences where the draws follow exactly from sums over pairs
of sentences (RSA, CKA, mean cosine), and a delete-a-group jackknife over sentences where they do
not, or where resampling biases the measure (canonical correlations, Procrustes). Chance level comes
from shuffling whole sentences (`nulls`).

To add a measure, write a function of two arrays (item, d_model) and an entry in `MEASURES`: unless
the entry has faster functions, chance level is the function on shuffled sentences, and the band is
the jackknife over sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.errors import SpecError
from core.rsa.measures import canonical, cka, matching, rdm
from core.rsa.measures.kernels import FloatArray, IntArray
from core.rsa.measures.nulls import pair_sentences
from core.statistics import (
    interval,
    jackknife_interval,
    jackknife_sentences,
    sentence_counts,
    sentence_labels,
)

JACKKNIFE_GROUPS = 50
NULL_DRAWS = 100
LEAST_NULL_DRAWS = 20
# multiplications for a null: 100 draws at n = 1,000, d = 128; fewer draws where each costs more
NULL_WORK = 4e10


@dataclass(frozen=True)
class Options:
    """Options of the RSA measure, which the others ignore: kernel over items, comparison of the
    matrices."""

    kernel: str = "cosine"
    comparison: str = "pearson"


@dataclass(frozen=True)
class Measure:
    """One way to compare two spaces.

    Attributes:
        name: As in specs, URLs and the command line.
        label: As on axes and in forms.
        similarity: (x, y) -> similarity, at most 1; x and y are (item, d_model).
        formula: In words and symbols, for "Method and caveats".
        references: Its papers, by key of `core.results.papers.reference`; none for common practice.
        null: (x, y, permutations (draw, item)) -> similarities of x with each reordered y, (draw,);
            by default the similarity itself, once per permutation.
        draws: (x, y, sentence, counts (draw, sentence)) -> bootstrap draws, (draw,); None for a
            jackknife.
        jackknife: (x, y, sentence, groups, rng) -> replicates, (group,); by default the similarity
            itself, once per group of sentences left out.
        tuned: Options -> the measure with these options; None if it has none.
        canonical: Whether n <= d makes it 1 for any two spaces.
        coordinates: Whether it compares coordinate by coordinate, so that both spaces need the same
            ones.
        lowest: The lowest value it can take.
    """

    name: str
    label: str
    similarity: Callable[[ArrayLike, ArrayLike], float]
    formula: str
    references: tuple[str, ...] = ()
    null: Callable[[ArrayLike, ArrayLike, IntArray], FloatArray] | None = None
    draws: Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], FloatArray] | None = None
    jackknife: (
        Callable[[ArrayLike, ArrayLike, ArrayLike, int, np.random.Generator], FloatArray] | None
    ) = None
    tuned: Callable[[Options], Measure] | None = None
    canonical: bool = False
    coordinates: bool = False
    lowest: float = -1.0

    def null_of(self, x: ArrayLike, y: ArrayLike, permutations: IntArray) -> FloatArray:
        """Compute the similarity of x to each reordered y, shape (draw,)."""
        if self.null is not None:
            return self.null(x, y, permutations)
        second = np.asarray(y)
        return np.array([self.similarity(x, second[order]) for order in permutations])

    def replicates(
        self, x: ArrayLike, y: ArrayLike, sentence: ArrayLike, groups: int, rng: np.random.Generator
    ) -> FloatArray:
        """Compute the similarity with one group of sentences left out at a time, shape (group,)."""
        if self.jackknife is not None:
            return self.jackknife(x, y, sentence, groups, rng)
        first, second = np.asarray(x), np.asarray(y)
        kept = jackknife_sentences(sentence, groups, rng)
        return np.array([self.similarity(first[stay], second[stay]) for stay in kept])


@dataclass(frozen=True)
class Score:
    """A similarity with its 95 % band over sentences, and the central 95 % of shuffled sentences
    (chance level)."""

    similarity: float
    low: float
    high: float
    null_low: float
    null_high: float


def _rsa(options: Options) -> Measure:
    kernel, comparison = options.kernel, options.comparison
    return Measure(
        name="rsa",
        label="RSA",
        similarity=lambda x, y: rdm.rsa(x, y, kernel, comparison),
        null=lambda x, y, permutations: rdm.rsa_null(x, y, permutations, kernel, comparison),
        draws=lambda x, y, sentence, counts: rdm.rsa_draws(
            x, y, sentence, counts, kernel, comparison
        ),
        tuned=_rsa,
        formula=(
            "correlation over pairs of items i < j of k(x_i, x_j) and k(y_i, y_j), k the kernel"
        ),
        references=("merchant2020",),
    )


def _cka(
    debiased: bool, name: str, label: str, formula: str, references: tuple[str, ...], lowest: float
) -> Measure:
    return Measure(
        name=name,
        label=label,
        similarity=cka.debiased_cka if debiased else cka.linear_cka,
        null=lambda x, y, permutations: cka.cka_null(x, y, permutations, debiased),
        draws=lambda x, y, sentence, counts: cka.cka_draws(x, y, sentence, counts, debiased),
        formula=formula,
        references=references,
        lowest=lowest,
    )


def _canonical(form: str, label: str, formula: str, references: tuple[str, ...]) -> Measure:
    return Measure(
        name=form,
        label=label,
        similarity=lambda x, y: canonical.canonical(x, y, form),
        null=lambda x, y, permutations: canonical.canonical_null(x, y, permutations, form),
        jackknife=lambda x, y, sentence, groups, rng: canonical.canonical_jackknife(
            x, y, sentence, groups, rng, form
        ),
        formula=formula,
        references=references,
        canonical=True,
        lowest=0.0,
    )


_ALL = (
    _rsa(Options()),
    _cka(
        False,
        "cka",
        "linear CKA",
        "|X^T Y|^2 / (|X^T X| |Y^T Y|), columns centred, Frobenius norms",
        ("kornblith2019",),
        0.0,
    ),
    _cka(
        True,
        "cka-debiased",
        "debiased CKA",
        "linear CKA with each HSIC replaced by its unbiased estimate",
        ("song2012", "nguyen2021"),
        -1.0,
    ),
    Measure(
        name="cosine",
        label="mean cosine",
        similarity=matching.mean_cosine,
        null=matching.mean_cosine_null,
        draws=matching.mean_cosine_draws,
        formula="mean over items of cos(x_i, y_i)",
        coordinates=True,
    ),
    _canonical(
        "cca",
        "mean CCA",
        "mean of the canonical correlations of X and Y",
        ("hotelling1936", "kornblith2019"),
    ),
    _canonical(
        "svcca",
        "SVCCA",
        "mean of the canonical correlations of the principal directions that hold 99 % of the "
        "variance",
        ("raghu2017",),
    ),
    _canonical(
        "pwcca",
        "PWCCA",
        "mean of the canonical correlations r_i, weighted by sum_j |<h_i, x_j>|: h_i the base "
        "model's canonical "
        "variables, x_j its neurons",
        ("morcos2018",),
    ),
    Measure(
        name="procrustes",
        label="Procrustes similarity",
        similarity=matching.procrustes,
        null=matching.procrustes_null,
        jackknife=matching.procrustes_jackknife,
        formula="|X^T Y|_* / (|X| |Y|), columns centred: nuclear norm over Frobenius norms",
        references=("ding2021",),
        lowest=0.0,
    ),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}


def get_measure(name: str, options: Options | None = None) -> Measure:
    """Get the measure of this name, with its options.

    Raises:
        SpecError: If there is none; the message names all measures.

    Example:
        >>> get_measure("cka").label
        'linear CKA'
    """
    if name not in MEASURES:
        raise SpecError(f"There is no measure {name!r}: choose one of {', '.join(MEASURES)}.")
    measure = MEASURES[name]
    return measure.tuned(options) if measure.tuned is not None and options is not None else measure


def compare(
    x: ArrayLike, y: ArrayLike, measure: str = "rsa", options: Options | None = None
) -> float:
    """Compute the similarity of two spaces over the same items.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        measure: One of `MEASURES`.
        options: Kernel and comparison, for RSA.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If measure, kernel or comparison is unknown.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> {name: round(compare(x, -x, name), 2) for name in ("rsa", "cka", "procrustes",
        ...     "cosine")}
        {'rsa': 1.0, 'cka': 1.0, 'procrustes': 1.0, 'cosine': -1.0}
    """
    return get_measure(measure, options).similarity(x, y)


def score(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    measure: str = "rsa",
    options: Options | None = None,
    draws: int = 500,
) -> Score:
    """Compute the similarity of two spaces with its band over sentences and its chance level.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        rng: Source of randomness, for the band and the chance level.
        measure: One of `MEASURES`.
        options: Kernel and comparison, for RSA.
        draws: Bootstrap draws; measures with a jackknife leave out one of at most 50 groups of
            sentences at a time.

    Returns:
        The score. The band is NaN with fewer than two sentences; everything is NaN for a constant
        space.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If measure, kernel or comparison is unknown.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> y = x + 0.2 * np.random.default_rng(1).normal(size=(60, 4))
        >>> scored = score(x, y, np.arange(60) // 3, np.random.default_rng(2), draws=200)
        >>> bool(scored.low < scored.similarity < scored.high)
        True
        >>> bool(scored.null_high < scored.low)
        True
    """
    settings = options or Options()
    chosen = get_measure(measure, settings)
    similarity = chosen.similarity(x, y)
    if np.isnan(similarity):
        return Score(*[float("nan")] * 5)
    low, high = _band(chosen, x, y, sentence, rng, draws, similarity)
    items, dimensions = np.shape(x)
    kept, orders = pair_sentences(sentence, null_draws(chosen, items, dimensions, settings), rng)
    null_low, null_high = interval(chosen.null_of(np.asarray(x)[kept], np.asarray(y)[kept], orders))
    return Score(similarity, low, high, float(null_low), float(null_high))


def null_draws(measure: Measure, items: int, dimensions: int, options: Options) -> int:
    """Choose the number of shuffles for a null of this size: 100, or as few as 20 where one is
    expensive.

    Example:
        >>> null_draws(get_measure("rsa"), 100, 16, Options())
        100
    """
    cost = float(items) * dimensions**2
    if measure.name == "rsa" and (options.kernel == "euclidean" or options.comparison != "pearson"):
        cost = 10.0 * float(items) ** 2  # a gather and a product over the whole matrix
    if measure.canonical or measure.name == "procrustes":
        cost += 20.0 * float(min(items, dimensions)) ** 3
    if measure.name == "cosine":
        cost = float(items) * dimensions
    return int(np.clip(NULL_WORK / (10.0 * cost), LEAST_NULL_DRAWS, NULL_DRAWS))


def _band(
    measure: Measure,
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    draws: int,
    similarity: float,
) -> tuple[float, float]:
    """Compute the 95 % band over sentences, by bootstrap or jackknife, clipped to the measure's
    range."""
    _, sentences = sentence_labels(sentence)
    if sentences < 2:
        return float("nan"), float("nan")
    if measure.draws is not None:
        low, high = interval(measure.draws(x, y, sentence, sentence_counts(sentences, draws, rng)))
        return float(low), float(high)
    below, above = jackknife_interval(
        similarity, measure.replicates(x, y, sentence, JACKKNIFE_GROUPS, rng)
    )
    return max(below, measure.lowest), min(above, 1.0)
