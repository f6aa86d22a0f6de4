"""Targets of edge probes: part of speech, dependency label, head distance; their items and labels.

- `pos`: the universal part of speech of a word, from its vector.
- `label`: the universal dependency relation of an edge, from the concatenated vectors of the head
  and the dependent. Subtypes (`nsubj:pass`) count as their relation (`nsubj`).
- `distance`: the number of words from a word to its head, left or right, in BUCKETS, from the
  word's vector alone. With both vectors, the positions of the two words would give the answer.

Punctuation and edges to it are not items, as in the structural probes; the root has a class of its
own in `distance` and no label.

Reference: Tenney et al. 2019, ICLR, "What do you learn from context? Probing for sentence structure
in contextualized word representations" (the edge-probing tasks part-of-speech and dependency
labelling); Hewitt & Liang 2019, EMNLP (control labels). Deviations: spans are single words; the two
vectors of an edge are concatenated without a projection or a hidden layer, so that the classifier
is linear; layers are probed one by one, not in a mix; head distance is added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast

import numpy as np
from jaxtyping import Bool, Int

from core.errors import CorpusError
from core.studies.probes.trees.data import Treebank
from core.text.corpora import Sentence

TARGETS = {
    "pos": "part of speech of a word",
    "label": "dependency label of a head and its dependent",
    "distance": "distance of a word's head to the left or right",
}
BUCKETS = (
    "6 or more to the left",
    "3 to 5 to the left",
    "2 to the left",
    "1 to the left",
    "root",
    "1 to the right",
    "2 to the right",
    "3 to 5 to the right",
    "6 or more to the right",
)
_EDGES = (-5, -2, -1, 0, 1, 2, 3, 6)  # smallest offset in each bucket after the first

Words = tuple[tuple[str, ...], ...]
Tags = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Items:
    """The items of the sentences of a study, one entry per item, in the order of the sentences.

    Attributes:
        sentence: Number of the sentence.
        word: Place of the word in the sentence; for an edge, of the dependent.
        head: Place of its head; -1 where the target does not use the head.
        labels: The true labels.
    """

    sentence: np.ndarray
    word: np.ndarray
    head: np.ndarray
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


def tags_of(
    treebank: Treebank, target: str
) -> dict[tuple[tuple[str, ...], tuple[int, ...]], tuple[str, ...]]:
    """Tags from which a target's labels are made, by words and heads; "_" is no tag. Raises
    CorpusError if the text has none."""
    tags_by_sentence = {
        (s.words, cast("tuple[int, ...]", s.heads)): _tags(s, target)
        for s in treebank.corpus.sentences
    }
    if target != "distance" and not any(
        label != "_" for labels in tags_by_sentence.values() for label in labels
    ):
        what = "part-of-speech tags (UPOS)" if target == "pos" else "dependency labels"
        raise CorpusError(
            f"{treebank.corpus.ref} has no {what}. "
            f"Set Trees to parser, or leave {target} out of the targets."
        )
    return tags_by_sentence


def edge_items(
    target: str,
    heads: Sequence[Sequence[int]],
    keep: Sequence[Sequence[bool]],
    tags: Sequence[Sequence[str]],
) -> Items:
    """Items and labels of sentences; tags are UPOS or dependency labels, as the target needs, and
    words tagged "_" are left out."""
    rows: list[tuple[int, int, int, str]] = []
    for number, (head, kept, tag) in enumerate(zip(heads, keep, tags, strict=True)):
        for i, (up, counts) in enumerate(zip(head, kept, strict=True)):
            if not counts:
                continue
            if target == "distance":
                rows.append((number, i, -1, _bucket(i, up)))
            elif target == "pos" and tag[i] != "_":
                rows.append((number, i, -1, tag[i]))
            elif target == "label" and tag[i] != "_" and up > 0 and kept[up - 1]:
                rows.append((number, i, up - 1, tag[i].partition(":")[0]))
    sentence, word, above, labels = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Items(
        np.array(sentence, dtype=int),
        np.array(word, dtype=int),
        np.array(above, dtype=int),
        tuple(labels),
    )


def numbered(labels: Sequence[str], classes: Sequence[str]) -> Int[np.ndarray, " item"]:
    """Index of each label among the classes; -1 where it is not among them."""
    places = {name: number for number, name in enumerate(classes)}
    return np.array([places.get(label, -1) for label in labels], dtype=np.int64)


def control_labels(
    types: Sequence[str], shares: Sequence[float], target: str, seed: int, draw: int
) -> Int[np.ndarray, " item"]:
    """Draw a random label for each word type (that of an edge is its dependent's), the same in all
    sentences, with the classes' shares (which sum to 1); targets and draws are independent."""
    limits = np.cumsum(shares)
    assigned: dict[str, int] = {}
    for word in types:
        if word not in assigned:
            text = f"{target}\0{seed}\0{draw}\0{word}".encode("utf8", "surrogatepass")
            place = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
            assigned[word] = min(int(np.searchsorted(limits, place, side="right")), len(limits) - 1)
    return np.array([assigned[word] for word in types], dtype=np.int64)


def drawn_controls(
    forms: Sequence[Sequence[str]],
    items: Items,
    labels: Int[np.ndarray, " training"],
    classes: int,
    target: str,
    seed: int,
) -> Iterator[Int[np.ndarray, " item"]]:
    """Draw control labels without end, by word types as a tokenizer's `forms` tell them apart, with
    the shares of the true training labels."""
    places = zip(items.sentence, items.word, strict=True)
    types = [forms[number][word] for number, word in places]
    shares = (np.bincount(labels, minlength=classes) / len(labels)).tolist()
    return (control_labels(types, shares, target, seed, draw) for draw in count())


def unseen(types: Sequence[str], training: int) -> Bool[np.ndarray, " item"]:
    """Which items' words do not occur in the first `training` items."""
    seen = set(types[:training])
    return np.array([word not in seen for word in types], dtype=bool)


def _bucket(word: int, head: int) -> str:
    """The bucket of an offset: the head's place minus the word's."""
    offset = head - 1 - word if head > 0 else 0
    return BUCKETS[int(np.searchsorted(_EDGES, offset, side="right"))]


def _tags(sentence: Sentence, target: str) -> tuple[str, ...]:
    tags = {"pos": sentence.upos, "label": sentence.deprel, "distance": ()}[target]
    return ("_",) * len(sentence.words) if tags is None else tags
