"""Scores against slow references written from the paper and its published code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.statistics import ratio
from core.maths.structural.baselines import attachment, linear_chain, parsed_trees, random_trees
from core.maths.structural.scores import (
    Gold,
    correlate_rows,
    mean_by_length,
    score,
    score_depths,
    score_distances,
)
from core.maths.trees import spanning_tree, spanning_trees, tree_depths, tree_distances
from tests.core.studies.probes.planted import random_heads


def make_gold(count: int, seed: int = 0, shortest: int = 1, longest: int = 14) -> Gold:
    rng = np.random.default_rng(seed)
    heads = [random_heads(rng, shortest, longest) for _ in range(count)]
    keep = []
    for row in heads:
        mask = rng.random(len(row)) > 0.25
        mask[row.index(0)] = True  # a root is not punctuation
        keep.append(mask)
    return Gold(heads, [tree_distances(h) for h in heads], [tree_depths(h) for h in heads], keep)


def random_predictions(
    gold: Gold, layers: int, seed: int = 1
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    distances, depths = [], []
    for true, depth in zip(gold.distances, gold.depths, strict=True):
        noise = rng.normal(size=(layers, *true.shape))
        distances.append(true + noise + noise.swapaxes(1, 2))
        depths.append(depth + 2 * rng.normal(size=(layers, len(depth))))
    return distances, depths


def slow_edges(matrix: np.ndarray, keep: np.ndarray) -> set[tuple[int, int]]:
    """Kruskal with union-find, as in the published reporter."""
    n = len(matrix)
    pairs = sorted(
        (matrix[i, j], i, j) for i in range(n) for j in range(i + 1, n) if keep[i] and keep[j]
    )
    parent = list(range(n))

    def find(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    edges = set()
    for _, i, j in pairs:
        if find(i) != find(j):
            parent[find(i)] = find(j)
            edges.add((i, j))
    return edges


def slow_scores(
    distances: list[np.ndarray], depths: list[np.ndarray], gold: Gold, layer: int
) -> dict[str, float]:
    from scipy.stats import spearmanr

    hits = edges = 0
    by_length: dict[int, list[float]] = {}
    depth_by_length: dict[int, list[float]] = {}
    roots = []
    for i, heads in enumerate(gold.heads):
        n, keep = len(heads), gold.keep[i]
        true = {
            tuple(sorted((w, h - 1))) for w, h in enumerate(heads) if h and keep[w] and keep[h - 1]
        }
        hits += len(true & slow_edges(distances[i][layer], keep))
        edges += len(true)
        if n > 1:
            rows = [
                spearmanr(p, t).statistic
                for p, t in zip(distances[i][layer], gold.distances[i], strict=True)
            ]
            by_length.setdefault(n, []).extend(rows)
            depth_by_length.setdefault(n, []).append(
                spearmanr(depths[i][layer], gold.depths[i]).statistic
            )
        best = min((w for w in range(n) if keep[w]), key=lambda w: depths[i][layer][w])
        roots.append(heads[best] == 0)

    def over_lengths(values: dict[int, list[float]]) -> float:
        return float(np.mean([np.mean(values[n]) for n in range(5, 51) if n in values]))

    return {
        "uuas": hits / edges,
        "dspr": over_lengths(by_length),
        "nspr": over_lengths(depth_by_length),
        "root": float(np.mean(roots)),
    }


@pytest.mark.slow
def test_scores_equal_the_slow_reference() -> None:
    gold = make_gold(80)
    distances, depths = random_predictions(gold, layers=2)
    pairs, nodes = score_distances(distances, gold), score_depths(depths, gold)
    for layer in range(2):
        slow = slow_scores(distances, depths, gold, layer)
        for metric, value in slow.items():
            fast = score(pairs if metric in ("uuas", "dspr") else nodes, metric)[layer]
            assert fast == pytest.approx(value, abs=1e-6), metric


def test_gold_fed_in_scores_full_marks() -> None:
    gold = make_gold(60, seed=4)
    pairs = score_distances([d[None].astype(float) for d in gold.distances], gold)
    nodes = score_depths([d[None].astype(float) for d in gold.depths], gold)
    whole = Gold(gold.heads, gold.distances, gold.depths, [np.ones_like(k) for k in gold.keep])
    assert (
        score(score_distances([d[None].astype(float) for d in gold.distances], whole), "uuas")[0]
        == 1.0
    )
    for metric, scores in (("dspr", pairs), ("nspr", nodes), ("root", nodes)):
        assert score(scores, metric)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("ties", [False, True])
def test_many_trees_at_once_are_the_trees_one_by_one(ties: bool) -> None:
    rng = np.random.default_rng(7)
    for n in (1, 2, 3, 9):
        matrices = rng.integers(0, 3, (20, n, n)).astype(float) if ties else rng.random((20, n, n))
        keep = rng.random((20, n)) > 0.3
        for matrix, mask, edges in zip(matrices, keep, spanning_trees(matrices, keep), strict=True):
            assert sorted(map(tuple, edges[edges[:, 0] >= 0].tolist())) == spanning_tree(
                matrix, mask
            )


def test_correlation_equals_scipy_and_says_what_a_constant_is_worth() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(5)
    predicted, gold = rng.random((4, 9)), rng.integers(0, 4, (4, 9)).astype(float)
    for row, value in enumerate(correlate_rows(predicted, gold)):
        assert value == pytest.approx(spearmanr(predicted[row], gold[row]).statistic, abs=1e-12)
    assert correlate_rows(np.ones((1, 5)), np.arange(5.0)[None])[0] == 0.0
    assert np.isnan(correlate_rows(np.arange(5.0)[None], np.ones((1, 5)))[0])


def test_lengths_weigh_the_same_whatever_their_number_of_sentences() -> None:
    lengths, values = np.array([5, 5, 5, 6, 4, 51]), np.array([[0.0, 0.0, 0.0, 1.0, 9.0, 9.0]])
    assert mean_by_length(values, lengths)[0] == 0.5
    assert np.isnan(mean_by_length(values[:, 4:], lengths[4:])[0])


def without_first(gold: Gold) -> Gold:
    """The same trees with the first word of each sentence left out."""
    distances, depths, keep = (
        [values.copy() for values in field] for field in (gold.distances, gold.depths, gold.keep)
    )
    for square, row, kept in zip(distances, depths, keep, strict=True):
        square[0] = square[:, 0] = row[0] = -1
        kept[0] = False
    return Gold(gold.heads, distances, depths, keep)


def test_words_left_out_are_scored_as_if_they_were_not_there() -> None:
    """The slow way: the word's row and column are cut out of prediction and gold."""
    gold = make_gold(40, seed=3)
    distances, depths = random_predictions(gold, layers=2)
    pairs = score_distances(distances, without_first(gold))
    nodes = score_depths(depths, without_first(gold))
    whole = score_distances(distances, gold)
    assert pairs.dspr is not None
    assert nodes.nspr is not None
    assert nodes.root is not None
    for number, heads in enumerate(gold.heads):
        if len(heads) < 3:
            continue
        true, row = gold.distances[number][1:, 1:], gold.depths[number][1:]
        for layer in range(2):
            predicted = distances[number][layer][1:, 1:].astype(float)
            rows = [
                correlate_rows(mine[None], right.astype(float)[None])[0]
                for mine, right in zip(predicted, true, strict=True)
            ]
            given = [value for value in rows if np.isfinite(value)]
            expected = np.mean(given) if given else np.nan
            assert pairs.dspr[layer, number] == pytest.approx(expected, nan_ok=True)
            one = correlate_rows(depths[number][layer][None, 1:].astype(float), row[None] * 1.0)[0]
            assert nodes.nspr[layer, number] == pytest.approx(one, nan_ok=True)
        if heads[0] == 0:
            assert np.isnan(nodes.root[:, number]).all(), "the root is left out"
    assert sum(heads[0] == 0 for heads in gold.heads)
    assert pairs.edges.sum() < whole.edges.sum()


