"""Reading a study's text as a task: files, hub data sets and tokenising take time and can be
cancelled."""

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
def read_text(
    ref: str, genres: tuple[str, ...], limit: int | None, given: Text | None = None
) -> Corpus:
    """Read the sentences of a study.

    Args:
        ref: A CorpusRef, or `upload:NAME` with the upload in `given`.
        genres: Genres kept; all if empty.
        limit: The largest number of sentences, from the front.
        given: The text itself, if it came with the request.

    Raises:
        CorpusError: If the text cannot be read, or holds no sentence of the genres.
    """
    if given is None:
        return _counted(read_corpus(ref, limit=limit, genres=genres), limit)
    corpus = given if isinstance(given, Corpus) else corpus_from_bytes(ref.partition(":")[2], given)
    chosen = tuple(
        sentence for sentence in corpus.sentences if not genres or sentence.genre in genres
    )[:limit]
    if not chosen:
        raise CorpusError(
            f"{corpus.ref} holds no sentence of {', '.join(genres)}: choose other genres."
        )
    return _counted(replace(corpus, sentences=chosen), limit)


def _counted(corpus: Corpus, limit: int | None) -> Corpus:
    """Add a notice to the corpus if it has fewer sentences than were asked for."""
    count = len(corpus.sentences)
    if limit is None or count >= limit:
        return corpus
    return replace(corpus, notices=(*corpus.notices, fewer_sentences(corpus.ref, count, limit)))


def fewer_sentences(ref: str, count: int, limit: int) -> str:
    """Say that a text is shorter than was asked for."""
    return (
        f"{ref} has only {count:,} sentences, fewer than the {limit:,} that were asked for; all "
        f"were read."
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
