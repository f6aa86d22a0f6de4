"""Dependency trees as arrays: distances, depths and edges from heads; a spanning tree from
distances.

A tree over the words of a sentence is written as heads, the way CoNLL-U does: word i (counted from
1) hangs under word `heads[i - 1]`, and the root has head 0. Edges are 0-based pairs (i, j) with i <
j.

Reference: Hewitt & Manning 2019, NAACL, sections 2 and 3 (tree distance, tree depth, minimum
spanning tree of predicted distances). Deviations: ties between equal distances are broken by linear
order (see `spanning_tree`), where the published code leaves them to the order of its sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int

from core.errors import ShapeError

Edges = list[tuple[int, int]]


def head_problem(heads: Sequence[int]) -> tuple[int, str] | None:
    """Find what keeps `heads` from being one tree: (0-based index of a word, reason); None for a
    tree."""
    n = len(heads)
    if n == 0:
        return 0, "there are no words"
    roots = []
    for i, head in enumerate(heads):
        if not 0 <= head <= n:
            return i, f"word {i + 1} has head {head}, but the sentence has {n} words"
        if head == 0:
            roots.append(i)
    if len(roots) > 1:
        return roots[
            1
        ], f"there are {len(roots)} roots (words {_numbers(roots)}), but only one is allowed"
    state = [0] * n  # 0 not seen, 1 on the path from the current word, 2 reaches the root
    for start in range(n):
        path, i = [], start
        while i >= 0 and state[i] == 0:
            state[i] = 1
            path.append(i)
            i = heads[i] - 1
        if i >= 0 and state[i] == 1:
            cycle = path[path.index(i) :]
            return i, "the heads form a cycle through word" + (
                f"s {_numbers(sorted(cycle))}" if len(cycle) > 1 else f" {i + 1}"
            )
        for j in path:
            state[j] = 2
    # Without a root, following heads must end in a cycle, which is reported above.
    return None


def _numbers(words: Sequence[int]) -> str:
    """List 1-based numbers of words, the first ten of them."""
    return ", ".join(str(i + 1) for i in words[:10]) + (", ..." if len(words) > 10 else "")


def validate_heads(heads: Sequence[int]) -> None:
    """Check that `heads` (1-based, 0 for the root) are one tree.

    Raises:
        ShapeError: For no words, a head out of range, no root, several roots or a cycle.
    """
    problem = head_problem(heads)
    if problem is not None:
        raise ShapeError(f"These heads are not a dependency tree: {problem[1]}.")


def tree_depths(heads: Sequence[int]) -> Int[np.ndarray, " word"]:
    """Count the edges between each word and the root; the root has depth 0.

    Raises:
        ShapeError: If `heads` are not one tree.
    """
    return cast(np.ndarray, (_ancestors(heads).sum(axis=1) - 1).astype(np.int64))


def tree_distances(heads: Sequence[int]) -> Int[np.ndarray, "word word"]:
    """Count the edges between every two words; symmetric, 0 on the diagonal.

    The distance of two words is the sum of their depths minus twice the depth of their lowest
    common ancestor; that depth is one less than the number of common ancestors, so one matrix
    product of ancestors gives all distances.

    Raises:
        ShapeError: If `heads` are not one tree.
    """
    table = _ancestors(heads)
    counts = table.sum(axis=1)
    return cast(np.ndarray, (counts[:, None] + counts - 2 * (table @ table.T)).astype(np.int64))


def spanning_tree(
    distances: Float[np.ndarray, "word word"], keep: Bool[np.ndarray, " word"] | None = None
) -> Edges:
    """Find the minimum spanning tree of one matrix of predicted distances; see `spanning_trees`.

    Args:
        distances: Symmetric up to rounding, finite; only order matters. The mean with the transpose
            is used.
        keep: Words to include (punctuation is left out this way); None for all.

    Returns:
        Sorted 0-based edges (i, j), i < j, one fewer than the words kept; empty for fewer than two.

    Raises:
        ShapeError: If the matrix is not square, `keep` does not fit, or a value is not finite.
    """
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            f"Distances must be a square matrix, one row per word; got shape {matrix.shape}."
        )
    inside = _mask(len(matrix), keep)
    if not np.isfinite(matrix[np.ix_(inside, inside)]).all():
        raise ShapeError("Distances must be finite, but some of them are NaN or infinite.")
    if not inside.any():
        return []
    return sorted(
        (int(i), int(j)) for i, j in spanning_trees(matrix[None], inside[None])[0] if i >= 0
    )


def spanning_trees(
    distances: Float[np.ndarray, "tree word word"], keep: Bool[np.ndarray, "tree word"]
) -> Int[np.ndarray, "tree edge two"]:
    """Find the minimum spanning trees over the kept words of many matrices of one size at once.

    Prim's algorithm on dense matrices. scipy's routine takes one matrix at a time, reads zero as a
    missing edge and leaves ties to its sort; here the edge between closer words wins, then the one
    farther left, so that a constant matrix gives the linear chain.

    Args:
        distances: Finite; the mean with the transpose is used.
        keep: Words to include.

    Returns:
        0-based edges (i, j), i < j, in no order; -1 where a tree has fewer kept words than others.
    """
    count, n = keep.shape
    matrix = (distances.astype(np.float64) + distances.astype(np.float64).swapaxes(1, 2)) / 2
    trees, place = np.arange(count), keep.cumsum(axis=1)  # only kept words count as between
    edges = np.full((count, max(n - 1, 0), 2), -1, dtype=np.int64)
    first = keep.argmax(axis=1)
    waiting = keep.copy()
    waiting[trees, first] = False
    best = matrix[trees, first].copy()
    link = np.broadcast_to(first[:, None], (count, n)).copy()
    for step in range(n - 1):
        growing = waiting.any(axis=1)
        if not growing.any():
            break
        linked = np.take_along_axis(place, link, axis=1)
        gap, left = np.abs(place - linked), np.minimum(place, linked)
        candidates = waiting & (best == np.where(waiting, best, np.inf).min(axis=1, keepdims=True))
        for rank in (gap, left):
            candidates &= rank == np.where(candidates, rank, n + 1).min(axis=1, keepdims=True)
        new = candidates.argmax(axis=1)
        parent = link[trees, new]
        pair = np.stack([np.minimum(new, parent), np.maximum(new, parent)], axis=1)
        edges[growing, step] = pair[growing]
        waiting[trees, new] = False
        row, gap_new = matrix[trees, new], np.abs(place - place[trees, new][:, None])
        nearer = (gap_new < gap) | ((gap_new == gap) & (new[:, None] < link))
        better = waiting & ((row < best) | ((row == best) & nearer))
        best = np.where(better, row, best)
        link = np.where(better, new[:, None], link)
    return edges


def tree_edges(heads: Sequence[int], keep: Bool[np.ndarray, " word"] | None = None) -> Edges:
    """List the sorted 0-based edges of a tree without those to left-out words (not reattached), as
    UUAS does.

    Raises:
        ShapeError: If `heads` are not one tree or `keep` does not fit.
    """
    validate_heads(heads)
    inside = _mask(len(heads), keep)
    pairs = ((min(i, h - 1), max(i, h - 1)) for i, h in enumerate(heads) if h > 0)
    return sorted((i, j) for i, j in pairs if inside[i] and inside[j])


def heads_from_edges(
    edges: Sequence[tuple[int, int]], root: int, n: int | None = None
) -> tuple[int, ...]:
    """Root a tree given as 0-based edges at the 0-based word `root`: 1-based heads, 0 for the root.

    Args:
        n: Words in the sentence; by default one more than the edges, as in a tree over all words.

    Raises:
        ShapeError: If the edges are not one tree over `n` words, or `root` is not among them.
    """
    count = len(edges) + 1 if n is None else n
    if not 0 <= root < count or len(edges) != count - 1:
        raise ShapeError(
            f"{len(edges)} edges from root {root} do not form a tree over {count} words."
        )
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for i, j in edges:
        if not (0 <= i < count and 0 <= j < count):
            raise ShapeError(f"Edge ({i}, {j}) is outside the {count} words of the sentence.")
        neighbours[i].append(j)
        neighbours[j].append(i)
    heads = [-1] * count
    heads[root], waiting = 0, [root]
    while waiting:
        i = waiting.pop()
        for j in neighbours[i]:
            if heads[j] == -1:
                heads[j] = i + 1
                waiting.append(j)
    if -1 in heads:
        raise ShapeError(
            f"The edges do not form one tree: word {heads.index(-1)} is not connected to the root."
        )
    return tuple(heads)


def _mask(n: int, keep: Bool[np.ndarray, " word"] | None) -> Bool[np.ndarray, " word"]:
    """Mark the words to include; None for all."""
    mask = np.ones(n, dtype=bool) if keep is None else np.asarray(keep, dtype=bool)
    if mask.shape != (n,):
        raise ShapeError(
            f"The mask of words to keep has shape {mask.shape}, but the sentence has {n} words."
        )
    return mask


def _ancestors(heads: Sequence[int]) -> Float[np.ndarray, "word word"]:
    """Mark with 1 where the second word is the first or its ancestor.

    Raises:
        ShapeError: If `heads` are not one tree.
    """
    validate_heads(heads)
    n = len(heads)
    above = np.eye(n, n + 1)  # the last column is above the root
    up = np.asarray(heads, dtype=np.int64) - 1
    reached = up
    while (reached >= 0).any():
        above[np.arange(n), reached] = 1.0
        reached = np.where(reached >= 0, up[reached], -1)
    return above[:, :n]
