"""Tables of models on planted distances: neighbours, chance, predictions and pairs, by hand and by
loops."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.errors import SpecError
from core.maths.spectra.registry import Features
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import (
    Scored,
    build_distances,
    build_models,
    build_predictions,
    check_counts,
    score_neighbours,
)

LABELS = ["a"] * 3 + ["b"] * 3 + ["c"] * 3
SPEC = WeightsSpec(vector="projector", permutations=100)


def blocks(labels: list[str], seed: int = 0) -> np.ndarray:
    """Distances below 1 within a label, above 2 between labels."""
    rng = np.random.default_rng(seed)
    apart = np.array([[2.0 * (one != two) for two in labels] for one in labels])
    noise = np.triu(rng.uniform(0.1, 0.9, apart.shape), 1)
    return np.where(np.eye(len(labels), dtype=bool), 0, apart + noise + noise.T)


def members(count: int) -> list[Member]:
    return [
        Member(f"zoo:m{place}", "zoo:base", task=f"t{place}", data=f"d{place}")
        for place in range(count)
    ]


def scored(
    labels: list[str] = LABELS, spec: WeightsSpec = SPEC, aside: tuple[int, ...] = ()
) -> Scored:
    distances = {"projector": blocks(labels), "norms": blocks(labels[::-1], 1)}
    return score_neighbours(spec, labels, distances, aside)


def test_planted_groups_are_found_and_chance_is_that_of_other_models() -> None:
    result = scored()
    rows = result.vectors[result.vectors["vector"] == "projector"].set_index("k")
    assert result.k == 2  # the smallest group less the model itself
    assert rows.loc[[1, 2], "share"].tolist() == [1.0, 1.0]
    for k in range(3, 9):  # two of the k nearest share the label, more there are not
        assert rows.loc[k, "share"] == pytest.approx(2 / k)
    np.testing.assert_allclose(rows["chance"], (3 - 1) / (9 - 1))
    assert rows.loc[2, ["ari", "nmi"]].tolist() == [1.0, 1.0]
    assert (rows["p_value"] >= rows["smallest_p"]).all()
    assert rows.index.max() == len(LABELS) - 1


def test_what_is_asked_for_is_what_the_neighbours_are_of() -> None:
    result = scored(spec=replace(SPEC, vector="norms"))
    norms = result.vectors[result.vectors["vector"] == "norms"].reset_index(drop=True)
    assert result.neighbours["share"].tolist() == norms["share"].tolist()
    assert set(result.neighbours.columns) == {"k", "share", "chance", "p_value"}


def test_predictions_are_the_vote_of_the_nearest() -> None:
    distances, result = blocks(LABELS), scored()
    for place, guess in result.predictions.items():
        order = sorted(
            (other for other in range(9) if other != place),
            key=lambda other: distances[place, other],
        )
        assert guess.predicted == LABELS[place]
        assert guess.votes == 1.0
        assert guess.nearest == order[0]
        assert guess.distance == pytest.approx(distances[place, order[0]])


def test_models_without_a_label_or_set_aside_are_in_no_score_but_in_a_cluster() -> None:
    labels = ["", *LABELS, "c"]
    result = scored(labels, aside=(10,))
    assert set(result.predictions) == set(range(1, 10))
    assert len(result.clusters) == 11
    assert all(guess.nearest not in (0, 10) for guess in result.predictions.values())
    np.testing.assert_allclose(result.vectors["chance"], 2 / 8)
    assert len(result.notices) == 1


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        (["a", "b"], False),  # two models
        (["a", "a", "a"], False),  # one label
        (["a", "b", "c"], False),  # no two share one
        (["a", "a", "b"], True),
        (["", "", ""], False),
    ],
)
def test_what_cannot_be_scored_says_why_and_still_has_clusters(
    labels: list[str], scores: bool
) -> None:
    result = scored(labels)
    assert (result.k > 0) is scores
    assert bool(len(result.vectors)) is scores
    assert bool(result.predictions) is scores
    assert len(result.notices) == (not scores)
    assert len(result.clusters) == len(labels)
    assert {"k", "share", "chance", "p_value"} <= set(result.vectors.columns)


@pytest.mark.parametrize(
    ("neighbours", "clusters", "passes"), [(8, 9, True), (9, 9, False), (8, 10, False)]
)
def test_no_more_neighbours_than_others_and_no_more_clusters_than_models(
    neighbours: int, clusters: int, passes: bool
) -> None:
    spec = replace(SPEC, neighbours=neighbours, clusters=clusters)
    if passes:
        check_counts(spec, 9, 9)
        return
    with pytest.raises(SpecError):
        check_counts(spec, 9, 9)


def test_as_many_clusters_as_are_asked_for_else_one_a_label() -> None:
    assert len(set(scored().clusters)) == 3
    assert len(set(scored(spec=replace(SPEC, clusters=5)).clusters)) == 5
    clusters = scored().clusters
    for one, two in itertools.combinations(range(9), 2):
        assert (clusters[one] == clusters[two]) == (LABELS[one] == LABELS[two])


def features(norms: list[float]) -> Features:
    count = len(norms)
    return Features(
        families=("query",) * count,
        layers=tuple(range(count)),
        shapes=((2, 2),) * count,
        values=np.zeros((count, 2)),
        delta_norms=np.array(norms),
        weight_norms=np.array([3.0, 4.0]),
        left=(),
        right=(),
        sketches=(),
    )


def test_a_row_a_model_with_its_nearest_its_size_and_its_place() -> None:
    labels, models = ["a", "a", "b"], members(3)
    distances = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    result = score_neighbours(SPEC, labels, {"projector": distances})
    sizes = {
        "zoo:m0": features([0.3, 0.4]),
        "zoo:m1": features([0.0, 1.0]),
        "zoo:m2": features([0.0, 0.0]),
    }
    table = build_models(models, labels, sizes, distances, result, np.arange(9.0).reshape(3, 3))
    assert table["nearest"].tolist() == ["zoo:m1", "zoo:m0", "zoo:m1"]
    assert table["distance"].tolist() == [1.0, 1.0, 2.0]
    np.testing.assert_allclose(
        table["relative_delta"], [0.1, 0.2, 0.0]
    )  # over the base's norm of 5
    assert table["unchanged"].tolist() == [0, 1, 2]
    assert table[["x", "y", "z"]].to_numpy().ravel().tolist() == list(range(9))
    assert table["correct"].tolist() == [True, True, False]
    assert table["predicted"].tolist() == ["a", "a", "a"]

    guesses = build_predictions(models, labels, result).set_index("model")
    assert guesses["nearest"].to_dict() == table.set_index("model")["nearest"].to_dict()
    assert guesses["correct"].tolist() == [True, True, False]


def test_a_model_alone_has_no_neighbour() -> None:
    alone = score_neighbours(SPEC, ["a"], {"projector": np.zeros((1, 1))})
    table = build_models(
        members(1),
        ["a"],
        {"zoo:m0": features([1.0, 0.0])},
        np.zeros((1, 1)),
        alone,
        np.zeros((1, 3)),
    )
    assert table["nearest"].isna().all()
    assert table["distance"].isna().all()
    assert table["predicted"].isna().all()


def test_every_pair_once_with_each_distance() -> None:
    refs = [f"zoo:m{place}" for place in range(9)]
    distances = {"projector": blocks(LABELS), "norms": blocks(LABELS, 1)}
    table = build_distances(refs, distances)
    expected = [
        (refs[one], refs[two], distances["projector"][one, two], distances["norms"][one, two])
        for one, two in itertools.combinations(range(9), 2)
    ]
    assert list(table.itertuples(index=False, name=None)) == expected
