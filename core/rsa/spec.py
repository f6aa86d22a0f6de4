"""What the RSA page or the command line may ask for, checked before anything runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from core.checks import whole_between
from core.errors import SpecError
from core.models import parse_ref
from core.rsa.kernels import KERNELS
from core.rsa.measures import Options, get_measure
from core.rsa.rdm import COMPARISONS

ITEMS = {
    "words": "words, sampled from all sentences",
    "cls": "[CLS]: one vector a sentence",
    "mean": "sentence means: the mean of a sentence's words",
}
MOST_ITEMS = 20_000
MOST_RANKED = 5_000  # rank comparisons hold every pair: 5,000 items are 200 MB a matrix
MOST_DRAWS = 10_000


@dataclass(frozen=True)
class RsaSpec:
    """One study: a base model against others, by layer.

    Attributes:
        base: Reference of the base model.
        compare: References of the models compared with it.
        corpus: CorpusRef.
        genres: Genres kept of the corpus; all where empty.
        against: Second CorpusRef, shown beside the first (in-domain against out-of-domain); none where empty.
        against_genres: Genres kept of the second. With `against` empty, genres of the first corpus.
        measure: One of `MEASURES`.
        kernel: One of `KERNELS`, for RSA.
        comparison: One of `COMPARISONS`, for RSA.
        items: One of `ITEMS`.
        sample: Words sampled, where items are words.
        limit: Sentences read from each corpus.
        standardise: Whether each dimension is brought to mean 0 and standard deviation 1 first.
        drop_rogue: Dimensions with the largest mean square that are dropped first.
        draws: Bootstrap draws over sentences.
        yardsticks: Whether to add seed against seed (base models of the box) and base against random weights.
        grid: Whether to add every layer of the base against every layer of each other model.
        seed: Seed of the sample, the bootstrap and the null.
    """

    base: str
    compare: tuple[str, ...]
    corpus: str = "demo"
    genres: tuple[str, ...] = ()
    against: str = ""
    against_genres: tuple[str, ...] = ()
    measure: str = "rsa"
    kernel: str = "cosine"
    comparison: str = "pearson"
    items: str = "words"
    sample: int = 1000
    limit: int = 300
    standardise: bool = False
    drop_rogue: int = 0
    draws: int = 500
    yardsticks: bool = True
    grid: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("compare", "genres", "against_genres"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.compare:
            raise SpecError("Choose at least one model to compare with the base.")
        object.__setattr__(self, "base", str(parse_ref(self.base)))
        object.__setattr__(self, "compare", tuple(dict.fromkeys(str(parse_ref(ref)) for ref in self.compare)))
        get_measure(self.measure)
        _among("kernel", self.kernel, KERNELS)
        _among("comparison", self.comparison, COMPARISONS)
        _among("items", self.items, ITEMS)
        ranked = self.measure == "rsa" and self.comparison != "pearson"
        whole_between("sample", self.sample, 10, MOST_RANKED if ranked else MOST_ITEMS)
        whole_between("limit", self.limit, 2, MOST_RANKED if ranked and self.items != "words" else 100_000)
        whole_between("drop_rogue", self.drop_rogue, 0, 64)
        whole_between("draws", self.draws, 20, MOST_DRAWS)
        whole_between("seed", self.seed, 0, 2**31 - 1)
        if not self.corpus:
            raise SpecError("Choose a corpus: demo is in the box.")

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

    def plain(self) -> dict[str, Any]:
        """The spec as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def short_name(ref: str) -> str:
    """A reference as a reader says it: `parse-0` for zoo:parse-0, `name` for a hub model or a folder."""
    random, _, rest = ref.rpartition("random:")
    kind, _, name = rest.partition(":")
    short = PurePath(name).name if kind in ("hub", "path") else name
    return f"random {short or ref}" if random or ref.startswith("random:") else short or ref


def short_names(refs: tuple[str, ...]) -> dict[str, str]:
    """Short names, with the full reference where two would be the same."""
    names = {ref: short_name(ref) for ref in refs}
    taken = list(names.values())
    return {ref: name if taken.count(name) == 1 else ref for ref, name in names.items()}


def corpus_name(ref: str, genres: tuple[str, ...]) -> str:
    """A corpus as charts and tables name it."""
    return f"{ref} ({', '.join(genres)})" if genres else ref


def _among(name: str, value: str, known: dict[str, str]) -> None:
    if value not in known:
        raise SpecError(f"{name} must be one of {', '.join(known)}, got {value!r}.")
