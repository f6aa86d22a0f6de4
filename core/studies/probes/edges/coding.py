"""The items of a target in three parts: code lengths of the training labels and hits on the other
items, summed by sentence.

Baselines without a model are coded in the same blocks as a model's classifier (`codelength`), so
that accuracies and code lengths are comparable. The most frequent label and a table of words are
tables of counts. The probability of a label in a context is its count there plus its probability in
the next coarser context, divided by the count of the context plus one; the coarsest probabilities
are the label frequencies with one added to each count. A word that was never seen thus falls back
on the most frequent label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from core.maths.codelength import block_ends, online_code
from core.maths.statistics import sum_by_group
from core.studies.probes.edges.items import Items, Words, numbered, unseen
from core.studies.probes.trees.data import PartSizes
from core.studies.task_kit import Value, span, tick

if TYPE_CHECKING:
    from torch import Tensor

    from core.maths.classifier.design import Design

PENALTIES = (3_000.0, 1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0)  # of which development items choose
ROUGHLY = 1e-4  # nats per item that a step gains, of the fits that are made to choose
FARTHEST = 24  # words from either end of the sentence; greater distances are one class
WIDEST = 12  # words between a head and its dependent; greater distances are one class
Contexts = list[tuple[Hashable, ...]]


class Frame:
    """The items of a study in three parts, their words among all words, and sums over the items of
    each sentence."""

    def __init__(self, items: Items, words: Words, sizes: PartSizes) -> None:
        starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in words])])
        self.items = items
        self.rows = starts[items.sentence] + items.word
        self.with_heads = bool(len(items)) and bool((items.head >= 0).all())
        self.heads = starts[items.sentence] + items.head
        self.ends = np.searchsorted(items.sentence, np.cumsum(sizes)).tolist()  # of parts, in items
        self.training = self.ends[0]
        self.sizes = sizes
        self.classes = sorted(set(items.labels[: self.training]))
        self.labels = numbered(items.labels, self.classes)
        plain = [
            words[number][word].casefold()
            for number, word in zip(items.sentence, items.word, strict=True)
        ]
        self.unseen = unseen(plain, self.training)
        sentences = np.searchsorted(items.sentence, block_ends(sizes[0]), side="left").tolist()
        self.blocks = [end for end in dict.fromkeys(sentences) if end]

    def features(self, vectors: np.ndarray) -> Tensor:
        """The vector of each item's word, after that of its head where the target uses heads,
        standardised by the training items, from those of all words (word, layer, feature)."""
        from core.maths.classifier.fitting import standardised

        words = vectors[self.rows]
        joined = np.concatenate([vectors[self.heads], words], 2) if self.with_heads else words
        return standardised(joined, self.training)

    def by_test_sentence(self, values: np.ndarray) -> np.ndarray:
        """Sums over the items of each test sentence, (*set, sentence) float32."""
        place = self.items.sentence[self.ends[1] : self.ends[2]] - sum(self.sizes[:2])
        return sum_by_group(values, place, self.sizes[2]).astype(np.float32)

    def by_coded_sentence(self, values: np.ndarray) -> np.ndarray:
        """Sums over the items of each training sentence, (*set, sentence)."""
        place = self.items.sentence[: self.training]
        return sum_by_group(values, place, self.sizes[0]).astype(np.float32)

    def output(
        self,
        parts: Sequence[Value],
        layers: Sequence[int],
        notices: Sequence[str] = (),
        **more: Any,
    ) -> Value:
        """A task's value, of outputs for some of the layers each, in their order."""
        test = np.arange(self.ends[1], self.ends[2])
        return {
            **joined_layers(parts),
            "layers": np.array(layers),
            "items": self.by_test_sentence(np.ones(len(test))),
            "unseen": self.by_test_sentence(self.unseen[test]),
            "coded": self.by_coded_sentence(np.ones(self.training)),
            "classes": list(self.classes),
            "notices": list(notices),
            **more,
        }

    def scored(self, right: np.ndarray, bits: np.ndarray) -> Value:
        """Make a task's output of which development and test items were predicted, (layer, set,
        item), and of the bits that code the training items, of the same shape."""
        dev = self.ends[1] - self.training
        test, new = right[..., dev:], self.unseen[self.ends[1] :]
        return {
            "dev": right[..., :dev].mean(axis=-1).astype(np.float32),
            "correct": self.by_test_sentence(test),
            "unseen_correct": self.by_test_sentence(test & new),
            "bits": self.by_coded_sentence(bits),
        }