def test_weights_repeat_sentences() -> None:
    gold = make_gold(40, seed=6)
    distances, depths = random_predictions(gold, layers=3)
    pairs, nodes = score_distances(distances, gold), score_depths(depths, gold)
    rng = np.random.default_rng(0)
    weights = np.stack(
        [np.bincount(rng.integers(0, 40, 40), minlength=40) for _ in range(3)]
    ).astype(float)
    for draw in range(3):
        chosen = np.repeat(np.arange(40), weights[draw].astype(int))
        again = Gold(
            *(
                [field[i] for i in chosen]
                for field in (gold.heads, gold.distances, gold.depths, gold.keep)
            )
        )
        slow_pairs = score_distances([distances[i] for i in chosen], again)
        slow_nodes = score_depths([depths[i] for i in chosen], again)
        for metric, fast, slow in (
            ("uuas", pairs, slow_pairs),
            ("dspr", pairs, slow_pairs),
            ("nspr", nodes, slow_nodes),
            ("root", nodes, slow_nodes),
        ):
            assert np.allclose(score(fast, metric, weights)[draw], score(slow, metric), atol=1e-9)


def test_a_ratio_without_anything_under_it_is_nan_and_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ratio(np.zeros((1, 2)), np.zeros((1, 2)))[0])


def test_root_among_punctuation() -> None:
    one = Gold([(0,)], [np.zeros((1, 1), int)], [np.zeros(1, int)], [np.array([False])])
    assert score(score_depths([np.zeros((1, 1))], one), "root")[0] == 1.0
    assert score(linear_chain(one), "root")[0] == 0.0
    mark = Gold(
        [(0, 1)], [tree_distances((0, 1))], [tree_depths((0, 1))], [np.array([False, True])]
    )
    assert np.isnan(score(score_depths([np.array([[0.0, 1.0]])], mark), "root")[0])


