"""Reading a study's text, as a task: files, hub data sets and tokenising take their time and can be cancelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.errors import CorpusError
from core.runs.tasks import Task, pure
from core.text.corpora import Corpus, corpus_from_bytes, read_corpus

Text = Corpus | bytes
"""A text that came with the request: an upload's bytes, or sentences already read."""


@pure("text.read")
def read_text(ref: str, genres: tuple[str, ...], limit: int | None, given: Text | None = None) -> Corpus:
    """The sentences that a study reads.

    Args:
        ref: A CorpusRef, or `upload:NAME` with the upload in `given`.
        genres: Genres kept; all where empty.
        limit: At most so many sentences, from the front.
        given: The text itself, where it is not to be looked up.

    Raises:
        CorpusError: If the text cannot be read, or holds no sentence of the genres.
    """
    if given is None:
        return _counted(read_corpus(ref, limit=limit, genres=genres), limit)
    corpus = given if isinstance(given, Corpus) else corpus_from_bytes(ref.partition(":")[2], given)
    chosen = tuple(sentence for sentence in corpus.sentences if not genres or sentence.genre in genres)[:limit]
    if not chosen:
        raise CorpusError(f"{corpus.ref} holds no sentence of {', '.join(genres)}: choose other genres.")
    return _counted(replace(corpus, sentences=chosen), limit)


def _counted(corpus: Corpus, limit: int | None) -> Corpus:
    """The corpus, with a notice where it has fewer sentences than were asked for."""
    count = len(corpus.sentences)
    if limit is None or count >= limit:
        return corpus
    notice = f"{count:,} sentences of {corpus.ref} were read; {limit:,} were asked for, and it has no more."
    return replace(corpus, notices=(*corpus.notices, notice))


def text_task(
    ref: str, genres: Sequence[str], limit: int | None, texts: Mapping[str, Text] | None = None, *, role: Any = "text"
) -> Task:
    """The task that reads one text; `texts` holds those that came with the request, by CorpusRef."""
    return Task.of(
        f"read {ref}", read_text, role=role, fleeting=True, ref=ref, genres=tuple(genres), limit=limit,
        given=(texts or {}).get(ref),
    )  # fmt: skip
