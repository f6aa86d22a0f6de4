"""Baselines without a model: the most frequent label, a table of words, and positions.

All three are coded in the same blocks as a model's probe (`codelength`), so that accuracies and
code lengths are comparable. Majority and word lookup are tables of counts. The probability of a
label in a context is its count there plus its probability in the next coarser context, divided by
the count of the context plus one; the coarsest probabilities are the label frequencies with one
added to each count. A word that was never seen thus falls back on the most frequent label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from jaxtyping import Float, Int

from core.studies.probes.edges.items import Items

FARTHEST = 24  # words from either end of the sentence; greater distances are one class
WIDEST = 12  # words between a head and its dependent; greater distances are one class

Contexts = list[tuple[Hashable, ...]]


class Counts:
    """Counts of labels by context.

    Args:
        classes: Number of labels.
        kinds: Number of kinds of contexts.

    Attributes:
        items: Number of items counted so far.
        overall: Counts of the labels in all items.
        tables: For each kind of context, coarse to fine, context -> counts of the labels.
    """

    def __init__(self, classes: int, kinds: int) -> None:
        self.items = 0
        self.overall = np.zeros(classes)
        self.tables: list[dict[Hashable, np.ndarray]] = [
            defaultdict(lambda: np.zeros(classes)) for _ in range(kinds)
        ]

    def add(self, contexts: Contexts, labels: Int[np.ndarray, " item"], end: int) -> Counts:
        """Count the items up to `end` that are not yet counted."""
        for item in range(self.items, end):
            self.overall[labels[item]] += 1
            for table, context in zip(self.tables, contexts[item], strict=True):
                table[context][labels[item]] += 1
        self.items = end
        return self

    def probabilities(self, contexts: Contexts) -> Float[np.ndarray, "item class"]:
        """Probabilities of every label, for items given by their contexts."""
        result = np.empty((len(contexts), len(self.overall)))
        coarsest = (self.overall + 1) / (self.overall.sum() + len(self.overall))
        for row, of_item in enumerate(contexts):
            chances = coarsest
            for table, context in zip(self.tables, of_item, strict=True):
                if context in table:
                    counts = table[context]
                    chances = (counts + chances) / (counts.sum() + 1)
            result[row] = chances
        return result


def word_contexts(items: Items, words: Sequence[Sequence[str]]) -> Contexts:
    """The words of each item, coarse to fine: case-folded, as written, for edges with the head."""
    contexts: Contexts = []
    for number, word, head in zip(items.sentence, items.word, items.head, strict=True):
        text = words[number][word]
        word_forms: tuple[Hashable, ...] = (text.casefold(), text)
        contexts.append(
            word_forms
            if head < 0
            else (*word_forms, (words[number][head].casefold(), text.casefold()))
        )
    return contexts


def place_features(
    items: Items, lengths: Int[np.ndarray, " sentence"]
) -> Float[np.ndarray, "item one feature"]:
    """One-hot positions of an item's words from the left end, the right end and the head: a linear
    classifier of them knows positions and, for edges, direction and length, and nothing else."""
    size = lengths[items.sentence]
    parts = [_one_hot(items.word, FARTHEST), _one_hot(size - 1 - items.word, FARTHEST)]
    if (items.head >= 0).all() and len(items):
        offset = np.clip(items.head - items.word, -WIDEST, WIDEST) + WIDEST
        parts += [_one_hot(items.head, FARTHEST), _one_hot(size - 1 - items.head, FARTHEST)]
        parts.append(_one_hot(offset, 2 * WIDEST))
    return np.concatenate(parts, axis=1)[:, None]


def _one_hot(places: np.ndarray, most: int) -> Float[np.ndarray, "item place"]:
    marks: np.ndarray = np.eye(most + 1, dtype=np.float32)[np.minimum(places, most)]
    return marks