def joined_layers(parts: Sequence[Value]) -> Value:
    """Outputs for some layers after those for others; NaN for sets of labels that one lacks."""
    sets = max(part["dev"].shape[1] for part in parts)

    def filled(array: np.ndarray) -> np.ndarray:
        lacking = [(0, sets - size) for size in array.shape[1:2]]
        return np.pad(
            array, [(0, 0), *lacking, *[(0, 0)] * (array.ndim - 2)], constant_values=np.nan
        )

    return {name: np.concatenate([filled(part[name]) for part in parts]) for name in parts[0]}


def choose_penalties(
    features: Tensor, labels: Tensor, penalty: float, frame: Frame, design: Design | None = None
) -> tuple[Tensor, np.ndarray]:
    """Choose for each layer the penalty with which the real labels, the first set, are predicted
    best (of equal ones the largest), with the share of development items that are right, (layer,)
    each."""
    import torch

    from core.maths.classifier.design import Design
    from core.maths.classifier.fitting import fit_classifiers

    grid = (penalty,) if penalty else PENALTIES
    count, end, weights, shares = frame.training, frame.ends[1], None, []
    design = design or Design(features[:, :count])
    for tried in grid:  # from the largest, where a fit is quick, each from the one before
        weights = fit_classifiers(
            design, labels[:1, :count], len(frame.classes), tried,
            start=weights, tolerance=ROUGHLY, report=partial(tick, note=""),
        )  # fmt: skip
        guesses = torch.matmul(features[:, count:end], weights[:, 0]).argmax(dim=-1)
        shares.append((guesses == labels[0, count:end]).double().mean(dim=1).numpy())
    best = np.argmax(shares, axis=0)
    return torch.tensor(grid)[best], np.max(shares, axis=0)


def score_classifiers(
    features: Tensor, labels: Tensor, penalty: float | Tensor, frame: Frame
) -> Value:
    """Fit each layer and label set: online code of the training items, hits on the others. A
    penalty of 0 is chosen; a tensor has one for each layer."""
    import torch

    from core.maths.classifier.design import Design
    from core.maths.classifier.fitting import fit_classifiers, log_probabilities

    classes = len(frame.classes)
    whole = Design(features[:, : frame.training])
    if not isinstance(penalty, torch.Tensor):
        penalty = (
            torch.full((len(features),), penalty)
            if penalty
            else choose_penalties(features, labels, penalty, frame, whole)[0]
        )
    done = np.concatenate([[0], np.cumsum(frame.blocks)]) / max(1, sum(frame.blocks))

    def fit(count: int, before: Tensor | None) -> Tensor:
        number = frame.blocks.index(count)
        with span(float(done[number]), float(done[number + 1])):
            return fit_classifiers(
                whole if count == frame.training else features[:, :count],
                labels[:, :count],
                classes,
                penalty,
                start=before,
                report=partial(tick, note=""),
            )

    def code(weights: Tensor, start: int, end: int) -> np.ndarray:
        log_shares = log_probabilities(features[:, start:end], weights)
        index = labels[None, :, start:end, None].expand(len(log_shares), -1, -1, 1)
        return np.asarray(-log_shares.gather(3, index)[..., 0] / np.log(2.0))

    bits, weights = online_code(frame.blocks, classes, fit, code)
    bits = np.broadcast_to(bits, (len(features), len(labels), bits.shape[-1]))
    with torch.inference_mode():
        guesses = torch.matmul(features[:, None, frame.training :], weights).argmax(dim=-1)
    scored = frame.scored((guesses == labels[None, :, frame.training :]).numpy(), bits)
    return scored | {"penalties": penalty.numpy()}


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


def score_counts(contexts: Contexts, frame: Frame) -> Value:
    """Code and score with a table of counts, as one layer and one label set."""

    def fit(count: int, before: Counts | None) -> Counts:
        kinds = len(contexts[0]) if contexts else 0
        return (before or Counts(len(frame.classes), kinds)).add(contexts, frame.labels, count)

    def code(counts: Counts, start: int, end: int) -> np.ndarray:
        chances = counts.probabilities(contexts[start:end])
        return np.asarray(-np.log2(chances[np.arange(end - start), frame.labels[start:end]]))

    bits, counts = online_code(frame.blocks, len(frame.classes), fit, code)
    guesses = counts.probabilities(contexts[frame.training :]).argmax(axis=1)
    scored = frame.scored((guesses == frame.labels[frame.training :])[None, None], bits[None, None])
    return scored | {"penalties": np.full(1, np.nan)}


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
    return np.asarray(np.eye(most + 1, dtype=np.float32)[np.minimum(places, most)])
