"""Tables of models: agreement of labels, neighbours and clusters; models, predictions, pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from core.errors import SpecError
from core.maths.spectra.clustering import chance_information, cluster_models, score_clusters
from core.maths.spectra.forests import nearest_of
from core.maths.spectra.neighbours import (
    Prediction,
    attainable_shares,
    calc_neighbour_shares,
    count_votes,
    predict_labels,
)
from core.maths.spectra.registry import Features, relative_size
from core.studies.weights.activations import every_vector
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.notice_text import describe_unscored, said
from core.studies.weights.clusters.spec import WeightsSpec

MOST_NEIGHBOURS = 10
VOTES = ("vector", "k", "right", "models", "expected", "p_value")
NORMS = "norms"
INFORMATION_DRAWS = 200


@dataclass(frozen=True)
class Scored:
    """How labels, neighbours and clusters agree.

    Attributes:
        k: Neighbours used by headline and predictions; 0 where nothing can be scored.
        neighbours: For the chosen vector: k, share, chance, p_value.
        vectors: For every vector and k: the same, with the smallest p-value that these labels could
            reach, the band of permuted labels and the scores of the clusters.
        clusters: Cluster of each model by the chosen vector, shape (model,); -1 for an outlier.
        predictions: Prediction of each labelled model, by its place among the models.
        notices: What could not be scored and why.
        votes: For the chosen vector and for norms: VOTES.
    """

    k: int
    neighbours: pd.DataFrame
    vectors: pd.DataFrame
    clusters: ndarray
    predictions: Mapping[int, Prediction]
    notices: tuple[str, ...]
    votes: pd.DataFrame


def score_neighbours(
    spec: WeightsSpec,
    labels: Sequence[str],
    distances: Mapping[str, ndarray],
    aside: Collection[int] = (),
) -> Scored:
    """Score the neighbours of every vector, and find clusters and predictions of the chosen one.
    Models without a label, and those at the places `aside`, are in clusters but are not scored.
    Raises SpecError as `check_counts`."""
    places = [place for place, label in enumerate(labels) if label and place not in aside]
    labelled = [labels[place] for place in places]
    check_counts(spec, len(labelled), len(labels))
    clusters = _cluster(spec, distances[spec.vector], len(set(labelled)))
    columns = ["k", "share", "chance", "p_value"]
    if reason := describe_unscored(labelled):
        empty = pd.DataFrame(columns=["vector", "gauge_safe", *columns])
        no_votes = pd.DataFrame(columns=list(VOTES))
        notices = (reason,) if len(labels) > 1 else ()  # one model has no neighbours
        return Scored(0, empty[columns], empty, clusters, {}, notices, no_votes)
    compared = len(labels) - len(aside)
    unlabelled = compared - len(labelled)
    most, sizes = min(MOST_NEIGHBOURS, len(labelled) - 1), map(labelled.count, set(labelled))
    k = spec.neighbours or max(1, min(size for size in sizes if size > 1) - 1)
    vectors = pd.concat(
        [
            _shares(spec, vector, matrix, places, labelled, max(most, k))
            for vector, matrix in distances.items()
        ],
        ignore_index=True,
    )
    neighbours = vectors.loc[vectors["vector"] == spec.vector, columns].reset_index(drop=True)
    predictions = _predict(distances[spec.vector][np.ix_(places, places)], labelled, places, k)
    votes = _votes(spec, labelled, distances, places, k)
    notices = (said("unlabelled", count=unlabelled, models=compared),) if unlabelled else ()
    return Scored(k, neighbours, vectors, clusters, predictions, notices, votes)


def _shares(
    spec: WeightsSpec,
    vector: str,
    matrix: ndarray,
    places: Sequence[int],
    labelled: Sequence[str],
    most: int,
) -> pd.DataFrame:
    """The neighbours of one vector by k, up to `most`, and how its clusters agree with labels."""
    rng = np.random.default_rng(spec.seed)
    inner = matrix[np.ix_(places, places)]
    shares = calc_neighbour_shares(inner, labelled, most, spec.permutations, rng)
    assigned = _cluster(spec, matrix, len(set(labelled)))[places].tolist()
    agreement, information = score_clusters(labelled, assigned)
    return pd.DataFrame(
        {
            "vector": vector,
            "gauge_safe": every_vector()[vector].gauge_safe,
            "k": shares.k,
            "share": shares.share,
            "chance": shares.chance,
            "attainable": attainable_shares(labelled, most),
            "p_value": shares.p_value,
            "smallest_p": shares.smallest_p,
            "null_low": shares.low,
            "null_high": shares.high,
            "ari": agreement,
            "nmi": information,
            "nmi_chance": chance_information(labelled, assigned, INFORMATION_DRAWS, rng),
        }
    )


def _predict(
    distances: ndarray, labels: Sequence[str], places: Sequence[int], k: int
) -> dict[int, Prediction]:
    """Predict the label of each labelled model, by its place among all models."""
    return {
        place: Prediction(guess.predicted, guess.votes, places[guess.nearest], guess.distance)
        for place, guess in zip(places, predict_labels(distances, labels, k), strict=True)
    }


def _votes(
    spec: WeightsSpec,
    labels: Sequence[str],
    distances: Mapping[str, ndarray],
    places: Sequence[int],
    k: int,
) -> pd.DataFrame:
    """Count the labels that the vote names right, by the chosen vector and by norms: VOTES."""
    rows = []
    for vector in (name for name in dict.fromkeys((spec.vector, NORMS)) if name in distances):
        rng, among = np.random.default_rng(spec.seed), distances[vector][np.ix_(places, places)]
        vote = count_votes(among, labels, k, spec.permutations, rng)
        rows.append((vector, k, vote.right, len(labels), vote.expected, vote.p_value))
    return pd.DataFrame(rows, columns=list(VOTES))


def check_counts(spec: WeightsSpec, labelled: int, models: int) -> None:
    """Raise SpecError if more neighbours are asked for than a labelled model has, or more clusters
    than there are models, with the largest number that can be asked for."""
    if spec.neighbours and spec.neighbours > labelled - 1:
        most = max(labelled - 1, 0)
        raise SpecError(
            f"{spec.neighbours} neighbours are too many: {labelled} models have a label, "
            f"so each has {most} others. Choose up to {most}, or 0 for the default."
        )
    if spec.clusters > models:
        raise SpecError(
            f"{spec.clusters} clusters are too many for {models} models. Choose up to {models}."
        )


def build_models(
    members: Sequence[Member],
    labels: Sequence[str],
    features: Mapping[str, Features],
    distances: Float[ndarray, "model model"],
    scored: Scored,
    points: Float[ndarray, "model axis"],
) -> pd.DataFrame:
    """Build the main table: label, cluster, nearest model, relative update and place of each model.

    `unchanged` counts the matrices that are identical to the base's.
    """
    predicted = {place: guess.predicted for place, guess in scored.predictions.items()}
    single, nearest = len(members) == 1, nearest_of(distances)
    return pd.DataFrame(
        {
            "model": [member.ref for member in members],
            "label": labels,
            "task": [member.task for member in members],
            "data": [member.data for member in members],
            "data_from": [member.data_from for member in members],
            "base": [member.base for member in members],
            "cluster": scored.clusters,
            "nearest": None if single else [members[place].ref for place in nearest],
            "distance": np.nan if single else distances[range(len(members)), nearest],
            "predicted": [predicted.get(place) for place in range(len(members))],
            "correct": [
                predicted[place] == label if place in predicted else None
                for place, label in enumerate(labels)
            ],
            "relative_delta": [relative_size(features[member.ref]) for member in members],
            "unchanged": [(features[member.ref].delta_norms == 0).sum() for member in members],
            "dose": [member.dose for member in members],
            "frozen": [member.frozen for member in members],
            "x": points[:, 0],
            "y": points[:, 1],
            "z": points[:, 2],
        }
    )


def build_predictions(
    members: Sequence[Member], labels: Sequence[str], scored: Scored
) -> pd.DataFrame:
    """Build the table of what the neighbours of each labelled model predict."""
    columns = ["model", "label", "predicted", "votes", "correct", "nearest", "distance"]
    rows = [
        (
            members[place].ref,
            labels[place],
            guess.predicted,
            guess.votes,
            guess.predicted == labels[place],
            members[guess.nearest].ref,
            guess.distance,
        )
        for place, guess in scored.predictions.items()
    ]
    return pd.DataFrame(rows, columns=columns)


def build_distances(refs: Sequence[str], distances: Mapping[str, ndarray]) -> pd.DataFrame:
    """Build the table of distances: a row per pair of models, a column per vector."""
    first, second = np.triu_indices(len(refs), 1)
    names = np.asarray(refs, dtype=object)
    columns: dict[str, Any] = {"model": names[first], "other": names[second]}
    return pd.DataFrame(
        columns | {vector: matrix[first, second] for vector, matrix in distances.items()}
    )


def _cluster(spec: WeightsSpec, distances: ndarray, labels: int) -> ndarray:
    models = len(distances)
    if models < 2:
        return np.zeros(models, dtype=int)
    return cluster_models(distances, spec.method, spec.clusters or min(max(labels, 2), models))