def test_baselines_know_nothing_and_parses_are_scored_as_trees() -> None:
    chain = tuple(range(5))  # each word hangs from the one before it
    keep = np.ones(5, dtype=bool)
    gold = Gold([chain], [tree_distances(chain)], [tree_depths(chain)], [keep])
    scores = linear_chain(gold)
    for metric in ("uuas", "dspr", "nspr", "root"):
        assert score(scores, metric)[0] == pytest.approx(1.0)
    many = make_gold(300, seed=8, shortest=10, longest=10)
    assert score(random_trees(many, np.random.default_rng(0)), "uuas")[0] == pytest.approx(
        0.2, abs=0.06
    )
    assert score(parsed_trees(many.heads, many), "uuas")[0] == 1.0
    star = (0, 1, 1, 1, 1)
    parsed = parsed_trees([star], gold)
    assert score(parsed, "uuas")[0] == 0.25
    assert score(parsed, "root")[0] == 1.0
    hits, words = attachment([star], gold)
    assert (hits[0], words[0]) == (2.0, 5.0)
    with pytest.raises(ShapeError, match="one for each"):
        parsed_trees([], gold)


def test_predictions_that_do_not_fit_are_refused() -> None:
    gold = make_gold(2, shortest=4)
    distances, depths = random_predictions(gold, layers=1)
    with pytest.raises(ShapeError, match="one for each"):
        score_distances(distances[:1], gold)
    with pytest.raises(ShapeError, match="Sentence 1 has"):
        score_distances([d[:, :-1] for d in distances], gold)
    with pytest.raises(ShapeError, match="NaN or infinite"):
        score_depths([depths[0] * np.nan, depths[1]], gold)
    with pytest.raises(ShapeError, match="'uuas'"):
        score(score_depths(depths, gold), "uuas")


def test_sentences_of_5_to_50_words_count_and_no_others() -> None:
    """Hewitt & Manning, section 3.2: both ends take part, their neighbours outside do not."""
    lengths = np.array([4, 5, 50, 51])
    for counted, value in zip((False, True, True, False), np.eye(4), strict=True):
        mean = mean_by_length(value, lengths)
        assert mean == pytest.approx(0.5 if counted else 0.0)
    assert np.isnan(mean_by_length(np.ones(2), np.array([4, 51])))
