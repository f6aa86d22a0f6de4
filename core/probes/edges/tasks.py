"""The pure tasks of edge probing: classifiers of one target on one model, and its baselines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from core.models import describe, load_tokenizer
from core.models.identity import as_identified
from core.probes.edges.codelength import block_ends, online_code
from core.probes.edges.items import Items, Tags, Words, control_labels, edge_items, numbered, unseen
from core.probes.edges.rivals import Contexts, Counts, place_features, word_contexts
from core.probes.trees.data import Trees
from core.probes.trees.spec import WINDOW_REACH
from core.probes.trees.tables import TAGS
from core.probes.trees.tasks import read_vectors
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.window import windows_of_sentences

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = 2**25  # bytes of features in memory at once; further layers are processed after
PLACE_PENALTY = 1.0  # of the classifier of positions, whose features are 0 or 1
MAJORITY, LOOKUP, PLACES = "majority", "word identity", "position only"

Sizes = tuple[int, int, int]


@pure("probes.edges", guard=as_identified)
def probe_edges(
    model: str,
    model_identity: str,
    target: str,
    trees: Trees,
    tags: Tags,
    sizes: Sizes,
    layers: tuple[int, ...],
    penalty: float,
    controls: int,
    seed: int,
) -> Value:
    """Fit a linear classifier to each layer, code the training labels, score the other sentences.

    Args:
        model: Reference.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        target: Of `items.TARGETS`.
        trees: Those of training, in the order in which their labels are coded, then development,
            then test.
        tags: Tags from which the labels are made.
        sizes: How many of the sentences are for training, development and test.
        layers: Layers to probe.
        penalty: Of the classifiers, see `classifier.fit_classifiers`; features have deviation 1.
        controls: Draws of control labels, fitted in addition to the real ones.
        seed: Of the control labels.

    Returns:
        `layers`; for real labels and then each draw of the control: `correct` and `unseen_correct`
        (layer, set, test sentence), `dev` (layer, set) shares, `bits` (layer, set, training
        sentence); `items` and `unseen` (test sentence,), `coded` (training sentence,), `classes`;
        `notices`.

    Raises:
        ModelError: If the model cannot be loaded.
    """
    import torch

    from core.probes.edges.classifier import standardised

    words = trees.words
    items = edge_items(target, trees.heads, trees.keep, tags)
    frame = _Frame(items, words, sizes)
    rows, heads = _rows(items, words)
    read = load_tokenizer(model).forms(words)
    types = [read[number][word] for number, word in zip(items.sentence, items.word, strict=True)]
    shares = (
        np.bincount(frame.labels[: frame.training], minlength=len(frame.classes)) / frame.training
    )
    drawn = [control_labels(types, shares.tolist(), target, seed, draw) for draw in range(controls)]
    labels = torch.from_numpy(np.stack([frame.labels, *drawn]))
    width = (describe(model).d_model * (1 if heads is None else 2) + 1) * 4 * len(items)
    together = max(1, LARGEST // width)
    parts: list[Value] = []
    notices: list[str] = []
    for first in range(0, len(layers), together):
        chosen = layers[first : first + together]
        low, high = first / len(layers), (first + len(chosen)) / len(layers)
        with span(low, low + 0.3 * (high - low)):
            vectors, said = read_vectors(model, words, chosen)
        notices += [notice for notice in said if notice not in notices]
        features = standardised(_item_vectors(vectors, rows, heads), frame.training)
        del vectors
        with span(low + 0.3 * (high - low), high):
            parts.append(_coded_and_scored(features, labels, penalty, frame))
    return _joined(parts) | frame.counted() | {"layers": np.array(layers), "notices": notices}


@pure("probes.edge_window", guard=as_identified)
def probe_window(
    model: str,
    model_identity: str,
    target: str,
    trees: Trees,
    tags: Tags,
    sizes: Sizes,
    penalty: float,
) -> Value:
    """Fit a linear classifier to the model's static window: what a score owes to no layer.

    Args: as in `probe_edges`.

    Returns:
        As `probe_edges`, without control labels, for one layer numbered 0.

    Raises:
        ModelError: If the model cannot be loaded.
    """
    with span(0.0, 0.3):
        vectors, notices = read_vectors(model, trees.words, (0,))
    lengths = np.array([len(sentence) for sentence in trees.words])
    window = windows_of_sentences(vectors[:, 0], lengths, WINDOW_REACH)
    with span(0.3, 1.0):
        scored = _fitted(
            window, edge_items(target, trees.heads, trees.keep, tags), trees, sizes, penalty
        )
    return scored | {"layers": np.arange(1), "notices": notices}


@pure("probes.edge_tags")
def score_tags(
    target: str, trees: Trees, tags: Tags, sizes: Sizes, classes: Tags, penalty: float
) -> Value:
    """Fit a linear classifier to parts of speech: what a score owes to word classes.

    Args: as in `probe_edges`; `classes` are the parts of speech of all words.

    Returns:
        As `probe_edges`, without control labels; its two "layers" are those of `trees.tables.TAGS`.
    """
    items = edge_items(target, trees.heads, trees.keep, tags)
    names, places = np.unique([name for row in classes for name in row], return_inverse=True)
    marks = np.eye(len(names), dtype=np.float32)[places]
    lengths = np.array([len(sentence) for sentence in trees.words])
    parts = []
    for number, reach in enumerate(TAGS):
        with span(number / len(TAGS), (number + 1) / len(TAGS)):
            window = windows_of_sentences(marks, lengths, reach)
            parts.append(_fitted(window, items, trees, sizes, penalty))
    counted = _Frame(items, trees.words, sizes).counted()
    joined = _joined([{name: part[name] for name in part if name not in counted} for part in parts])
    return joined | counted | {"layers": np.arange(len(TAGS)), "notices": []}


def _fitted(vectors: np.ndarray, items: Items, trees: Trees, sizes: Sizes, penalty: float) -> Value:
    """Code and score one linear classifier of word vectors (word, feature), without controls."""
    import torch

    from core.probes.edges.classifier import standardised

    frame = _Frame(items, trees.words, sizes)
    features = standardised(
        _item_vectors(vectors[:, None], *_rows(items, trees.words)), frame.training
    )
    labels = torch.from_numpy(frame.labels[None])
    return _coded_and_scored(features, labels, penalty, frame) | frame.counted()


def _rows(items: Items, words: Words) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of the items' words among all words, and of their heads where the target uses them."""
    starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in words])])
    pairs = bool(len(items)) and bool((items.head >= 0).all())
    return (
        starts[items.sentence] + items.word,
        starts[items.sentence] + items.head if pairs else None,
    )


