"""Trees against slow loops that anyone can read, on random trees and on the shapes that go
wrong."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.trees import (
    head_problem,
    heads_from_edges,
    spanning_tree,
    tree_depths,
    tree_distances,
    tree_edges,
    validate_heads,
)
from tests.core.random_trees import random_heads

BRIDGE = (2, 3, 0, 5, 3, 3)  # The bridge reopened on Monday .


def path_up(heads, i):
    path = [i]
    while heads[i]:
        i = heads[i] - 1
        path.append(i)
    return path


def slow_distance(heads, i, j):
    up_i, up_j = path_up(heads, i), path_up(heads, j)
    return min(
        a + b
        for a, b in itertools.product(range(len(up_i)), range(len(up_j)))
        if up_i[a] == up_j[b]
    )


def kruskal(distances):
    """Edges in the order (distance, words apart, left end), each taken if it joins two pieces."""
    n = len(distances)
    piece = list(range(n))
    tree = []
    pairs = itertools.combinations(range(n), 2)
    for i, j in sorted(pairs, key=lambda pair: (distances[pair], pair[1] - pair[0], pair[0])):
        if piece[i] != piece[j]:
            old, new = piece[j], piece[i]
            piece = [new if p == old else p for p in piece]
            tree.append((i, j))
    return sorted(tree)


def test_distances_and_depths_of_a_sentence_by_hand():
    assert tree_depths(BRIDGE).tolist() == [2, 1, 0, 2, 1, 1]
    distances = tree_distances(BRIDGE)
    assert distances[0].tolist() == [0, 1, 2, 4, 3, 3]
    assert np.array_equal(distances, distances.T)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 25, 60])
def test_distances_equal_the_slow_loop_on_random_trees(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        heads = random_heads(n, rng)
        expected = [[slow_distance(heads, i, j) for j in range(n)] for i in range(n)]
        assert tree_distances(heads).tolist() == expected
        assert tree_depths(heads).tolist() == [len(path_up(heads, i)) - 1 for i in range(n)]


def test_a_chain_of_many_words_does_not_recurse():
    heads = (*range(2, 2001), 0)
    assert tree_depths(heads)[0] == 1999
    assert tree_distances((*range(2, 401), 0))[0, -1] == 399


def test_distances_of_a_longer_sentence_take_no_more_steps_a_word():
    """Lines of ours that run: with a loop over pairs of words, four times the words would take
    sixteen times them."""

    def steps(n):
        heads, count = (0, *(1 for _ in range(n - 1))), 0  # flat, so that depth is the same

        def watch(frame, event, given):
            nonlocal count
            count += event == "line" and "core/maths/trees" in frame.f_code.co_filename
            return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            tree_distances(heads)
        finally:
            sys.settrace(before)
        return count

    assert steps(80) < 5 * steps(20)


@pytest.mark.parametrize(
    ("heads", "word", "reason"),
    [
        ((), 0, "words"),
        ((0, 0, 1), 1, "2 roots"),
        ((2, 3, 1), 0, "cycle"),
        ((0, 2), 1, "word 2"),
        ((0, 4, 2, 3), 1, "words 2, 3, 4"),
        ((0, 5), 1, "head 5"),
        ((0, -1), 1, "head -1"),
    ],
)
def test_what_is_no_tree_is_refused_and_says_why(heads, word, reason):
    problem = head_problem(heads)
    assert problem is not None
    assert problem[0] == word
    assert reason in problem[1]
    for function in (validate_heads, tree_depths, tree_distances, tree_edges):
        with pytest.raises(ShapeError, match="not a dependency tree"):
            function(heads)


def test_a_tree_has_no_problem():
    assert head_problem(BRIDGE) is None
    validate_heads((0,))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 30])
def test_spanning_tree_equals_kruskal(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        half = rng.random((n, n))
        distances = half + half.T
        assert spanning_tree(distances) == kruskal(distances)


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_spanning_tree_breaks_ties_the_same_way_as_kruskal(levels):
    rng = np.random.default_rng(levels)
    for n in (2, 5, 12, 20):
        half = rng.integers(0, levels, (n, n)).astype(float)
        distances = np.triu(half, 1) + np.triu(half, 1).T
        assert spanning_tree(distances) == kruskal(distances)


def test_zero_distances_are_distances_not_missing_edges():
    assert spanning_tree(np.zeros((5, 5))) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    distances = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    assert spanning_tree(distances) == [(0, 1), (1, 2)]


def test_negative_distances_are_ordered_like_any_others():
    distances = np.array([[0.0, 1.0, -2.0], [1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    assert spanning_tree(distances) == [(0, 2), (1, 2)]


def test_the_spanning_tree_of_a_trees_distances_is_the_tree():
    rng = np.random.default_rng(1)
    for n in (1, 2, 9, 31):
        heads = random_heads(n, rng)
        assert spanning_tree(tree_distances(heads).astype(float)) == tree_edges(heads)


def test_spanning_tree_over_kept_words_keeps_the_sentences_numbers():
    keep = np.array([True, False, True, True, False])
    rng = np.random.default_rng(3)
    half = rng.random((5, 5))
    distances = half + half.T
    small = kruskal(distances[np.ix_([0, 2, 3], [0, 2, 3])])
    assert spanning_tree(distances, keep) == [([0, 2, 3][i], [0, 2, 3][j]) for i, j in small]
    assert spanning_tree(distances, np.zeros(5, dtype=bool)) == []


def test_an_uneven_matrix_is_taken_with_its_transpose():
    rng = np.random.default_rng(4)
    distances = rng.random((8, 8))
    assert (
        spanning_tree(distances)
        == spanning_tree(distances.T)
        == kruskal((distances + distances.T) / 2)
    )


def test_what_is_no_distance_matrix_is_refused():
    with pytest.raises(ShapeError, match="square"):
        spanning_tree(np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="finite"):
        spanning_tree(np.array([[0.0, np.nan], [np.nan, 0.0]]))
    with pytest.raises(ShapeError, match="mask"):
        spanning_tree(np.zeros((2, 2)), np.ones(3, dtype=bool))


def test_edges_to_left_out_words_are_dropped():
    keep = np.array([True, True, True, True, True, False])
    assert tree_edges(BRIDGE) == [(0, 1), (1, 2), (2, 4), (2, 5), (3, 4)]
    assert tree_edges(BRIDGE, keep) == [(0, 1), (1, 2), (2, 4), (3, 4)]


def test_heads_and_edges_are_each_others_inverse():
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 17):
        heads = random_heads(n, rng)
        assert heads_from_edges(tree_edges(heads), heads.index(0)) == heads


@pytest.mark.parametrize(
    ("edges", "root", "n"),
    [
        ([(0, 1)], 2, None),
        ([(0, 1)], 0, 3),
        ([(0, 1), (0, 1), (2, 3)], 0, None),
        ([(0, 1), (1, 9)], 0, None),
    ],
)
def test_edges_that_are_no_tree_are_refused(edges, root, n):
    with pytest.raises(ShapeError):
        heads_from_edges(edges, root, n)
