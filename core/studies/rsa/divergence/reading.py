"""Which inputs a language model reads to predict every word of a text, in batches.

A masked model reads a sentence once for each of its words, with all subwords of the word masked
(Salazar et al. 2020 mask one subword at a time), or once without a mask; a causal model reads it
once and predicts each subword from those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from core.vectors.forward import Subwords, plan_batches

MASKING = {
    "masked": "each word masked: one pass per word",
    "unmasked": "unmasked text: one pass per sentence, in which the model sees the word",
}
COLUMNS = {
    "js": "js",
    "kl": "kl",
    "reverse_kl": "reverse_kl",
    "chance": "chance",
    "surprisal": "second_surprisal",
    "base_surprisal": "first_surprisal",
    "agree": "agree",
}
"""What is kept of every word, and the attribute of `Divergences` that it averages."""
NAMED = 8  # sentences at the front whose most likely tokens are written out


@dataclass(frozen=True)
class Query:
    """One input: a sentence with a word masked (-1: none), and where predictions are read.

    Attributes:
        sentence: Its number.
        masked: Number of the masked word; -1 if none is.
        places: Subwords that are predicted.
        shift: How many subwords earlier the prediction stands: 1 for causal models.
    """

    sentence: int
    masked: int
    places: tuple[int, ...]
    shift: int


@dataclass(frozen=True)
class Inputs:
    """A padded batch of queries.

    Attributes:
        ids, mask: Token ids and which are read, shape (query, subword).
        rows, places: Where each prediction stands.
        targets: The token that is there in the text.
        sentence, word: Which word each predicted token belongs to.
    """

    ids: Int[ndarray, "query subword"]
    mask: Int[ndarray, "query subword"]
    rows: Int[ndarray, " position"]
    places: Int[ndarray, " position"]
    targets: Int[ndarray, " position"]
    sentence: Int[ndarray, " position"]
    word: Int[ndarray, " position"]


def make_queries(sentences: Sequence[Subwords], kind: str, masking: str) -> list[Query]:
    """List the inputs from which every word is predicted by a "masked" or a "causal" model; a
    causal one masks nothing, whatever `masking` says."""
    queries = []
    for number, sentence in enumerate(sentences):
        owners = np.asarray(sentence.words)
        places = np.flatnonzero(owners >= 0)
        if kind == "causal":
            places = places[places > 0]  # nothing stands before the first
        if kind == "masked" and masking == "masked":
            queries += [
                Query(number, int(word), tuple(np.flatnonzero(owners == word).tolist()), 0)
                for word in np.unique(owners[places])
            ]
        elif len(places):
            queries.append(Query(number, -1, tuple(places.tolist()), int(kind == "causal")))
    return queries


def batches(
    sentences: Sequence[Subwords],
    queries: Sequence[Query],
    *,
    mask_token: int,
    pad: int,
    tokens: int,
) -> Iterator[Inputs]:
    """Pad queries of similar length to batches of at most so many tokens, padding included;
    `mask_token` replaces a masked word's subwords."""
    lengths = [len(sentences[query.sentence].ids) for query in queries]
    for numbers in plan_batches(lengths, tokens):
        chosen = [queries[number] for number in numbers]
        ids = np.full(
            (len(chosen), max(lengths[number] for number in numbers)), pad, dtype=np.int64
        )
        mask = np.zeros_like(ids)
        columns: list[tuple[int, int, int, int, int]] = []
        for row, query in enumerate(chosen):
            sentence = sentences[query.sentence]
            ids[row, : len(sentence.ids)] = sentence.ids
            mask[row, : len(sentence.ids)] = 1
            if query.masked >= 0:
                ids[row, list(query.places)] = mask_token
            columns += [
                (row, at - query.shift, sentence.ids[at], query.sentence, sentence.words[at])
                for at in query.places
            ]
        yield Inputs(ids, mask, *np.array(columns, dtype=np.int64).T)
