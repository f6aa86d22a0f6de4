"""What the RSA page or the command line may ask for: each option is declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError
from core.options import Spec
from core.rsa.measures.kernels import KERNELS
from core.rsa.measures.rdm import COMPARISONS
from core.rsa.measures.registry import MEASURES, Options

ITEMS = {
    "words": "words, sampled from all sentences",
    "cls": "[CLS]: one vector per sentence",
    "mean": "sentence means: the mean of a sentence's words",
}
MOST_RANKED = 5_000  # rank comparisons hold every pair: 5,000 items are 200 MB a matrix


@dataclass(frozen=True)
class RsaSpec(Spec):
    """One study: a base model against others, by layer."""

    base: str = options.model("Base model", "zoo:seed-0", help="The model that the others come from.")
    compare: tuple[str, ...] = options.models(
        "Compared with",
        ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0"),
        most=60,
        patterns=True,
        said=" against {}",
        help="Models compared with the base, layer by layer; patterns such as zoo:parse-* too.",
    )
    pool_runs: bool = options.flag(
        "Pool runs",
        True,
        help="Models whose names differ in their last number alone become one curve, with a t-interval over runs.",
    )
    matched_size: bool = options.flag(
        "Matched size",
        False,
        help="Scale every weight change to the smallest one: weights between the base's and the model's own, "
        "which is not a shorter training.",
    )
    measure: str = options.choice(
        "Measure",
        "rsa",
        lambda: {name: measure.label for name, measure in MEASURES.items()},
        titled=True,
        said="; {}",
        help="How two spaces of the same words are compared.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    items: str = options.choice("Items", "words", ITEMS, help="What is compared.")
    words: int = options.whole(
        "Words sampled", 1_000, low=10, high=20_000, help="Words drawn from all sentences, where items are words."
    )
    one_per_word: bool = options.flag(
        "One occurrence per word",
        False,
        help="Draw each word once, however often the text has it: words that come again make spaces look alike.",
    )
    standardise: bool = options.flag(
        "Standardise dimensions", False, help="Bring each dimension to mean 0 and standard deviation 1 first."
    )
    drop_rogue: int = options.whole(
        "Rogue dimensions dropped", 0, low=0, high=64, help="Dimensions with the largest mean square, dropped first."
    )
    kernel: str = options.choice("Kernel of RSA", "cosine", KERNELS, help="Similarity of two items, for RSA.")
    comparison: str = options.choice(
        "Comparison of RSA", "pearson", COMPARISONS, help="How the two matrices of similarities are compared, for RSA."
    )
    references: bool = options.flag(
        "Reference models", True, help="Another pretraining seed of the box and random weights, for scale."
    )
    grid: bool = options.flag(
        "Layer against layer", False, help="Add every layer of the base against every layer of the others.", shown=False
    )
    against: str = options.corpus(
        "", label="Beside it", help="A second text, shown beside the first: the effect may depend on it.", shown=False
    )
    against_genres: tuple[str, ...] = options.genres(
        "Its genres", help="Genres kept of the second text; of the first one where no second is named.", shown=False
    )
    draws: int = options.whole(
        "Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences behind each band."
    )
    seed: int = options.seed("Seed of the sample, the bootstrap and the null.")

    def check(self) -> None:
        if self.one_per_word and self.items != "words":
            raise SpecError(f"one_per_word chooses among words, and the items are {self.items}: leave it off.")
        ranked = self.measure == "rsa" and self.comparison != "pearson"
        items = self.words if self.items == "words" else self.sentences
        if ranked and items > MOST_RANKED:
            named = "words" if self.items == "words" else "sentences"
            raise SpecError(
                f"{named} takes a whole number up to {MOST_RANKED:,} where the comparison is {self.comparison}, "
                f"which holds every pair of items; not {items}."
            )

    @property
    def options(self) -> Options:
        """Kernel and comparison, for the RSA measure."""
        return Options(self.kernel, self.comparison)

    @property
    def second_corpus(self) -> tuple[str, tuple[str, ...]] | None:
        """CorpusRef and genres to show beside the first, or None."""
        if not self.against and not self.against_genres:
            return None
        return self.against or self.corpus, self.against_genres
