"""All similarity measures, each with its estimate, its band and its chance level, behind one
signature.

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
from core.maths.plugins import Registry
from core.maths.similarity import canonical, cka, matching, neighbours, rdm
from core.maths.similarity.canonical import SVCCA_VARIANCE
from core.maths.similarity.kernels import FloatArray, IntArray
from core.maths.statistics import jackknife_sentences


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
        jackknife: (x, y, sentence, groups, rng) -> replicates, (group,); by default the similarity
            itself, once per group of sentences left out.
        tuned: Options -> the measure with these options; None if it has none.
        canonical: Whether n <= d makes it 1 for any two spaces.
        coordinates: Whether it compares coordinate by coordinate, so that both spaces need the same
            ones.
        lowest: The lowest value it can take.
        of_size: Whether its expected value depends on the number of items, so that a band covers
            its value for samples of the same size.
    """

    name: str
    label: str
    similarity: Callable[[ArrayLike, ArrayLike], float]
    formula: str
    references: tuple[str, ...] = ()
    null: Callable[[ArrayLike, ArrayLike, IntArray], FloatArray] | None = None
    jackknife: (
        Callable[[ArrayLike, ArrayLike, ArrayLike, int, np.random.Generator], FloatArray] | None
    ) = None
    tuned: Callable[[Options], Measure] | None = None
    canonical: bool = False
    coordinates: bool = False
    lowest: float = -1.0
    of_size: bool = False

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
        remaining = jackknife_sentences(sentence, groups, rng)
        return np.array([self.similarity(first[stay], second[stay]) for stay in remaining])


def _rsa(options: Options) -> Measure:
    kernel, comparison = options.kernel, options.comparison
    return Measure(
        name="rsa",
        label="RSA",
        similarity=lambda x, y: rdm.rsa(x, y, kernel, comparison),
        null=lambda x, y, permutations: rdm.rsa_null(x, y, permutations, kernel, comparison),
        jackknife=lambda x, y, sentence, groups, rng: rdm.rsa_jackknife(
            x, y, sentence, groups, rng, kernel, comparison
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
        jackknife=lambda x, y, sentence, groups, rng: cka.cka_jackknife(
            x, y, sentence, groups, rng, debiased
        ),
        formula=formula,
        references=references,
        lowest=lowest,
        of_size=not debiased,
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
        of_size=True,
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
        "linear CKA with each HSIC replaced by its unbiased estimate (the CKA that is recommended: "
        "about 0 for unrelated spaces of any size)",
        ("song2012", "nguyen2021"),
        -1.0,
    ),
    Measure(
        name="cosine",
        label="mean cosine",
        similarity=matching.mean_cosine,
        null=matching.mean_cosine_null,
        jackknife=matching.mean_cosine_jackknife,
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
        "mean of the canonical correlations of the principal directions that hold "
        f"{100 * SVCCA_VARIANCE:g} % "
        "of the variance",
        ("raghu2017",),
    ),
    _canonical(
        "pwcca",
        "PWCCA",
        "mean of the canonical correlations r_i, weighted by sum_j |<h_i, x_j>|: "
        "h_i the base model's canonical variables, x_j its neurons",
        ("morcos2018",),
    ),
    Measure(
        name="procrustes",
        label="Procrustes similarity",
        similarity=matching.procrustes,
        null=matching.procrustes_null,
        jackknife=matching.procrustes_jackknife,
        of_size=True,
        formula="|X^T Y|_* / (|X| |Y|), columns centred: nuclear norm over Frobenius norms",
        references=("ding2021",),
        lowest=0.0,
    ),
    Measure(
        name="knn",
        label="mutual k-NN",
        similarity=neighbours.mutual_neighbours,
        null=neighbours.mutual_neighbours_null,
        jackknife=neighbours.mutual_neighbours_jackknife,
        of_size=True,
        formula=f"share of the k = {neighbours.NEIGHBOURS} nearest neighbours of x_i and of y_i "
        "(by cosine) that are the same items, mean over items",
        references=("huh2024",),
        lowest=0.0,
    ),
)
MEASURES = Registry("measures", Measure, {measure.name: measure for measure in _ALL})


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
