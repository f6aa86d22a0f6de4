"""What a score has to beat: trees that know nothing of the sentence, and trees that a parser drew.

The linear chain joins each word to the next (the distance between words is how far apart they stand, the first
word the root); the random tree is the minimum spanning tree of random distances, with a random word as root.
A parser's own trees are scored like a probe's, so that a score measured against parses can be read beside it.

Reference: Hewitt & Manning 2019, NAACL, section 3.3 (linear); random trees are added here. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.errors import ShapeError
from core.probes.structural.scores import Gold, SentenceScores, score_depths, score_distances
from core.text.trees import tree_depths, tree_distances


def linear_chain(gold: Gold) -> SentenceScores:
    """Scores of the linear chain, first word as root, each with one "layer".

    The chain runs over the kept words; a sentence of punctuation alone has no first word to offer and misses.

    Example:
        >>> from core.probes.structural.scores import score
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0, 1]), np.full(3, True)
        >>> score(linear_chain(Gold([(2, 0, 2)], [apart], [depths], [keep])), "uuas").tolist()
        [1.0]
    """
    places = [np.arange(n, dtype=np.float64) for n in gold.lengths]
    scores = _both([np.abs(row[:, None] - row[None, :]) for row in places], places, gold)
    assert scores.root is not None
    offered = np.array([bool(keep.any()) for keep in gold.keep])
    return replace(scores, root=np.where(offered | np.isnan(scores.root), scores.root, 0.0))


def random_trees(gold: Gold, rng: np.random.Generator) -> SentenceScores:
    """Scores of random distances and random depths, one draw a sentence.

    Example:
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0, 1]), np.full(3, True)
        >>> drawn = random_trees(Gold([(2, 0, 2)], [apart], [depths], [keep]), np.random.default_rng(0))
        >>> drawn.edges.tolist(), drawn.hits.shape
        ([2.0], (1, 1))
    """
    squares = [rng.random((n, n)) for n in gold.lengths]
    return _both([square + square.T for square in squares], [rng.random(n) for n in gold.lengths], gold)


def parsed_trees(heads: Sequence[Sequence[int]], gold: Gold) -> SentenceScores:
    """Scores of whole trees (1-based heads), such as a parser's, against gold.

    Edges are taken from the trees themselves, not spanned from their distances. The root is the parser's.

    Raises:
        ShapeError: If there is not one tree for each sentence, or heads are no tree.

    Example:
        >>> from core.probes.structural.scores import score
        >>> apart, depths, keep = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([1, 0, 1]), np.full(3, True)
        >>> gold = Gold([(2, 0, 2)], [apart], [depths], [keep])
        >>> score(parsed_trees([(0, 1, 1)], gold), "uuas").tolist()
        [0.5]
    """
    if len(heads) != len(gold.heads):
        raise ShapeError(f"{len(heads)} parses for {len(gold.heads)} sentences; there must be one for each.")
    distances = [tree_distances(row).astype(np.float64) for row in heads]
    scores = _both(distances, [tree_depths(row).astype(np.float64) for row in heads], gold)
    shared = [_shared_edges(*trees) for trees in zip(heads, gold.heads, gold.keep, strict=True)]
    return replace(scores, hits=np.array(shared, dtype=np.float64)[None])


def attachment(heads: Sequence[Sequence[int]], gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Unlabelled attachment: kept words with the right head, and kept words, of each sentence.

    Example:
        >>> gold = Gold([(2, 0, 2)], [np.zeros((3, 3))], [np.zeros(3)], [np.ones(3, dtype=bool)])
        >>> [counts.tolist() for counts in attachment([(2, 0, 1)], gold)]
        [[2.0], [3.0]]
    """
    right = [np.asarray(row) == np.asarray(true) for row, true in zip(heads, gold.heads, strict=True)]
    hits = [float((ok & keep).sum()) for ok, keep in zip(right, gold.keep, strict=True)]
    return np.array(hits), np.array([float(keep.sum()) for keep in gold.keep])


def _both(distances: Sequence[np.ndarray], depths: Sequence[np.ndarray], gold: Gold) -> SentenceScores:
    """Distance and depth scores of one prediction a sentence, together."""
    shallow = score_depths([row[None] for row in depths], gold)
    return replace(score_distances([square[None] for square in distances], gold), nspr=shallow.nspr, root=shallow.root)


def _shared_edges(heads: Sequence[int], gold: Sequence[int], keep: np.ndarray) -> int:
    """Edges between kept words that both trees have, whichever way they point."""

    def edges(row: Sequence[int]) -> set[frozenset[int]]:
        pairs = [(i, h - 1) for i, h in enumerate(row) if h > 0]
        return {frozenset(pair) for pair in pairs if keep[pair[0]] and keep[pair[1]]}

    return len(edges(heads) & edges(gold))
