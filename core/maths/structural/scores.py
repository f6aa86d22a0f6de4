"""Scores of predicted trees: UUAS, DSpr., NSpr. and root accuracy, by sentence, for resampling.

UUAS is the share of gold edges in the minimum spanning tree of the predicted distances, over all
sentences together, with punctuation left out of both trees. DSpr. is the rank correlation of every
word's row of distances with the true row, NSpr. that of a sentence's depths with the true ones;
both are averaged within each sentence length, then over lengths 5 to 50. Root accuracy is the share
of sentences whose shallowest word that is not punctuation is the root.

Reference: Hewitt & Manning 2019, NAACL, section 3.2, and the published code's `reporter.py`.
Deviations: a constant prediction has correlation 0 (in the published code NaN, which makes the mean
NaN); gold edges to punctuation are dropped, where the code computes a new spanning tree of the kept
words (a difference only where punctuation is a head); in a sentence of punctuation alone every word
may be the root, and a sentence of other words whose root is punctuation has no root score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from core.errors import ShapeError
from core.maths.statistics import ratio
from core.maths.trees import spanning_trees

SHORTEST, LONGEST = 5, 50
"""Sentence lengths over which DSpr. and NSpr. are averaged."""
STORED = {"uuas": "hits"}  # what metrics are made of that are not means of scores of their name


@dataclass(frozen=True)
class Gold:
    """Gold trees of a set of sentences.

    Attributes:
        heads: 1-based heads, 0 for the root.
        distances: Path lengths in edges, one matrix per sentence; -1 for words that are left out.
        depths: Edges from the root, one row per sentence; -1 for words that are left out.
        keep: Words that count as edges and roots: neither punctuation nor left out.
    """

    heads: Sequence[Sequence[int]]
    distances: Sequence[Int[np.ndarray, "word word"]]
    depths: Sequence[Int[np.ndarray, " word"]]
    keep: Sequence[Bool[np.ndarray, " word"]]

    @property
    def lengths(self) -> Int[np.ndarray, " sentence"]:
        """Words in each sentence, punctuation included."""
        return np.array([len(row) for row in self.heads], dtype=np.int64)

    def part(self, start: int, stop: int) -> Gold:
        """The sentences from `start` up to `stop`."""
        rows = slice(start, stop)
        return Gold(self.heads[rows], self.distances[rows], self.depths[rows], self.keep[rows])


@dataclass(frozen=True)
class SentenceScores:
    """The contribution of each sentence to the scores; NaN where there is none.

    Attributes:
        lengths: Words in each sentence.
        edges: Number of gold edges.
        hits: Number of gold edges predicted.
        dspr: Mean over the words of a sentence of the rank correlation of its distances.
        nspr: Rank correlation of depths.
        root: 1 where the root is predicted, 0 where not, NaN where the sentence has no root score.
    """

    lengths: Int[np.ndarray, " sentence"]
    edges: Float[np.ndarray, " sentence"]
    hits: Float[np.ndarray, "layer sentence"] | None = None
    dspr: Float[np.ndarray, "layer sentence"] | None = None
    nspr: Float[np.ndarray, "layer sentence"] | None = None
    root: Float[np.ndarray, "layer sentence"] | None = None

    @property
    def computed(self) -> dict[str, Float[np.ndarray, "layer sentence"]]:
        """The scores of these that were computed, by name."""
        scores = {name: getattr(self, name) for name in ("hits", "dspr", "nspr", "root")}
        return {name: values for name, values in scores.items() if values is not None}


def group_by_length(lengths: Int[np.ndarray, " sentence"]) -> Iterator[tuple[int, np.ndarray]]:
    """(length, indices of the sentences of that length), shortest first.

    Example:
        >>> [(length, places.tolist()) for length, places in group_by_length(np.array([3, 2, 3]))]
        [(2, [1]), (3, [0, 2])]
    """
    for length in np.unique(lengths):
        yield int(length), np.flatnonzero(lengths == length)


def correlate_rows(
    predicted: Float[np.ndarray, "*set item"], gold: Float[np.ndarray, "*some item"]
) -> Float[np.ndarray, "*set"]:
    """Spearman's rank correlation along the last axis of stacks of rows; ties get their mean rank.

    Args:
        predicted: Rows.
        gold: Rows that broadcast with them; ranked once for all predictions. Items below 0 are left
            out of both.

    Returns:
        Correlations; 0 where the prediction is constant, NaN where the gold is constant.

    Example:
        >>> correlate_rows(np.array([[1.0, 2.0, 4.0], [4.0, 2.0, 1.0]]), np.array([[1.0, 2.0,
        ...     3.0]])).round(2).tolist()
        [1.0, -1.0]
    """
    from scipy.stats import rankdata

    there = gold >= 0
    if not there.all():  # ranked last, where they change no other rank
        predicted, gold = (np.where(there, values, np.inf) for values in (predicted, gold))
    count = np.maximum(there.sum(axis=-1, keepdims=True), 1)
    rows = [rankdata(values, axis=-1).astype(np.float64) * there for values in (predicted, gold)]
    rows = [(row - row.sum(axis=-1, keepdims=True) / count) * there for row in rows]
    covariance = (rows[0] * rows[1]).sum(axis=-1)
    spread = [(row * row).sum(axis=-1) for row in rows]
    scale = np.sqrt(spread[0] * spread[1])
    result = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    return np.where(np.broadcast_to(spread[1], scale.shape) > 0, result, np.nan)


def score_distances(
    predicted: Sequence[Float[np.ndarray, "layer word word"]], gold: Gold
) -> SentenceScores:
    """UUAS counts and DSpr. of every sentence and layer.

    Args:
        predicted: Distances for each sentence, all layers; only their order matters.
        gold: The gold trees.

    Raises:
        ShapeError: If predictions and sentences differ in number or length, or a prediction is not
            finite.

    Example:
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0,
        ...     1]), np.full(3, True)
        >>> scored = score_distances([apart[None] * 1.0], Gold([(2, 0, 2)], [apart], [depths],
        ...     [keep]))
        >>> scored.hits.tolist(), scored.edges.tolist()
        ([[2.0]], [2.0])
    """
    lengths = _checked(predicted, gold, 3)
    layers = len(predicted[0])
    hits, dspr = np.zeros((layers, len(lengths))), np.full((layers, len(lengths)), np.nan)
    edges = np.zeros(len(lengths))
    for n, group in group_by_length(lengths):
        stack = np.stack([predicted[i] for i in group], axis=1).astype(np.float64)
        keep = np.stack([gold.keep[i] for i in group])
        true_edges = np.stack([_adjacency(gold.heads[i], gold.keep[i]) for i in group])
        edges[group] = true_edges.sum(axis=(1, 2))
        true = np.stack([gold.distances[i] for i in group]).astype(np.float64)
        if n > 1:
            rows = correlate_rows(stack, true)
            dspr[:, group] = ratio(rows, np.ones_like(rows))
        links = spanning_trees(stack.reshape(-1, n, n), np.tile(keep, (layers, 1)))
        tree, edge = np.nonzero(links[..., 0] >= 0)
        i, j = links[tree, edge].T
        right = true_edges[tree % len(group), i, j]
        hits[:, group] = np.bincount(tree, weights=right, minlength=layers * len(group)).reshape(
            layers, -1
        )
    return SentenceScores(lengths, edges, hits=hits, dspr=dspr)


def score_depths(
    predicted: Sequence[Float[np.ndarray, "layer word"]], gold: Gold
) -> SentenceScores:
    """NSpr. and root accuracy of every sentence and layer.

    Raises:
        ShapeError: If predictions and sentences differ in number or length, or a prediction is not
            finite.

    Example:
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0,
        ...     1]), np.full(3, True)
        >>> score_depths([np.array([[0.5, 0.1, 0.9]])], Gold([(2, 0, 2)], [apart], [depths],
        ...     [keep])).root.tolist()
        [[1.0]]
    """
    lengths = _checked(predicted, gold, 2)
    layers = len(predicted[0])
    nspr, root = np.full((layers, len(lengths)), np.nan), np.full((layers, len(lengths)), np.nan)
    for n, group in group_by_length(lengths):
        stack = np.stack([predicted[i] for i in group], axis=1).astype(np.float64)
        true = np.stack([gold.depths[i] for i in group]).astype(np.float64)
        keep = np.stack([candidates(gold.keep[i]) for i in group])
        if n > 1:
            nspr[:, group] = correlate_rows(stack, true)
        guess = np.where(keep, stack, np.inf).argmin(axis=2)
        possible = (keep & (true == 0)).any(axis=1)  # the root, unless it was left out
        root[:, group] = np.where(possible, guess == (true == 0).argmax(axis=1), np.nan)
    return SentenceScores(lengths, np.zeros(len(lengths)), nspr=nspr, root=root)


def candidates(keep: Bool[np.ndarray, " word"]) -> Bool[np.ndarray, " word"]:
    """Words that may be the root: those that are kept, or all where none is.

    Example:
        >>> candidates(np.array([True, False])).tolist(), candidates(np.array([False,
        ...     False])).tolist()
        ([True, False], [True, True])
    """
    return keep if keep.any() else np.ones_like(keep)


def mean_by_length(
    values: Float[np.ndarray, "*set sentence"],
    lengths: Int[np.ndarray, " sentence"],
    weights: Float[np.ndarray, "draw sentence"] | None = None,
) -> Float[np.ndarray, ...]:
    """Average within each length from 5 to 50, then over the lengths that occur.

    Args:
        values: One per sentence; NaN is ignored.
        lengths: Words in each sentence.
        weights: Count of each sentence in each resample, to score many resamples at once.

    Returns:
        One value per set, or (draw, *set) with weights; NaN where no sentence is between 5 and 50
        words long.

    Example:
        >>> float(mean_by_length(np.array([1.0, 0.0, 0.5]), np.array([5, 5, 9])))
        0.5
    """
    each, means = np.ones_like(values), []
    for length in range(SHORTEST, LONGEST + 1):
        of = lengths == length
        if of.any():
            counts = None if weights is None else weights[:, of]
            means.append(ratio(values[..., of], each[..., of], counts))
    if not means:
        return np.full_like(ratio(values, each, weights), np.nan)
    seen, total = np.isfinite(means).sum(axis=0), np.nansum(means, axis=0)
    return np.asarray(np.divide(total, seen, out=np.full_like(total, np.nan), where=seen > 0))


def score(
    scores: SentenceScores, metric: str, weights: Float[np.ndarray, "draw sentence"] | None = None
) -> np.ndarray:
    """One metric for each layer (or draw and layer) from the contributions of the sentences.

    Args:
        metric: "uuas", "dspr", "nspr" or "root"; UUAS and root accuracy as shares of 1.

    Raises:
        ShapeError: If the scores lack that metric.

    Example:
        >>> score(SentenceScores(np.array([3, 4]), np.array([2.0, 3.0]), hits=np.array([[2.0,
        ...     1.0]])), "uuas").tolist()
        [0.6]
    """
    values = scores.computed.get(STORED.get(metric, metric))
    if values is None:
        raise ShapeError(f"These scores lack {metric!r}; metrics are uuas, dspr, nspr and root.")
    if metric == "uuas":
        return ratio(values, np.broadcast_to(scores.edges, values.shape), weights)
    if metric == "root":
        return ratio(values, np.ones_like(values), weights)
    return mean_by_length(values, scores.lengths, weights)


def _adjacency(
    heads: Sequence[int], keep: Bool[np.ndarray, " word"]
) -> Bool[np.ndarray, "word word"]:
    """Adjacency matrix (upper triangle) of the tree's edges between kept words."""
    edges = np.zeros((len(heads), len(heads)), dtype=bool)
    child = np.flatnonzero(np.asarray(heads) > 0)
    head = np.asarray(heads, dtype=np.int64)[child] - 1
    edges[np.minimum(child, head), np.maximum(child, head)] = keep[child] & keep[head]
    return edges


def _checked(
    predicted: Sequence[np.ndarray], gold: Gold, dimensions: int
) -> Int[np.ndarray, " sentence"]:
    """Lengths of the sentences, after checking that the predictions fit them."""
    lengths = gold.lengths
    if len(predicted) != len(lengths) or len(lengths) == 0:
        raise ShapeError(
            f"{len(predicted)} predictions for {len(lengths)} sentences; "
            "there must be one for each."
        )
    for number, (values, n) in enumerate(zip(predicted, lengths, strict=True)):
        if values.ndim != dimensions or values.shape[1:] != (n,) * (dimensions - 1):
            raise ShapeError(
                f"Sentence {number + 1} has {n} words; its prediction has shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ShapeError(
                f"The prediction for sentence {number + 1} has NaN or infinite values."
            )
    return lengths
