"""Counts of arcs by length, against a loop over words and against UUAS."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.structural.arcs import ADJACENT, ARCS, BY_LENGTH, FAR, chain_heads, count_arcs
from core.maths.structural.baselines import linear_chain
from core.maths.structural.predict import predicted_trees
from core.maths.structural.scores import Gold, score_distances
from core.maths.trees import tree_depths, tree_distances
from tests.core.studies.probes.planted import random_heads

LAYERS = 3


@pytest.fixture
def gold() -> Gold:
    rng = np.random.default_rng(7)
    heads = [random_heads(rng, 2, 14) for _ in range(25)]
    keep = [rng.random(len(row)) < 0.8 for row in heads]
    keep[0] = np.zeros(len(heads[0]), dtype=bool)  # a sentence of punctuation alone
    return Gold(
        heads, [tree_distances(row) for row in heads], [tree_depths(row) for row in heads], keep
    )


def test_arcs_are_those_of_a_loop_over_words(gold: Gold) -> None:
    rng = np.random.default_rng(8)
    trees = [[random_heads(rng, n, n) for n in gold.lengths] for _ in range(LAYERS)]
    hits, edges = count_arcs(np.array([np.concatenate(rows) for rows in trees]), gold)
    slow_hits, slow_edges = np.zeros_like(hits), np.zeros_like(edges)
    for sentence, (heads, keep) in enumerate(zip(gold.heads, gold.keep, strict=True)):
        for word, head in enumerate(heads, start=1):
            if head == 0 or not (keep[word - 1] and keep[head - 1]):
                continue
            length = abs(word - head)
            kinds = [min(length, 4) - 1] + ([ARCS.index(FAR)] if length > 1 else [])
            slow_edges[kinds, sentence] += 1
            for layer in range(LAYERS):
                tree = trees[layer][sentence]
                slow_hits[kinds, layer, sentence] += (
                    word == tree[head - 1] or head == tree[word - 1]
                )
    np.testing.assert_array_equal(edges, slow_edges)
    np.testing.assert_array_equal(hits, slow_hits)
    assert hits.sum() > 0


def test_arcs_of_all_lengths_together_are_those_that_uuas_counts(gold: Gold) -> None:
    rng = np.random.default_rng(9)
    squares = [rng.random((LAYERS, n, n)) for n in gold.lengths]
    distances = [square + square.swapaxes(1, 2) for square in squares]
    depths = [rng.random((LAYERS, n)) for n in gold.lengths]
    scores = score_distances(distances, gold)
    hits, edges = count_arcs(predicted_trees(distances, depths, gold.keep), gold)
    np.testing.assert_array_equal(hits[: len(BY_LENGTH)].sum(axis=0), scores.hits)
    np.testing.assert_array_equal(edges[: len(BY_LENGTH)].sum(axis=0), scores.edges)
    adjacent, far = ARCS.index(ADJACENT), ARCS.index(FAR)
    np.testing.assert_array_equal(hits[adjacent] + hits[far], scores.hits)


def test_the_chain_is_the_linear_chain(gold: Gold) -> None:
    hits, edges = count_arcs(chain_heads(gold.keep), gold)
    np.testing.assert_array_equal(hits[: len(BY_LENGTH)].sum(axis=0), linear_chain(gold).hits)
    np.testing.assert_array_equal(hits[0, 0], edges[0])  # it links all adjacent words


def test_heads_of_other_sentences_are_refused(gold: Gold) -> None:
    with pytest.raises(ShapeError, match="words do not fit"):
        count_arcs(np.zeros((1, 3), dtype=int), gold)