@pure("probes.edge_rivals")
def score_rivals(target: str, trees: Trees, tags: Tags, sizes: Sizes) -> Value:
    """Code and score the majority, word-lookup and position-only baselines like a model.

    Args: as in `probe_edges`.

    Returns:
        As `probe_edges`, without control labels; its three "layers" are MAJORITY, LOOKUP and
        PLACES.
    """
    import torch

    items = edge_items(target, trees.heads, trees.keep, tags)
    frame = _Frame(items, trees.words, sizes)
    contexts = word_contexts(items, trees.words)
    nothing: Contexts = [()] * len(items)
    tables = [_counted(table, frame) for table in (nothing, contexts)]
    tick(0.3, "position-only baseline")
    features = place_features(items, np.array([len(sentence) for sentence in trees.words]))
    constant = np.ones((*features.shape[:2], 1), dtype=np.float32)
    wide = (
        torch.from_numpy(np.concatenate([features, constant], axis=2)).transpose(0, 1).contiguous()
    )
    with span(0.3, 1.0):
        places = _coded_and_scored(wide, torch.from_numpy(frame.labels[None]), PLACE_PENALTY, frame)
    return _joined([*tables, places]) | frame.counted() | {"layers": np.arange(3), "notices": []}


class _Frame:
    """The items of a study in three parts, and sums over the items of each sentence."""

    def __init__(self, items: Items, words: Words, sizes: Sizes) -> None:
        self.ends = np.searchsorted(items.sentence, np.cumsum(sizes)).tolist()  # of parts, in items
        self.training = self.ends[0]
        self.sizes = sizes
        self.sentence = items.sentence
        self.classes = sorted(set(items.labels[: self.training]))
        self.labels = numbered(items.labels, self.classes)
        plain = [
            words[number][word].casefold()
            for number, word in zip(items.sentence, items.word, strict=True)
        ]
        self.unseen = unseen(plain, self.training)
        sentences = np.searchsorted(items.sentence, block_ends(sizes[0]), side="left").tolist()
        self.blocks = [end for end in dict.fromkeys(sentences) if end]

    def counted(self) -> Value:
        """Numbers of items by sentence, and the names of the classes."""
        test = np.arange(self.ends[1], self.ends[2])
        return {
            "items": self.by_test_sentence(np.ones(len(test))),
            "unseen": self.by_test_sentence(self.unseen[test]),
            "coded": self.by_coded_sentence(np.ones(self.training)),
            "classes": list(self.classes),
        }

    def by_test_sentence(self, values: np.ndarray) -> np.ndarray:
        """Sums over the items of each test sentence, (*set, sentence)."""
        place = self.sentence[self.ends[1] : self.ends[2]] - sum(self.sizes[:2])
        return _sums(values, place, self.sizes[2])

    def by_coded_sentence(self, values: np.ndarray) -> np.ndarray:
        """Sums over the items of each training sentence, (*set, sentence)."""
        return _sums(values, self.sentence[: self.training], self.sizes[0])

    def scored(self, right: np.ndarray, bits: np.ndarray) -> Value:
        """A task's output, from hits (layer, set, item) after the training items and their bits."""
        dev = self.ends[1] - self.training
        test, new = right[..., dev:], self.unseen[self.ends[1] :]
        return {
            "dev": right[..., :dev].mean(axis=-1).astype(np.float32),
            "correct": self.by_test_sentence(test),
            "unseen_correct": self.by_test_sentence(test & new),
            "bits": self.by_coded_sentence(bits),
        }


