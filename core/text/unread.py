"""A text of which only the size is known: it stands for the text where a study is priced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.models.costs import count_sentences
from core.text.corpora import HUB_SENTENCES, Corpus, Sentence

LENGTH = 14  # words of a sentence of the demo
SENTENCE = Sentence(  # in place of each sentence of a treebank that is not read
    ("word",) * LENGTH,
    tuple(range(LENGTH)),
    upos=("NOUN",) * LENGTH,
    deprel=("dep",) * LENGTH,
)


@dataclass(frozen=True)
class Unread(Sequence[tuple[str, ...]]):
    """Sentences that are counted and not read.

    Attributes:
        ref: Of their corpus, with its genres.
        number: How many.
    """

    ref: str
    number: int

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, place: Any) -> Any:
        raise IndexError("the sentences of a text that was not read")


@dataclass(frozen=True)
class UnreadCorpus(Corpus):
    """A corpus whose sentences are counted and not read."""

    count: int = 0

    @classmethod
    def of(cls, ref: str, genres: Sequence[str], limit: int | None) -> UnreadCorpus:
        """Count the sentences that a study reads, at most those of the demo."""
        count = count_sentences(ref, genres, HUB_SENTENCES if limit is None else limit)
        return cls(",".join([ref, *genres]), (), (), int(count))

    @property
    def words(self) -> Any:
        """Stand for the words of each sentence."""
        return Unread(self.ref, self.count)
