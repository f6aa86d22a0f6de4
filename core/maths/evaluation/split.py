"""How the rows of a text are split: whole word types, or whole sentences, are held out.

Rows are words (or sentences) of the same text in both models. Where word types are held out, no
type is in both training and test and a map cannot memorise test words; where sentences are, most
test words also occur in training. A word type is a word regardless of case. The split is a hash of
the word, or of the sentence's words, so that it is the same for every pair of models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from core.errors import ShapeError
from core.maths.arrays import Words as Sentences

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}
LEAST_ROWS = 20  # of each part of the split


@dataclass(frozen=True)
class Parts:
    """The split of the rows of a text.

    Attributes:
        train, validation, test: Indices of rows.
        types: Number of each row's word type, (row,); -1 where rows are whole sentences.
        unit: The unit held out with each row, (row,): the number of its word type or sentence.
    """

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]
    types: Int[np.ndarray, " row"]
    unit: Int[np.ndarray, " row"]

    def seen(self, rows: Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Tell whether the word type of each of these rows is in training."""
        return np.isin(self.types[rows], self.types[self.train])


def part_of(words: Sequence[str], seed: int = 0) -> str:
    """Assign a sentence (or a single word) to a part of the split, as a function of its words and
    the seed."""
    digest = hashlib.sha256(f"{seed}\x1f{chr(31).join(words)}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    for part, share in SHARES.items():
        if place < share:
            return part
        place -= share
    return "test"


def split_rows(
    sentences: Sentences,
    sentence: Int[np.ndarray, " row"],
    word: Int[np.ndarray, " row"],
    split: str,
    seed: int,
) -> Parts:
    """Split rows by word type or by sentence.

    Args:
        sentences: Words of each sentence.
        sentence: Sentence of each row.
        word: Position of each row's word in its sentence; -1 where rows are whole sentences.
        split: "word" or "sentence".
        seed: Of the hash.

    Raises:
        ShapeError: If rows are split by word but are sentences, or a part has fewer than
            `LEAST_ROWS` rows.
    """
    whole = bool((word < 0).any())
    if whole and split == "word":
        raise ShapeError(
            "Rows of whole sentences cannot be split by word: choose split by sentence."
        )
    if whole:
        types = np.full(len(word), -1)
    else:
        # Numbered over the whole text, so that the numbers do not depend on which words a pair of
        # models leaves out.
        names = sorted({word.casefold() for words in sentences for word in words})
        number = {name: place for place, name in enumerate(names)}
        types = np.array(
            [number[sentences[s][w].casefold()] for s, w in zip(sentence, word, strict=True)]
        )
    if split == "word":
        parts = np.array([part_of((name,), seed) for name in names])[types]
    else:
        parts = np.array([part_of(words, seed) for words in sentences])[sentence]
    return parts_from(parts, types, types if split == "word" else np.asarray(sentence))


def parts_from(
    parts: np.ndarray, types: Int[np.ndarray, " row"], unit: Int[np.ndarray, " row"]
) -> Parts:
    """Make the split from the name of each row's part.

    Raises:
        ShapeError: If a part has fewer than `LEAST_ROWS` rows.
    """
    train, validation, test = (np.flatnonzero(parts == part) for part in SHARES)
    for part, rows in zip(SHARES, (train, validation, test), strict=True):
        if len(rows) < LEAST_ROWS:
            raise ShapeError(
                f"The {part} part of the split has {len(rows)} rows and needs {LEAST_ROWS}: "
                "use more sentences, or words as rows."
            )
    return Parts(train, validation, test, types, unit)