def _item_vectors(vectors: np.ndarray, rows: np.ndarray, heads: np.ndarray | None) -> np.ndarray:
    """The vector of each item's word, after that of its head where the target uses heads."""
    words = vectors[rows]
    return words if heads is None else np.concatenate([vectors[heads], words], 2)


def _joined(parts: Sequence[Value]) -> Value:
    """Outputs for some layers after those for others."""
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}


def _coded_and_scored(features: Tensor, labels: Tensor, penalty: float, frame: _Frame) -> Value:
    """Fit each layer and label set: online code of the training items, hits on the others."""
    import torch

    from core.probes.edges.classifier import fit_classifiers, log_probabilities

    classes = len(frame.classes)
    done = np.concatenate([[0], np.cumsum(frame.blocks)]) / max(1, sum(frame.blocks))

    def fit(count: int, before: Tensor | None) -> Tensor:
        number = frame.blocks.index(count)
        with span(float(done[number]), float(done[number + 1])):
            return fit_classifiers(
                features[:, :count],
                labels[:, :count],
                classes,
                penalty,
                start=before,
                report=partial(tick, note=""),
            )

    def code(weights: Tensor, start: int, end: int) -> np.ndarray:
        log_shares = log_probabilities(features[:, start:end], weights)
        index = labels[None, :, start:end, None].expand(len(log_shares), -1, -1, 1)
        costs: np.ndarray = (-log_shares.gather(3, index)[..., 0] / np.log(2.0)).numpy()
        return costs

    bits, weights = online_code(frame.blocks, classes, fit, code)
    bits = np.broadcast_to(bits, (len(features), len(labels), bits.shape[-1]))
    with torch.inference_mode():
        guesses = torch.matmul(features[:, None, frame.training :], weights).argmax(dim=-1)
    return frame.scored((guesses == labels[None, :, frame.training :]).numpy(), bits)


def _counted(contexts: Contexts, frame: _Frame) -> Value:
    """Code and score with a table of counts, as one layer and one label set."""

    def fit(count: int, before: Counts | None) -> Counts:
        kinds = len(contexts[0]) if contexts else 0
        return (before or Counts(len(frame.classes), kinds)).add(contexts, frame.labels, count)

    def code(counts: Counts, start: int, end: int) -> np.ndarray:
        chances = counts.probabilities(contexts[start:end])
        costs: np.ndarray = -np.log2(chances[np.arange(end - start), frame.labels[start:end]])
        return costs

    bits, counts = online_code(frame.blocks, len(frame.classes), fit, code)
    guesses = counts.probabilities(contexts[frame.training :]).argmax(axis=1)
    return frame.scored((guesses == frame.labels[frame.training :])[None, None], bits[None, None])


def _sums(values: np.ndarray, place: np.ndarray, sentences: int) -> np.ndarray:
    """Sums over items by sentence, (*set, sentence) float32; items are in sentence order."""
    starts = np.searchsorted(place, np.arange(sentences + 1))
    totals = np.concatenate(
        [np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1, dtype=np.float64)], axis=-1
    )
    sums: np.ndarray = (totals[..., starts[1:]] - totals[..., starts[:-1]]).astype(np.float32)
    return sums
