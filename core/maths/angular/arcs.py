"""Directed, labelled arcs: a spanning tree of distances whose edges get heads and labels by angle.

The edges are those of the minimum spanning tree of the distances, as for the structural probe. An
edge between words i and j fits a label with head i as well as its direction from i to j agrees with
that label's mean direction (cosine), and with head j as well as the opposite direction does. Of all
words the one becomes the root from which the edges, directed away from it, fit best in sum; each
edge then has the label that fits best.

Reference: Diego-Simón et al. 2024, NeurIPS. Deviations: edges are directed together, so that
the arcs are a tree with one root; edge by edge, a word could have two heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from core.maths.structural.scores import candidates, group_by_length
from core.maths.trees import spanning_trees

SCORED = ("hits", "directed", "labelled", "named", "oriented")
NO_LENGTH = 1e-6
"""Length of an edge below which it has no direction, as between two equal vectors."""


@dataclass(frozen=True)
class LabelledEdges:
    """Labelled edges of sentences, in the order of the sentences.

    Attributes:
        sentence: Number of the sentence.
        head: Place of the head in the sentence, from 0.
        dependent: Place of the dependent.
        labels: Number of the label; -1 for a label that no training edge has. One row for each set
            of labels.
    """

    sentence: Int[np.ndarray, " edge"]
    head: Int[np.ndarray, " edge"]
    dependent: Int[np.ndarray, " edge"]
    labels: Int[np.ndarray, "target edge"]

    def part(self, start: int, stop: int) -> LabelledEdges:
        """The edges of the sentences from `start` up to `stop`, which are numbered from 0."""
        rows = (self.sentence >= start) & (self.sentence < stop)
        places = (self.sentence[rows] - start, self.head[rows], self.dependent[rows])
        return LabelledEdges(*places, self.labels[:, rows])


@dataclass(frozen=True)
class ArcScores:
    """The contribution of each sentence to the scores.

    Attributes:
        edges: Number of gold edges.
        hits: Gold edges that are in the predicted tree, whichever word is the head.
        directed: Of these, those with the right head.
        labelled: Of these, those with the right label too.
        named: Gold edges whose label is right, given both words and which of them is the head.
        oriented: Gold edges whose head is right, given both words, by the angle alone.
    """

    edges: Float[np.ndarray, " sentence"]
    hits: Float[np.ndarray, "probe sentence"]
    directed: Float[np.ndarray, "probe sentence"]
    labelled: Float[np.ndarray, "probe sentence"]
    named: Float[np.ndarray, "probe sentence"]
    oriented: Float[np.ndarray, "probe sentence"]


@dataclass(frozen=True)
class Fits:
    """How well labels fit edges (*edge): the best cosine and its label, by which word is the head.

    Attributes:
        forward, backward: The best cosine with the first, and with the second word as the head.
        forward_label, backward_label: The label with that cosine.
    """

    forward: Float[np.ndarray, "*edge"]
    backward: Float[np.ndarray, "*edge"]
    forward_label: Int[np.ndarray, "*edge"]
    backward_label: Int[np.ndarray, "*edge"]


def fit_labels(
    edges: Float[np.ndarray, "*edge rank"], means: Float[np.ndarray, "label rank"]
) -> Fits:
    """Compare the directions of edges, second word minus first, with those of the labels.

    Example:
        >>> fits = fit_labels(np.array([[2.0, 0.0], [0.0, -1.0]]), np.eye(2))
        >>> fits.forward.tolist(), fits.backward.tolist(), fits.backward_label.tolist()
        ([1.0, 0.0], [-0.0, 1.0], [1, 1])
    """
    edges, means = edges.astype(np.float64), means.astype(np.float64)
    lengths = np.linalg.norm(edges, axis=-1, keepdims=True)
    cosines = edges @ means.T / np.maximum(lengths, NO_LENGTH)
    return Fits(
        cosines.max(axis=-1),
        -cosines.min(axis=-1),
        cosines.argmax(axis=-1),
        cosines.argmin(axis=-1),
    )


def direct_edges(
    links: Sequence[tuple[int, int]],
    forward: Float[np.ndarray, " edge"],
    backward: Float[np.ndarray, " edge"],
) -> tuple[int, Bool[np.ndarray, " edge"]]:
    """Choose the root from which the edges of a tree fit best in sum.

    Args:
        links: Edges of one tree, pairs of words; at least one.
        forward, backward: How well each fits with its first, and with its second word as the head.

    Returns:
        The root, of equal ones the one farthest left, and whether each edge's first word is the
        head.

    Example:
        >>> direct_edges([(0, 1), (1, 2)], np.array([0.1, 0.9]), np.array([0.8, 0.2]))
        (1, array([False,  True]))
    """
    around: dict[int, list[tuple[int, int]]] = {}
    for number, (i, j) in enumerate(links):
        around.setdefault(i, []).append((j, number))
        around.setdefault(j, []).append((i, number))
    first = links[0][0]
    above: dict[int, tuple[int, int]] = {}  # word -> the word before it, seen from `first`; edge
    order = [first]
    for word in order:
        for neighbour, number in around[word]:
            if word == first or neighbour != above[word][0]:
                above[neighbour] = (word, number)
                order.append(neighbour)
    ahead = np.array([j in above and above[j][1] == n for n, (_, j) in enumerate(links)])
    gain = np.where(ahead, backward - forward, forward - backward)  # of turning an edge round
    gains = {first: 0.0}
    for word in order[1:]:
        before, number = above[word]
        gains[word] = gains[before] + float(gain[number])
    root = min(gains, key=lambda word: (-gains[word], word))
    word = root
    while word != first:
        word, number = above[word]
        ahead[number] = not ahead[number]
    return root, ahead


def score_arcs(
    distances: Sequence[Float[np.ndarray, "probe word word"]],
    projected: Sequence[Float[np.ndarray, "probe word rank"]],
    means: Float[np.ndarray, "probe label rank"],
    targets: Sequence[int],
    edges: LabelledEdges,
    keep: Sequence[Bool[np.ndarray, " word"]],
) -> ArcScores:
    """Score the arcs that probes predict against gold edges.

    Args:
        distances: Squared distances in every sentence.
        projected: Its words in each probe's space.
        means: Directions of the labels, of `training.train_polar_bank`.
        targets: The set of labels against which each probe is scored.
        edges: The gold edges, between words that are kept.
        keep: Words that are in the trees.
    """
    probes, sentences = len(means), len(keep)
    counts = {name: np.zeros((probes, sentences)) for name in SCORED}
    first = np.searchsorted(edges.sentence, np.arange(sentences + 1))
    lengths = np.array([len(row) for row in keep])
    for _, group in group_by_length(lengths):
        inside = np.stack([candidates(keep[i]) for i in group])
        for probe in range(probes):
            links = spanning_trees(np.stack([distances[i][probe] for i in group]), inside)
            for row, sentence in enumerate(group):
                gold = slice(first[sentence], first[sentence + 1])
                scored = _score_sentence(
                    links[row][links[row][:, 0] >= 0],
                    projected[sentence][probe],
                    means[probe],
                    edges.head[gold],
                    edges.dependent[gold],
                    edges.labels[targets[probe], gold],
                )
                for name, value in zip(SCORED, scored, strict=True):
                    counts[name][probe, sentence] = value
    return ArcScores(np.diff(first).astype(np.float64), **counts)


def _score_sentence(
    links: Int[np.ndarray, "edge two"],
    words: Float[np.ndarray, "word rank"],
    means: Float[np.ndarray, "label rank"],
    heads: Int[np.ndarray, " gold"],
    dependents: Int[np.ndarray, " gold"],
    labels: Int[np.ndarray, " gold"],
) -> tuple[float, ...]:
    """The counts of SCORED for one sentence and probe."""
    if not len(heads):
        return (0.0,) * len(SCORED)
    predicted = (part.tolist() for part in label_links(links, words, means))
    arcs = {(head, dependent): label for head, dependent, label in zip(*predicted, strict=True)}
    gold = [*zip(heads.tolist(), dependents.tolist(), labels.tolist(), strict=True)]
    directed = sum((head, dependent) in arcs for head, dependent, _ in gold)
    turned = sum((dependent, head) in arcs for head, dependent, _ in gold)
    labelled = sum(arcs.get((head, dependent)) == label for head, dependent, label in gold)
    given = fit_labels(words[dependents] - words[heads], means)
    named = float((given.forward_label == labels).sum())
    return (
        directed + turned,
        directed,
        labelled,
        named,
        float((given.forward > given.backward).sum()),
    )


def label_links(
    links: Int[np.ndarray, "edge two"],
    words: Float[np.ndarray, "word rank"],
    means: Float[np.ndarray, "label rank"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heads, dependents and labels (edge,) of the edges of one predicted tree.

    Example:
        >>> words = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
        >>> [part.tolist() for part in label_links(np.array([[0, 1], [1, 2]]), words, np.eye(2))]
        [[0, 1], [1, 2], [0, 1]]
    """
    if not len(links):
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    fits = fit_labels(words[links[:, 1]] - words[links[:, 0]], means)
    pairs = [(int(i), int(j)) for i, j in links]
    _, ahead = direct_edges(pairs, fits.forward, fits.backward)
    heads = np.where(ahead, links[:, 0], links[:, 1])
    dependents = np.where(ahead, links[:, 1], links[:, 0])
    return heads, dependents, np.where(ahead, fits.forward_label, fits.backward_label)
