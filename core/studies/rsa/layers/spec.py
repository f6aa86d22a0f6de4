"""The study's options: each is declared here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from core import options
from core.errors import SpecError
from core.maths.similarity.kernels import KERNELS
from core.maths.similarity.rdm import COMPARISONS
from core.maths.similarity.registry import MEASURES
from core.options import Spec

ITEMS = {
    "words": "words, sampled from all sentences",
    "cls": "[CLS]: one vector per sentence",
    "mean": "sentence means: the mean of a sentence's words",
}
ITEM_NAMES = {"words": "words", "cls": "[CLS]", "mean": "sentence means"}  # in the methods
SPELT = {"svcca": "CCA of singular vectors (SVCCA)", "pwcca": "projection-weighted CCA (PWCCA)"}
OF_RSA = {"measure": "rsa"}  # no other measure reads the option
MOST_RANKED = 5_000  # rank comparisons hold every pair: 5,000 items are 200 MB a matrix


def measures() -> Mapping[str, str]:
    """Return the label of each measure, in words first, those that other packages add last."""
    return {name: SPELT.get(name, measure.label) for name, measure in MEASURES.items()}


measure_option = partial(
    options.choice,
    "Measure",
    "rsa",
    measures,
    has_titles=True,
    help="The similarity measure; try another one to see whether a finding depends on it. "
    "Of the two CKAs, debiased CKA is recommended: linear CKA is high for unrelated spaces.",
    defines=True,
)


@dataclass(frozen=True)
class RsaSpec(Spec):
    """One study: a base model compared with others, by layer."""

    base: str = options.base()
    compare: tuple[str, ...] = options.models(
        "Compared with",
        ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0"),
        most=60,
        patterns=True,
        phrase=" against {}",
        help=(
            "Models compared with the base, layer by layer; patterns such as zoo:parse-* work too."
        ),
    )
    pool_runs: bool = options.flag(
        "Pool runs",
        True,
        help="Draw models whose names differ only in their last number as one curve, "
        "with a t-interval over runs, except steps of training; turn it off to see each run.",
    )
    matched_size: bool = options.flag(
        "Matched size",
        False,
        help="Scale every weight change to the size of the smallest one, to compare tasks at "
        "equal size; the interpolated models are not those of a shorter training.",
    )
    measure: str = measure_option(phrase="; {}")
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    items: str = options.choice(
        "Items",
        "words",
        ITEMS,
        help="The vectors that are compared: of words or of whole sentences.",
        defines=True,
    )
    words: int = options.sampled_words(
        "Words sampled from all sentences if items are words; more words give narrower bands."
    )
    one_per_word: bool = options.flag(
        "One occurrence per word",
        False,
        help=(
            "Sample each word at most once, "
            "because repeated words make any two models look similar."
        ),
        defines=True,
    )
    standardise: bool = options.flag(
        "Standardise dimensions",
        False,
        help="Scale each dimension to mean 0 and standard deviation 1 first, "
        "so that a few large ones do not dominate.",
        defines=True,
    )
    drop_rogue: int = options.whole(
        "Rogue dimensions dropped",
        0,
        low=0,
        high=64,
        help="How many dimensions with the largest mean square are removed first, "
        "to see whether they explain the similarity.",
        defines=True,
    )
    drop_influential: float = options.number(
        "Influential words dropped (%)",
        0.0,
        low=0.0,
        high=20.0,
        help="Percentage of the words that is removed from each layer, those without which RSA "
        "changes most, to see whether a few words decide it; 1 is a usual choice.",
        defines=True,
    )
    sinks: str = options.sinks()
    kernel: str = options.choice(
        "Kernel of RSA",
        "cosine",
        KERNELS,
        help="How RSA measures the similarity of two items.",
        defines=True,
        where=OF_RSA,
    )
    comparison: str = options.choice(
        "Comparison of RSA",
        "pearson",
        COMPARISONS,
        help="How RSA compares the two similarity matrices; ranks are robust to outliers.",
        defines=True,
        where=OF_RSA,
    )
    references: bool = options.flag(
        "Reference models",
        True,
        help=(
            "Add another included pretraining seed, "
            "a second training run of the base and random weights as dashed lines, for comparison."
        ),
    )
    functions: bool = options.flag(
        "Layer functions",
        True,
        help="Also compare what each layer computes from the base's own input, to see which layers "
        "changed rather than which states differ; turn it off to save one forward pass per model.",
    )
    grid: bool = options.flag(
        "Layer against layer",
        False,
        help="Also compare every layer of the base with every layer of the other models.",
        shown=False,
    )
    against: str = options.corpus(
        "",
        label="Second text",
        help="A second text to compare with the first, since the effect may depend on the text.",
        shown=False,
    )
    against_genres: tuple[str, ...] = options.genres(
        "Genres of the second text",
        help="Genres of the second text; without a second text, these genres of the first text.",
        shown=False,
    )
    seed: int = options.seed("Seed of the sample, the bands and the chance level.")

    def check(self) -> None:
        if self.one_per_word and self.items != "words":
            raise SpecError(
                f"one_per_word needs words as items, and the items are {self.items}: turn it off."
            )
        if self.drop_influential and self.measure != "rsa":
            raise SpecError(
                f"drop_influential needs RSA, because influence is the change of RSA without a "
                f"word, and the measure is {self.measure}: set it to 0, or choose rsa."
            )
        ranked = self.measure == "rsa" and self.comparison != "pearson"
        items = self.words if self.items == "words" else self.sentences
        if ranked and items > MOST_RANKED:
            named = "words" if self.items == "words" else "sentences"
            raise SpecError(
                f"{named} takes a whole number up to {MOST_RANKED:,} with the comparison "
                f"{self.comparison}, which keeps every pair of items in memory, not {items}: "
                "use fewer, or compare by pearson."
            )

    @property
    def second_corpus(self) -> tuple[str, tuple[str, ...]] | None:
        """Give the second text's CorpusRef and genres, or None."""
        if not self.against and not self.against_genres:
            return None
        return self.against or self.corpus, self.against_genres
