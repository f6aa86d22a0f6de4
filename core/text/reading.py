"""Reading a study's text as a task: files, hub data sets and tokenising take time and can be
cancelled. Where a study is priced, a text of which only the size is known stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.errors import CorpusError, counted
from core.models.costs import count_sentences
from core.models.identity import identity_tasks
from core.runs.tasks import Task, pure
from core.text.corpora import HUB_SENTENCES, Corpus, Sentence, corpus_from_bytes, read_corpus

Text = Corpus | bytes
"""A text that came with the request: an upload's bytes, or sentences already read."""

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


def _expected(
    sizes: Mapping[str, Any],
    ref: str,
    genres: tuple[str, ...],
    limit: int | None,
    given: Text | None = None,
    copies: bool = False,
) -> Corpus:
    return given if isinstance(given, Corpus) else UnreadCorpus.of(ref, genres, limit)


@pure("text.read", expect=_expected)
def read_text(
    ref: str,
    genres: tuple[str, ...],
    limit: int | None,
    given: Text | None = None,
    copies: bool = False,
) -> Corpus:
    """Read the sentences of a study from a CorpusRef, or what was `given`: the first `limit` of
    these genres (of all, if none is named), each once unless `copies` are kept, as a copy is no
    further evidence. Raises CorpusError if it cannot be read, or has none of the genres."""
    if given is None:
        corpus = read_corpus(ref, limit=limit, genres=genres)
    else:
        corpus = _part_of(given, ref, genres, limit)
    corpus = _counted(corpus, limit)
    return corpus if copies else _distinct(corpus)


def _part_of(given: Text, ref: str, genres: tuple[str, ...], limit: int | None) -> Corpus:
    """Choose the sentences of a text that came with the request."""
    corpus = given if isinstance(given, Corpus) else corpus_from_bytes(ref.partition(":")[2], given)
    sentences = [each for each in corpus.sentences if not genres or each.genre in genres][:limit]
    if not sentences:
        raise CorpusError(
            f"{corpus.ref} holds no sentence of {', '.join(genres)}: choose other genres."
        )
    return replace(corpus, sentences=tuple(sentences))


def _counted(corpus: Corpus, limit: int | None) -> Corpus:
    """Add a notice to the corpus if it has fewer sentences than were asked for."""
    count = len(corpus.sentences)
    if limit is None or count >= limit:
        return corpus
    return replace(corpus, notices=(*corpus.notices, fewer_sentences(corpus.ref, count, limit)))


def _distinct(corpus: Corpus) -> Corpus:
    """Keep the first of the sentences with the same words, and add a notice that counts the
    others."""
    first: dict[tuple[str, ...], Sentence] = {}
    for sentence in corpus.sentences:
        first.setdefault(sentence.words, sentence)
    count, distinct = len(corpus.sentences), tuple(first.values())
    if len(distinct) == count:
        return corpus
    notice = repeated_sentences(corpus.ref, count, count - len(distinct))
    return replace(corpus, sentences=distinct, notices=(*corpus.notices, notice))


def repeated_sentences(ref: str, count: int, copies: int) -> str:
    """Say how many sentences were left out as copies."""
    repeat, were = ("repeats", "was") if copies == 1 else ("repeat", "were")
    return (
        f"{copies:,} of the {count:,} sentences of {ref} {repeat} an earlier one word for word and "
        f"{were} left out, because copies are no further evidence."
    )


def fewer_sentences(ref: str, count: int, limit: int) -> str:
    """Say that a text is shorter than was asked for."""
    return (
        f"{ref} has only {counted(count, 'sentence')}, fewer than the {limit:,} that were asked "
        "for; all were read."
    )


def text_task(
    ref: str,
    genres: Sequence[str],
    limit: int | None,
    texts: Mapping[str, Text] | None = None,
    *,
    role: Any = "text",
) -> Task:
    """Make the task that reads one text; `texts` holds those that came with the request, by
    CorpusRef."""
    return Task.of(
        f"read {ref}",
        read_text,
        role=role,
        fleeting=True,
        ref=ref,
        genres=tuple(genres),
        limit=limit,
        given=(texts or {}).get(ref),
    )


def prepare_named(spec: Any, texts: Mapping[str, Any] | None = None) -> list[Task]:
    """Read the text and identify the models that a spec names, as most studies begin; without a
    text, the models' weights alone are identified."""
    if not hasattr(spec, "corpus"):
        return identity_tasks(spec.refs, run=False)
    text = text_task(spec.corpus, spec.genres, spec.sentences, texts)
    return [text, *identity_tasks(spec.refs)]
