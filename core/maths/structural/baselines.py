"""Baselines of probe scores: trees that ignore the words, and a parser's trees.

The linear chain links adjacent words (the distance between words is their distance in the sentence,
the first word is the root). The random tree is the minimum spanning tree of random distances, with
a random word as root. A parser's trees are scored like a probe's, for comparison with scores on
parses.

Reference: Hewitt & Manning 2019, NAACL, section 3.3 (linear); random trees are added here.
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.errors import ShapeError
from core.maths.structural.scores import Gold, SentenceScores, score_depths, score_distances
from core.maths.trees import tree_depths, tree_distances, tree_edges


def linear_chain(gold: Gold) -> SentenceScores:
    """Scores of the linear chain, with the first word as root and one "layer".

    The chain is over the kept words; a sentence of punctuation alone has no first word and scores
    0.

    Example:
        >>> from core.maths.structural.scores import score
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0,
        ...     1]), np.full(3, True)
        >>> score(linear_chain(Gold([(2, 0, 2)], [apart], [depths], [keep])), "uuas").tolist()
        [1.0]
    """
    places = [np.arange(n, dtype=np.float64) for n in gold.lengths]
    scores = _both([np.abs(row[:, None] - row[None, :]) for row in places], places, gold)
    assert scores.root is not None
    offered = np.array([bool(keep.any()) for keep in gold.keep])
    return replace(scores, root=np.where(offered | np.isnan(scores.root), scores.root, 0.0))


def random_trees(gold: Gold, rng: np.random.Generator) -> SentenceScores:
    """Scores of random distances and random depths, one draw per sentence.

    Example:
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0,
        ...     1]), np.full(3, True)
        >>> drawn = random_trees(Gold([(2, 0, 2)], [apart], [depths], [keep]),
        ...     np.random.default_rng(0))
        >>> drawn.edges.tolist(), drawn.hits.shape
        ([2.0], (1, 1))
    """
    squares = [rng.random((n, n)) for n in gold.lengths]
    return _both(
        [square + square.T for square in squares], [rng.random(n) for n in gold.lengths], gold
    )


def parsed_trees(heads: Sequence[Sequence[int]], gold: Gold) -> SentenceScores:
    """Scores of given trees (1-based heads), such as a parser's, on gold trees.

    Edges and root are those of the trees, not of a spanning tree of their distances.

    Raises:
        ShapeError: If there is not one tree for each sentence, or heads form no tree.

    Example:
        >>> from core.maths.structural.scores import score
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0,
        ...     1]), np.full(3, True)
        >>> gold = Gold([(2, 0, 2)], [apart], [depths], [keep])
        >>> score(parsed_trees([(0, 1, 1)], gold), "uuas").tolist()
        [0.5]
    """
    if len(heads) != len(gold.heads):
        raise ShapeError(
            f"{len(heads)} parses for {len(gold.heads)} sentences; there must be one for each."
        )
    distances = [tree_distances(row).astype(np.float64) for row in heads]
    scores = _both(distances, [tree_depths(row).astype(np.float64) for row in heads], gold)
    shared = [
        len(set(tree_edges(row, keep)).intersection(tree_edges(true, keep)))
        for row, true, keep in zip(heads, gold.heads, gold.keep, strict=True)
    ]
    return replace(scores, hits=np.array(shared, dtype=np.float64)[None])


def attachment(heads: Sequence[Sequence[int]], gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Unlabelled attachment: kept words with the correct head, and kept words, by sentence.

    Example:
        >>> gold = Gold([(2, 0, 2)], [np.zeros((3, 3))], [np.zeros(3)], [np.ones(3, dtype=bool)])
        >>> [counts.tolist() for counts in attachment([(2, 0, 1)], gold)]
        [[2.0], [3.0]]
    """
    right = [
        np.asarray(row) == np.asarray(true) for row, true in zip(heads, gold.heads, strict=True)
    ]
    hits = [float((ok & keep).sum()) for ok, keep in zip(right, gold.keep, strict=True)]
    return np.array(hits), np.array([float(keep.sum()) for keep in gold.keep])


def _both(
    distances: Sequence[np.ndarray], depths: Sequence[np.ndarray], gold: Gold
) -> SentenceScores:
    """Distance and depth scores of one prediction per sentence."""
    shallow = score_depths([row[None] for row in depths], gold)
    return replace(
        score_distances([square[None] for square in distances], gold),
        nspr=shallow.nspr,
        root=shallow.root,
    )
