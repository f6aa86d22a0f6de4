"""Predictions of trained probes for sentences: distances, depths, trees.

Reference: Hewitt & Manning 2019, NAACL, sections 2 and 4. Deviations: for predicted heads the
spanning tree of the words that are not punctuation is rooted at the word of least depth, and each
punctuation mark is attached to the nearest word in the probe's space; the published code draws
undirected trees only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from core.errors import ShapeError
from core.maths.structural.scores import candidates, group_by_length
from core.maths.trees import (
    Edges,
    heads_from_edges,
    spanning_tree,
    spanning_trees,
    tree_depths,
    tree_distances,
    tree_edges,
)

if TYPE_CHECKING:
    from torch import Tensor

DIGITS = 9  # after the point, of a predicted distance or depth


@dataclass(frozen=True)
class SentenceView:
    """One sentence, its parse and the predictions of a distance and a depth probe of one layer.

    Attributes:
        words: The sentence.
        heads: The parse, 1-based heads, 0 for the root.
        keep: Words that are not punctuation; trees are over these only.
        gold_distances: Edges between words in the parse.
        distances: Squared distances that the probe predicts.
        gold_depths: Edges from the root in the parse.
        depths: Squared norms that the depth probe predicts; None without one.
        agreed: Edges in both trees.
        missed: Edges only in the parse.
        invented: Edges only in the prediction.
        predicted_heads: The predicted tree, rooted at the shallowest word (or, without depths, at
            the parse's root).
        points: Words in the probe's subspace, first two principal components.
        explained: Share of the subspace's variance, within this sentence, along each of the two.
        labels: Predicted label of each word's edge to its head, "_" for none; empty unless the
            probe predicts heads and labels.
        gold_labels: The parse's labels, where the probe predicts them.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    keep: Bool[np.ndarray, " word"]
    gold_distances: Int[np.ndarray, "word word"]
    distances: Float[np.ndarray, "word word"]
    gold_depths: Int[np.ndarray, " word"]
    depths: Float[np.ndarray, " word"] | None
    agreed: Edges
    missed: Edges
    invented: Edges
    predicted_heads: tuple[int, ...]
    points: Float[np.ndarray, "word 2"]
    explained: Float[np.ndarray, " 2"]
    labels: tuple[str, ...] = ()
    gold_labels: tuple[str, ...] = ()

    @property
    def labelled(self) -> int:
        """Number of the parse's edges whose head and label are predicted."""
        return sum(
            self.predicted_heads[word] == self.heads[word] and self.labels[word] == label
            for word, label in enumerate(self.gold_labels)
            if self.keep[word] and self.heads[word] and self.keep[self.heads[word] - 1]
        )

    @property
    def adjacent(self) -> int:
        """Number of the parse's edges that linking adjacent words predicts, without punctuation."""
        words, edges = np.cumsum(self.keep), (*self.agreed, *self.missed)
        return sum(int(words[last] - words[first] == 1) for first, last in edges)

    @property
    def uuas(self) -> float:
        """Share of the parse's edges that are predicted; NaN where there are none."""
        return len(self.agreed) / edges if (edges := len(self.agreed + self.missed)) else np.nan


def predict_distances(
    maps: Float[np.ndarray, "probe rank d_model"],
    vectors: Float[np.ndarray, "item layer d_model"],
    lengths: Int[np.ndarray, " sentence"],
    rows: Sequence[int] | None = None,
) -> list[Float[np.ndarray, "probe word word"]]:
    """Squared distances in every sentence under every probe's map.

    Args:
        maps: One B per probe.
        vectors: Word vectors of all sentences, concatenated.
        lengths: Words in each sentence.
        rows: Index of the layer that each probe reads; by default 0, 1 and so on.

    Raises:
        ShapeError: If lengths do not sum to the items, or layers or d_model differ.

    Example:
        >>> vectors = np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[1.0, 2.0]]])
        >>> predict_distances(np.eye(2)[None], vectors, np.array([3]))[0].round(3).tolist()
        [[[0.0, 1.0, 5.0], [1.0, 0.0, 4.0], [5.0, 4.0, 0.0]]]
    """
    from core.maths.structural.probe import squared_distances

    return _predict(maps, vectors, lengths, rows, squared_distances)


def predict_depths(
    maps: Float[np.ndarray, "probe rank d_model"],
    vectors: Float[np.ndarray, "item layer d_model"],
    lengths: Int[np.ndarray, " sentence"],
    rows: Sequence[int] | None = None,
) -> list[Float[np.ndarray, "probe word"]]:
    """Squared norms of every sentence's words under every probe's map; arguments as for distances.

    Raises:
        ShapeError: If lengths do not sum to the items, or layers or d_model differ.

    Example:
        >>> vectors = np.array([[[0.0, 0.0]], [[1.0, 0.0]], [[1.0, 2.0]]])
        >>> predict_depths(np.eye(2)[None], vectors, np.array([3]))[0].round(3).tolist()
        [[0.0, 1.0, 5.0]]
    """
    from core.maths.structural.probe import squared_norms

    return _predict(maps, vectors, lengths, rows, squared_norms)


def project_sentences(
    maps: Float[np.ndarray, "probe rank d_model"],
    vectors: Float[np.ndarray, "item layer d_model"],
    lengths: Int[np.ndarray, " sentence"],
    rows: Sequence[int] | None = None,
) -> list[Float[np.ndarray, "probe word rank"]]:
    """Every sentence's words in every probe's space; arguments as for distances.

    Raises:
        ShapeError: If lengths do not sum to the items, or layers or d_model differ.

    Example:
        >>> vectors = np.array([[[0.0, 0.0]], [[1.0, 2.0]]])
        >>> project_sentences(np.array([[[0.0, 1.0]]]), vectors, np.array([2]))[0].tolist()
        [[[0.0], [2.0]]]
    """
    return _predict(maps, vectors, lengths, rows, lambda projected: projected)


def predicted_tree(
    distances: Float[np.ndarray, "word word"],
    keep: Bool[np.ndarray, " word"],
    root: int,
    edges: Edges | None = None,
) -> tuple[int, ...]:
    """Heads of the predicted tree with the 0-based root `root`; punctuation under its nearest word.

    Args:
        distances: Predicted distances.
        keep: Words that are not punctuation; without any, all words are in the tree.
        root: One of them.
        edges: Their spanning tree, if already computed.

    Raises:
        ShapeError: If shapes do not fit, or the root is punctuation.

    Example:
        >>> distances = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
        >>> predicted_tree(distances, np.ones(3, dtype=bool), root=1)
        (2, 0, 2)
    """
    inside = candidates(keep)
    if not inside[root]:
        raise ShapeError(f"Word {root + 1} is punctuation and cannot be the root.")
    tree = spanning_tree(distances, inside) if edges is None else list(edges)
    words = np.flatnonzero(inside)
    tree += [(int(words[distances[i, words].argmin()]), int(i)) for i in np.flatnonzero(~inside)]
    return heads_from_edges(tree, root, len(inside))


def predicted_trees(
    distances: Sequence[Float[np.ndarray, "layer word word"]],
    depths: Sequence[Float[np.ndarray, "layer word"]],
    keep: Sequence[Bool[np.ndarray, " word"]],
) -> Int[np.ndarray, "layer item"]:
    """Heads of many sentences' predicted trees at every layer, all words concatenated.

    Example:
        >>> distances = np.array([[[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]])
        >>> predicted_trees([distances], [np.array([[1.0, 0.0, 2.0]])], [np.array([True, True,
        ...     True])]).tolist()
        [[2, 0, 2]]
    """
    lengths = np.array([len(mask) for mask in keep])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    heads = np.zeros((len(distances[0]), int(starts[-1])), dtype=np.int16)
    for n, group in group_by_length(lengths):
        inside = np.stack([candidates(keep[i]) for i in group])
        for layer in range(len(heads)):
            edges = spanning_trees(np.stack([distances[i][layer] for i in group]), inside)
            for row, i in enumerate(group):
                arcs = [(int(a), int(b)) for a, b in edges[row] if a >= 0]
                root = shallowest(depths[i][layer], keep[i])
                heads[layer, starts[i] : starts[i] + n] = predicted_tree(
                    distances[i][layer], keep[i], root, arcs
                )
    return heads


def shallowest(depths: Float[np.ndarray, " word"], keep: Bool[np.ndarray, " word"]) -> int:
    """The 0-based root by the depths: the least deep word that is not punctuation.

    Example:
        >>> shallowest(np.array([1.0, 0.2, 0.0]), np.array([True, True, False]))
        1
    """
    return int(np.where(candidates(keep), depths, np.inf).argmin())


def view_sentence(
    words: Sequence[str],
    heads: Sequence[int],
    keep: Bool[np.ndarray, " word"],
    vectors: Float[np.ndarray, "word d_model"],
    distance_map: Float[np.ndarray, "rank d_model"],
    depth_map: Float[np.ndarray, "rank d_model"] | None,
) -> SentenceView:
    """The parse and the predictions of one sentence at one layer.

    Args:
        words: The sentence.
        heads: Its parse.
        keep: Words that are not punctuation.
        vectors: Word vectors of the layer that the probes read.
        distance_map: B of the distance probe.
        depth_map: B of the depth probe, if one was trained.

    Raises:
        ShapeError: If words, heads, mask and vectors differ in number, or heads form no tree.

    Example:
        >>> vectors = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
        >>> view = view_sentence(["a", "b", "c"], [2, 0, 1], np.array([True, True, True]), vectors,
        ...     np.eye(2), None)
        >>> view.agreed, view.missed, view.invented, view.uuas
        ([(0, 1)], [(0, 2)], [(1, 2)], 0.5)
    """
    if not len(words) == len(heads) == len(keep) == len(vectors):
        raise ShapeError("A sentence needs as many heads, mask values and vectors as words.")
    projected = _project(distance_map, vectors)  # as `predict_distances`, without torch
    distances = ((projected[:, None] - projected[None]) ** 2).sum(-1)
    depths = None if depth_map is None else (_project(depth_map, vectors) ** 2).sum(-1)
    gold_depths = tree_depths(heads)
    root = shallowest(gold_depths if depths is None else depths, keep)
    parse, predicted = set(tree_edges(heads, keep)), set(spanning_tree(distances, keep))
    points, explained = _plane(projected)
    return SentenceView(
        words=tuple(words),
        heads=tuple(heads),
        keep=keep,
        gold_distances=tree_distances(heads),
        distances=distances,
        gold_depths=gold_depths,
        depths=depths,
        agreed=sorted(parse & predicted),
        missed=sorted(parse - predicted),
        invented=sorted(predicted - parse),
        predicted_heads=predicted_tree(distances, keep, root),
        points=points,
        explained=explained,
    )


def _project(
    projection: Float[np.ndarray, "rank d_model"], vectors: Float[np.ndarray, "word d_model"]
) -> np.ndarray:
    if projection.shape[1] != vectors.shape[1]:
        raise ShapeError(
            f"The map is for vectors of {projection.shape[1]} dimensions; "
            f"these have {vectors.shape[1]}."
        )
    return vectors.astype(np.float64) @ projection.T.astype(np.float64)


def _plane(projected: Float[np.ndarray, "word rank"]) -> tuple[np.ndarray, np.ndarray]:
    """First two principal components of a sentence's words; signs fixed, missing components 0."""
    centred = projected - projected.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    points, explained = np.zeros((len(projected), 2)), np.zeros(2)
    count = min(2, len(values))
    points[:, :count] = left[:, :count] * values[:count]
    largest = np.abs(points).argmax(axis=0)
    points *= np.where(points[largest, [0, 1]] < 0, -1.0, 1.0)
    total = float((values**2).sum())
    if total > 0:
        explained[:count] = values[:count] ** 2 / total
    return points, explained


def _predict(
    maps: np.ndarray,
    vectors: np.ndarray,
    lengths: np.ndarray,
    rows: Sequence[int] | None,
    measure: Callable[[Tensor], Tensor],
) -> list[np.ndarray]:
    """Apply every probe's map to sentences of equal length together.

    In double precision, rounded: what is equal, such as the distances to two occurrences of a word
    in layer 0, stays equal on any processor, and gets one rank.
    """
    import torch

    from core.maths.structural.probe import project

    read = list(range(len(maps))) if rows is None else list(rows)
    if (
        len(vectors) != int(lengths.sum())
        or len(read) != len(maps)
        or max(read) >= vectors.shape[1]
    ):
        raise ShapeError(
            f"{len(maps)} maps and {int(lengths.sum())} words do not fit vectors "
            f"of shape {vectors.shape}."
        )
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    bank = torch.from_numpy(np.ascontiguousarray(maps, dtype=np.float64))
    results: list[np.ndarray] = [np.empty(0)] * len(lengths)
    for n, group in group_by_length(lengths):
        items = (starts[group][:, None] + np.arange(n)).ravel()
        of_items = torch.from_numpy(vectors[items].astype(np.float64).swapaxes(0, 1)[read])
        projected = project(bank, of_items).view(len(maps), len(group), n, maps.shape[1])
        values = measure(projected).round(decimals=DIGITS).float().numpy()
        for row, sentence in enumerate(group):
            results[sentence] = values[:, row]
    return results
