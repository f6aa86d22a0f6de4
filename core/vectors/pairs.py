"""Two models on the same items: sampled words, and their vectors in both models.

Models with different tokenizers leave out different sentences and words; a comparison uses the
items that both have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ShapeError
from core.maths.arrays import Value, Words
from core.maths.progress import span, tick
from core.models.costs import rows_of
from core.text.reading import Unread
from core.vectors.activations import Activations, extract
from core.vectors.notices import other_depth
from core.vectors.sinks import TABLE, words_without_sinks

LEAST_ITEMS = 10
READING_SHARE = 0.7  # of a task that compares two models, reading both
Kept = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Items:
    """Whose vectors are read; plain values.

    Attributes:
        sentences: Words of each sentence.
        kept: Positions of the sampled words of each sentence; empty for all words, or where items
            are sentences.
        items: "words", "cls" or "mean".
    """

    sentences: Words
    kept: Kept
    items: str

    @property
    def count(self) -> float:
        """How many there are; of all words of a text, about how many."""
        if self.items == "words" and self.kept:
            return sum(map(len, self.kept))
        return rows_of(self.sentences, self.items)


@dataclass(frozen=True)
class Paired:
    """Vectors of the same items from two models, the second's layers already matched to the
    first's.

    Shapes: `base` (layer, item, d_model), `compared` (layer, item, another d_model), `sentence`
    (item,), `word` (item,): the word's position in its sentence, -1 where items are whole
    sentences. `sinks` is the record of the attention sinks that were left out, None if none was
    looked for.
    """

    base: NDArray[np.float32]
    compared: NDArray[np.float32]
    sentence: NDArray[np.int64]
    word: NDArray[np.int64]
    notices: tuple[str, ...]
    sinks: Value | None = None

    def layers(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Give the vectors of each layer of both models, and tell how far a task is with them."""
        for layer, both in enumerate(zip(self.base, self.compared, strict=True)):
            tick(READING_SHARE + (1 - READING_SHARE) * layer / len(self.base), f"layer {layer}")
            yield both

    @property
    def remarks(self) -> Value:
        """What a task returns beside its numbers: `notices`, and what was left out as `sinks`."""
        return {"notices": list(self.notices), **({TABLE: self.sinks} if self.sinks else {})}


def sample_words(
    sentences: Words, sample: int, rng: np.random.Generator, once: bool = False
) -> tuple[NDArray[np.int64], tuple[tuple[int, ...], ...]]:
    """Sample words from all sentences, each word with the same probability.

    Args:
        sentences: Words of each sentence.
        sample: How many; all of them where there are fewer.
        rng: Source of randomness.
        once: Whether each word is drawn at most once, ignoring case, at a place chosen at random.

    Returns:
        The sentences that hold a sampled word, and the positions of the sampled words in each.
    """
    lengths = np.array([len(words) for words in sentences])
    total = int(lengths.sum())
    if once:
        words = [word.casefold() for sentence in sentences for word in sentence]
        shuffled = rng.permutation(total)
        places = np.array(
            list({words[place]: place for place in shuffled}.values())
        )  # the last place of each word
        chosen = np.sort(rng.choice(places, size=min(sample, len(places)), replace=False))
    else:
        chosen = np.sort(rng.choice(total, size=min(sample, total), replace=False))
    sentence = np.searchsorted(np.cumsum(lengths), chosen, side="right")
    position = chosen - (np.cumsum(lengths) - lengths)[sentence]
    used = np.unique(sentence)
    return used, tuple(tuple(int(word) for word in position[sentence == number]) for number in used)


def choose_items(sentences: Words, sample: int, seed: int, once: bool = False) -> Items:
    """Sample words as the items of a comparison, in the sentences that hold them."""
    if isinstance(sentences, Unread):
        some = range(min(sample, int(rows_of(sentences, "words"))))
        return Items(sentences, (tuple(some),), "words")
    used, kept = sample_words(sentences, sample, np.random.default_rng(seed), once)
    return Items(tuple(sentences[number] for number in used), kept, "words")


def extract_pair(
    base: str,
    other: str,
    items: Items,
    match_layers: bool = True,
    share: float = 1.0,
    *,
    functions: bool = False,
    turn: int | None = None,
    sinks: str = "",
) -> Paired:
    """Extract the vectors of the items that both models have, in one order.

    Args:
        base, other: References.
        items: Which.
        match_layers: Match the other's layers to the base's by relative depth where they differ in
            number.
        share: Below 1, the other's weights lie at this share of the way from the base's to its own.
        functions: Whether each layer of the other reads what the same layer of the base reads, so
            that only its own weights can make its output differ; else it reads its own model's
            states.
        turn: With functions, the seed by which the other's weight change is rotated at random.
        sinks: "auto" leaves out the attention sinks of both models where they are decoders, "drop"
            whatever they are; "" leaves out none. A sentence's mean is then over its other words.

    Raises:
        ModelError: If a model cannot be loaded, or its layers cannot read the base's states.
        ShapeError: If fewer than `LEAST_ITEMS` items are left.
    """
    keep: Sequence[Sequence[int]] | None = items.kept or None
    read = other
    how: dict[str, Any] = {"between": (base, share) if share < 1.0 else None}
    if functions:
        seeds = () if turn is None else (turn,)
        read, how = base, {"functions": (other, share, *seeds)}
    left_out: Value | None = None
    start = 0.0
    if sinks and items.items != "cls":
        start = 0.5  # the models run here, and their vectors are stored
        with span(0.0, start):
            keep, left_out = words_without_sinks(
                items.sentences, keep, sinks, (base, {}), (read, how)
            )
    asked: dict[str, Any] = {"items": items.items, "keep": keep}
    middle = (start + READING_SHARE) / 2
    with span(start, middle):
        first = extract(base, items.sentences, **asked)
    with span(middle, READING_SHARE):
        second = extract(read, items.sentences, **asked, **how)
    notices = [
        *first.notices,
        *(notice for notice in second.notices if notice not in first.notices),
    ]
    first, second = in_common([first, second])
    if len(first.sentence) < LEAST_ITEMS:
        left = len(first.sentence)
        raise ShapeError(
            f"Both models can read {left} of the items, and {LEAST_ITEMS} are needed: "
            "use more text or shorter sentences."
        )
    base_states, other_states = first.vectors, second.vectors
    if match_layers and len(base_states) != len(other_states):
        notices.append(other_depth(base, len(base_states) - 1, other, len(other_states) - 1))
        other_states = other_states[
            np.round(np.linspace(0, len(other_states) - 1, len(base_states))).astype(int)
        ]
    return Paired(base_states, other_states, first.sentence, first.word, tuple(notices), left_out)


def in_common(activations: Sequence[Activations]) -> list[Activations]:
    """Reduce activations to the items (sentence, word) that all of them have, in one order.

    Models with different tokenizers leave out different sentences and words; a comparison needs the
    rest.
    """
    owned = [
        list(zip(part.sentence.tolist(), part.word.tolist(), strict=True)) for part in activations
    ]
    shared = set.intersection(*map(set, owned)) if owned else set()
    reduced = []
    for part, items in zip(activations, owned, strict=True):
        if len(shared) == len(items):  # all of them, and no copy is needed
            reduced.append(part)
            continue
        at = np.array([place for place, item in enumerate(items) if item in shared], dtype=np.int64)
        reduced.append(
            Activations(part.vectors[:, at], part.sentence[at], part.word[at], part.notices)
        )
    return reduced
