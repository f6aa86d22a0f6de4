"""The measures there are, each with its estimate, its band and its null, behind one signature.

A band is a percentile bootstrap over sentences where the draws follow exactly from sums over pairs of sentences
(RSA, CKA, mean cosine), and a delete-a-group jackknife over sentences where they do not and where resampling biases
the measure (canonical correlations, Procrustes). A null breaks the pairing of items and leaves both spectra alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.errors import SpecError
from core.rsa import canonical, cka, matching, rdm
from core.rsa.kernels import FloatArray, IntArray
from core.statistics import interval, jackknife_interval, sentence_counts, sentence_labels

JACKKNIFE_GROUPS = 50
NULL_DRAWS = 100
LEAST_NULL_DRAWS = 20
NULL_WORK = 4e10  # multiplications spent on a null: 100 draws at n = 1,000, d = 128; fewer where each costs more


@dataclass(frozen=True)
class Options:
    """What the RSA measure takes and the others ignore: kernel over items, comparison of the matrices."""

    kernel: str = "cosine"
    comparison: str = "pearson"


@dataclass(frozen=True)
class Measure:
    """One way to compare two spaces.

    Attributes:
        name: As in specs, URLs and the command line.
        label: As on axes and in forms.
        similarity: (x, y, options) -> similarity.
        null: (x, y, permutations (draw, item), options) -> similarities of unrelated spaces, (draw,).
        draws: (x, y, sentence, counts (draw, sentence), options) -> bootstrap draws, (draw,); or None.
        jackknife: (x, y, sentence, groups, rng) -> replicates (group,); or None.
        formula: In words and symbols, for "Method and caveats".
        reference: Where it comes from.
        canonical: Whether n <= d makes it 1 for any two spaces.
        lowest: The lowest value it can take, for axes.
    """

    name: str
    label: str
    similarity: Callable[[ArrayLike, ArrayLike, Options], float]
    null: Callable[[ArrayLike, ArrayLike, IntArray, Options], FloatArray]
    formula: str
    reference: str
    draws: Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike, Options], FloatArray] | None = None
    jackknife: Callable[[ArrayLike, ArrayLike, ArrayLike, int, np.random.Generator], FloatArray] | None = None
    canonical: bool = False
    lowest: float = 0.0


@dataclass(frozen=True)
class Score:
    """A similarity with its noise: 95 % band over sentences, 95 % of the null."""

    similarity: float
    low: float
    high: float
    null_low: float
    null_high: float


def _canonical_measure(form: str, label: str, formula: str, reference: str) -> Measure:
    return Measure(
        name=form,
        label=label,
        similarity=lambda x, y, options: canonical.canonical(x, y, form),
        null=lambda x, y, permutations, options: canonical.canonical_null(x, y, permutations, form),
        jackknife=lambda x, y, sentence, groups, rng: canonical.canonical_jackknife(x, y, sentence, groups, rng, form),
        formula=formula,
        reference=reference,
        canonical=True,
    )


_ALL = (
    Measure(
        name="rsa",
        label="RSA",
        similarity=lambda x, y, options: rdm.rsa(x, y, options.kernel, options.comparison),
        null=lambda x, y, permutations, options: rdm.rsa_null(x, y, permutations, options.kernel, options.comparison),
        draws=lambda x, y, sentence, counts, options: rdm.rsa_draws(
            x, y, sentence, counts, options.kernel, options.comparison
        ),
        formula="correlation over pairs of items i < j of k(x_i, x_j) and k(y_i, y_j), k the kernel",
        reference="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?, BlackboxNLP.",
        lowest=-1.0,
    ),
    Measure(
        name="cka",
        label="linear CKA",
        similarity=lambda x, y, options: cka.linear_cka(x, y),
        null=lambda x, y, permutations, options: cka.cka_null(x, y, permutations, debiased=False),
        draws=lambda x, y, sentence, counts, options: cka.cka_draws(x, y, sentence, counts, debiased=False),
        formula="|X^T Y|^2 / (|X^T X| |Y^T Y|), columns centred, Frobenius norms",
        reference="Kornblith et al. 2019, Similarity of Neural Network Representations Revisited, ICML.",
    ),
    Measure(
        name="cka-debiased",
        label="debiased CKA",
        similarity=lambda x, y, options: cka.debiased_cka(x, y),
        null=lambda x, y, permutations, options: cka.cka_null(x, y, permutations, debiased=True),
        draws=lambda x, y, sentence, counts, options: cka.cka_draws(x, y, sentence, counts, debiased=True),
        formula="linear CKA with each HSIC replaced by its unbiased estimate",
        reference="Song et al. 2012, Feature Selection via Dependence Maximization, JMLR; "
        "Nguyen et al. 2021, Do Wide and Deep Networks Learn the Same Things?, ICLR.",
        lowest=-1.0,
    ),
    Measure(
        name="cosine",
        label="mean cosine",
        similarity=lambda x, y, options: matching.mean_cosine(x, y),
        null=lambda x, y, permutations, options: matching.mean_cosine_null(x, y, permutations),
        draws=lambda x, y, sentence, counts, options: matching.mean_cosine_draws(x, y, sentence, counts),
        formula="mean over items of cos(x_i, y_i)",
        reference="The community notebook on fine-tuned BERT; not invariant to a rotation of one space alone.",
        lowest=-1.0,
    ),
    _canonical_measure(
        "cca",
        "mean CCA",
        "mean of the canonical correlations of X and Y",
        "Hotelling 1936, Relations Between Two Sets of Variates, Biometrika; Kornblith et al. 2019, ICML.",
    ),
    _canonical_measure(
        "svcca",
        "SVCCA",
        "mean of the canonical correlations of the principal directions that hold 99 % of the variance",
        "Raghu et al. 2017, SVCCA, NeurIPS.",
    ),
    _canonical_measure(
        "pwcca",
        "PWCCA",
        "mean of the canonical correlations, weighted by what each canonical variable accounts for in the base model",
        "Morcos, Raghu & Bengio 2018, Insights on Representational Similarity, NeurIPS.",
    ),
    Measure(
        name="procrustes",
        label="Procrustes similarity",
        similarity=lambda x, y, options: matching.procrustes(x, y),
        null=lambda x, y, permutations, options: matching.procrustes_null(x, y, permutations),
        jackknife=lambda x, y, sentence, groups, rng: matching.procrustes_jackknife(x, y, sentence, groups, rng),
        formula="|X^T Y|_* / (|X| |Y|), columns centred: nuclear norm over Frobenius norms",
        reference="Ding, Denain & Steinhardt 2021, Grounding Representation Similarity, NeurIPS.",
    ),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}


def get_measure(name: str) -> Measure:
    """The measure of this name.

    Raises:
        SpecError: If there is none; names those there are.
    """
    if name not in MEASURES:
        raise SpecError(f"There is no measure {name!r}: choose one of {', '.join(MEASURES)}.")
    return MEASURES[name]


def compare(x: ArrayLike, y: ArrayLike, measure: str = "rsa", options: Options | None = None) -> float:
    """Similarity of two spaces over the same items.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        measure: One of `MEASURES`.
        options: Kernel and comparison, for RSA.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If measure, kernel or comparison is unknown.
    """
    return get_measure(measure).similarity(x, y, options or Options())


def score(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    measure: str = "rsa",
    options: Options | None = None,
    draws: int = 500,
) -> Score:
    """Similarity of two spaces with its band over sentences and its null.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        rng: Source of randomness, for the band and the null.
        measure: One of `MEASURES`.
        options: Kernel and comparison, for RSA.
        draws: Bootstrap draws; measures with a jackknife leave out one of at most 50 groups of sentences at a time.

    Returns:
        The score. The band is NaN with fewer than two sentences; everything is NaN where a space does not vary.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If measure, kernel or comparison is unknown.
    """
    chosen, settings = get_measure(measure), options or Options()
    similarity = chosen.similarity(x, y, settings)
    if np.isnan(similarity):
        return Score(*[float("nan")] * 5)
    low, high = _band(chosen, x, y, sentence, rng, settings, draws, similarity)
    items, dimensions = np.shape(x)
    permutations = np.array([rng.permutation(items) for _ in range(null_draws(chosen, items, dimensions, settings))])
    null_low, null_high = interval(chosen.null(x, y, permutations, settings))
    return Score(similarity, low, high, float(null_low), float(null_high))


def null_draws(measure: Measure, items: int, dimensions: int, options: Options) -> int:
    """How many permutations a null of this size gets: 100, or as few as 20 where one is expensive."""
    cost = float(items) * dimensions**2
    if measure.name == "rsa" and (options.kernel == "euclidean" or options.comparison != "pearson"):
        cost = 10.0 * float(items) ** 2  # a gather and a product over the whole matrix
    if measure.canonical or measure.name == "procrustes":
        cost += 20.0 * float(min(items, dimensions)) ** 3
    if measure.name == "cosine":
        cost = float(items) * dimensions
    return int(np.clip(NULL_WORK / (10.0 * cost), LEAST_NULL_DRAWS, NULL_DRAWS))


def gaussian_null(
    measure: str, items: int, dimensions: int, draws: int, rng: np.random.Generator, options: Options | None = None
) -> FloatArray:
    """What independent Gaussian spaces of this size score, shape (draw,): the textbook null, from simulation."""
    return np.array(
        [
            compare(
                rng.standard_normal((items, dimensions)), rng.standard_normal((items, dimensions)), measure, options
            )
            for _ in range(draws)
        ]
    )


def _band(
    measure: Measure,
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    options: Options,
    draws: int,
    similarity: float,
) -> tuple[float, float]:
    """95 % band over sentences, by bootstrap or jackknife, kept within what the measure can be."""
    _, sentences = sentence_labels(sentence)
    if sentences < 2:
        return float("nan"), float("nan")
    if measure.draws is not None:
        low, high = interval(measure.draws(x, y, sentence, sentence_counts(sentences, draws, rng), options))
        return float(low), float(high)
    assert measure.jackknife is not None  # a measure has one or the other: a test holds the registry to it
    replicates = measure.jackknife(x, y, sentence, JACKKNIFE_GROUPS, rng)
    below, above = jackknife_interval(similarity, replicates)
    return max(below, measure.lowest), min(above, 1.0)
