"""Arcs by angle: the best root against every root, and exact trees on planted vectors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.errors import ShapeError, SpecError
from core.maths.angular.arcs import LabelledEdges, direct_edges, fit_labels, score_arcs
from core.maths.angular.directions import AngularSums, one_hot, unit_vectors
from core.maths.angular.training import EdgeData, train_polar_bank
from core.maths.structural.predict import predict_distances, project_sentences
from core.maths.structural.training import Probe, train_bank
from core.maths.trees import heads_from_edges, tree_depths, tree_distances
from tests.core.studies.probes.planted import orthonormal_rows, random_heads

CLASSES, AXES = 4, 20
SHARE = 0.4  # of an edge's squared length that lies along its label's axis


def planted(
    count: int, rng: np.random.Generator
) -> tuple[list[tuple[int, ...]], LabelledEdges, np.ndarray, list[np.ndarray]]:
    """Trees with labels, and vectors in which every edge has its label's axis and one of its own.

    The edges are the shortest distances: an edge is 1 long, siblings of one label are 1.2
    apart, a word and its head's head 2 or more.
    """
    trees = [random_heads(rng, 5, 12) for _ in range(count)]
    vectors, rows = [], []
    for number, heads in enumerate(trees):
        points = np.zeros((len(heads), CLASSES + AXES))
        unused = iter(rng.permutation(AXES))
        for word in np.argsort(tree_depths(heads), kind="stable")[1:]:
            label, head = int(rng.integers(CLASSES)), heads[word] - 1
            points[word] = points[head]
            points[word, label] += np.sqrt(SHARE)
            points[word, CLASSES + next(unused)] += np.sqrt(1 - SHARE)
            rows.append((number, head, int(word), label))
        vectors.append(points)
    sentence, head, dependent, label = (np.array(column) for column in zip(*rows, strict=True))
    order = np.lexsort((dependent, sentence))
    edges = LabelledEdges(sentence[order], head[order], dependent[order], label[None, order])
    return trees, edges, np.concatenate(vectors), [np.full(len(row), True) for row in trees]


def scores_of(
    maps: np.ndarray,
    means: np.ndarray,
    vectors: np.ndarray,
    edges: LabelledEdges,
    keep: list[np.ndarray],
) -> dict[str, float]:
    lengths = np.array([len(row) for row in keep])
    scored = score_arcs(
        predict_distances(maps, vectors[:, None], lengths, [0] * len(maps)),
        project_sentences(maps, vectors[:, None], lengths, [0] * len(maps)),
        means, [0] * len(maps), edges, keep,
    )  # fmt: skip
    return {
        name: float(getattr(scored, name).sum() / scored.edges.sum() / len(maps))
        for name in ("hits", "directed", "labelled", "named", "oriented")
    }


def error_of(maps: np.ndarray, vectors: np.ndarray, edges: LabelledEdges) -> float:
    """The angular loss of all edges, mean over probes."""
    sizes = np.zeros(int(edges.sentence.max()) + 1, dtype=int)
    np.maximum.at(sizes, edges.sentence, np.maximum(edges.head, edges.dependent) + 1)
    starts = (np.cumsum(sizes) - sizes)[edges.sentence]
    differences = vectors[starts + edges.dependent] - vectors[starts + edges.head]
    units = unit_vectors(torch.from_numpy(differences @ maps.transpose(0, 2, 1)))
    return float(
        AngularSums.of(units, one_hot(torch.from_numpy(edges.labels), CLASSES)).loss.mean()
    )


def test_planted_labels_and_directions_are_exact() -> None:
    rng = np.random.default_rng(0)
    _, edges, vectors, keep = planted(40, rng)
    size = CLASSES + AXES
    means = np.eye(size)[None, :CLASSES]
    assert set(scores_of(np.eye(size)[None], means, vectors, edges, keep).values()) == {1.0}
    turned = scores_of(np.eye(size)[None], -means, vectors, edges, keep)
    assert turned["hits"] == 1.0
    assert turned["oriented"] == turned["labelled"] == 0.0
    swapped = scores_of(np.eye(size)[None], means[:, [1, 0, 2, 3]], vectors, edges, keep)
    known = float(np.isin(edges.labels[0], (2, 3)).mean())
    assert swapped["directed"] == 1.0
    assert swapped["labelled"] == swapped["named"] == pytest.approx(known)


def test_the_root_is_the_best_of_all_roots() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        heads = random_heads(rng, 2, 9)
        links = [(word, head - 1) for word, head in enumerate(heads) if head]
        links = [(j, i) if rng.random() < 0.5 else (i, j) for i, j in links]
        forward, backward = rng.normal(size=(2, len(links)))
        sums = []
        for root in range(len(heads)):
            rooted = heads_from_edges(links, root)
            sums.append(
                sum(
                    forward[n] if rooted[j] == i + 1 else backward[n]
                    for n, (i, j) in enumerate(links)
                )
            )
        root, ahead = direct_edges(links, forward, backward)
        assert root == int(np.argmax(sums))
        rooted = heads_from_edges(links, root)
        assert ahead.tolist() == [rooted[j] == i + 1 for i, j in links]


def test_an_edge_without_a_direction_fits_nothing() -> None:
    fits = fit_labels(np.zeros((1, 2)), np.eye(2))
    assert fits.forward.tolist() == [0.0]
    assert fits.backward.tolist() == [0.0]


@pytest.mark.slow
def test_a_trained_probe_recovers_what_was_planted() -> None:
    rng = np.random.default_rng(2)
    basis = orthonormal_rows(CLASSES + AXES, 32, rng)

    def data(count: int) -> tuple[EdgeData, np.ndarray, list[np.ndarray]]:
        trees, edges, points, keep = planted(count, rng)
        vectors = (points @ basis + 0.02 * rng.normal(size=(len(points), 32))).astype(np.float32)
        gold = [tree_distances(heads)[None] for heads in trees]
        return EdgeData(torch.from_numpy(vectors)[:, None], gold, edges, CLASSES), vectors, keep

    train, dev, (test, vectors, keep) = data(250)[0], data(40)[0], data(40)
    probes = [Probe(0, 24), Probe(0, 24, draw=1)]
    bank, means = train_polar_bank(train, dev, probes, weight=10.0, layers=[0], epochs=30)
    scored = scores_of(bank.maps, means, vectors, test.edges, keep)
    assert min(scored["named"], scored["oriented"]) > 0.98
    assert scored["labelled"] > scored["hits"] - 0.05
    plain, directions = train_polar_bank(train, dev, probes, weight=0.0, layers=[0], epochs=30)
    same = train_bank(train, dev, probes, layers=[0], epochs=30)
    np.testing.assert_allclose(plain.maps, same.maps)
    assert error_of(bank.maps, vectors, test.edges) < 0.8 * error_of(
        plain.maps, vectors, test.edges
    )
    without = scores_of(plain.maps, directions, vectors, test.edges, keep)
    assert without["hits"] > scored["hits"]  # distances and angles compete


def test_each_set_of_labels_trains_its_own_probe() -> None:
    rng = np.random.default_rng(3)
    trees, edges, points, _ = planted(30, rng)
    shuffled = rng.permutation(edges.labels[0])
    both = LabelledEdges(
        edges.sentence, edges.head, edges.dependent, np.stack([edges.labels[0], shuffled])
    )
    vectors = torch.from_numpy(points.astype(np.float32))[:, None]
    gold = [tree_distances(heads)[None] for heads in trees]
    probes = [Probe(0, 8, target=1), Probe(0, 8, target=0)]
    data = EdgeData(vectors, gold, both, CLASSES)
    bank, means = train_polar_bank(data, data, probes, weight=10.0, layers=[0], epochs=3)
    for place, target in enumerate((1, 0)):
        alone = EdgeData(
            vectors, gold, LabelledEdges(edges.sentence, edges.head, edges.dependent, both.labels[[target]]), CLASSES
        )  # fmt: skip
        one, mean = train_polar_bank(alone, alone, [Probe(0, 8)], weight=10.0, layers=[0], epochs=3)
        np.testing.assert_allclose(bank.maps[place], one.maps[0], atol=1e-5)
        np.testing.assert_allclose(means[place], mean[0], atol=1e-4)


def test_what_cannot_be_trained_is_refused() -> None:
    rng = np.random.default_rng(4)
    trees, edges, points, _ = planted(5, rng)
    vectors = torch.from_numpy(points.astype(np.float32))[:, None]
    gold = [tree_distances(heads)[None] for heads in trees]
    data = EdgeData(vectors, gold, edges, CLASSES)
    with pytest.raises(SpecError, match="0 or more"):
        train_polar_bank(data, data, [Probe(0, 4)], weight=-1.0, layers=[0])
    unknown = LabelledEdges(
        edges.sentence, edges.head, edges.dependent, np.full_like(edges.labels, -1)
    )
    with pytest.raises(ShapeError, match="no training edge"):
        train_polar_bank(
            EdgeData(vectors, gold, unknown, CLASSES), data, [Probe(0, 4)], weight=1.0, layers=[0]
        )
