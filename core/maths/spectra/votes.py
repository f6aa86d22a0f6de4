"""What do nearest neighbours vote for, and how often are such votes right?

A model's k nearest neighbours vote for their labels; in a tie, the label of the nearest wins.
Neighbours at equal distance share the remaining votes.

Reference: Good 2005 (exact permutation tests). Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.spectra.neighbours import (
    EQUAL,
    arrangements,
    check_labels,
    neighbour_weights,
    share_places,
)
from core.maths.statistics import permutation_p

TIE = 1e-6  # of a vote: what the place of a neighbour counts beside it


@dataclass(frozen=True)
class Prediction:
    """The label that a model's neighbours vote for.

    Attributes:
        predicted: Label with the most votes among the k nearest; in a tie, that of the nearest.
        votes: Its share of the k votes.
        nearest: Index of the nearest other model.
        distance: Distance to it.
    """

    predicted: str
    votes: float
    nearest: int
    distance: float


@dataclass(frozen=True)
class Vote:
    """How many models the vote of their nearest neighbours names right.

    Attributes:
        right: Models whose label is the one that `predict_labels` predicts.
        expected: Their mean number under permuted labels.
        p_value: Of the permutations, those that reach as many; exact if all arrangements are tried.
    """

    right: int
    expected: float
    p_value: float


def count_votes(
    distances: Float[ndarray, "model model"],
    labels: Sequence[str],
    k: int,
    permutations: int,
    rng: np.random.Generator,
) -> Vote:
    """Count the models that the vote of their k nearest neighbours names right, and compare the
    number with that under permuted labels.

    Args:
        distances: Symmetric; the diagonal is ignored.
        labels: One per model.
        k: Neighbours that vote; in a tie, the label of the nearest wins.
        permutations: As for `calc_neighbour_shares`.

    Raises:
        ShapeError: As `calc_neighbour_shares`.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> vote = count_votes(apart, ["a", "a", "b", "b"], 1, 1000, np.random.default_rng(0))
        >>> vote.right, round(vote.expected, 2), round(vote.p_value, 2)
        (4, 1.33, 0.33)
    """
    from scipy.stats import rankdata

    check_labels(labels)
    predicted = [guess.predicted for guess in predict_labels(distances, labels, k)]
    right = sum(guess == label for guess, label in zip(predicted, labels, strict=True))
    groups, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    weights = neighbour_weights(distances, k)[k - 1]
    # One more place near the front outweighs all places behind it: ties go to the nearest label.
    apart = np.where(np.eye(len(codes), dtype=bool), np.inf, distances)
    ranks = rankdata(apart, method="min", axis=1) - 1
    weights = weights * (1.0 + TIE * 0.5 ** np.minimum(ranks, 1000.0))
    counts = []
    for drawn in arrangements(codes, permutations, rng):
        votes = np.stack([weights @ (drawn == group).T for group in range(len(groups))])
        counts.append((drawn == votes.argmax(0).T).sum(1))
    permuted = np.concatenate(counts).astype(float)
    # what was found is an arrangement, too; without it a mean over all of few is too low
    expected = float(np.append(permuted, right).mean())
    return Vote(right, expected, permutation_p(right - EQUAL, permuted))


def predict_labels(
    distances: Float[ndarray, "model model"], labels: Sequence[str], k: int
) -> list[Prediction]:
    """Predict each model's label from its k nearest neighbours.

    Raises:
        ShapeError: As `neighbour_weights`, or if the number of labels differs.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> [prediction.predicted for prediction in predict_labels(apart, ["a", "a", "b", "b"], 1)]
        ['a', 'a', 'b', 'b']
    """
    if len(labels) != len(distances):
        raise ShapeError(f"{len(distances)} models need as many labels, got {len(labels)}.")
    weights = neighbour_weights(distances, k)[k - 1]
    return _vote(weights, distances, labels, k)


def predict_outsider(away: Float[ndarray, " model"], labels: Sequence[str], k: int) -> Prediction:
    """Predict the label of a model that has none from the k nearest that have one.

    Args:
        away: Its distance to each labelled model.
        labels: One per labelled model, of which there are at least k.

    Raises:
        ShapeError: If the number of labels differs, or k is out of range.

    Example:
        >>> predict_outsider(np.array([1.0, 2.0, 9.0]), ["a", "a", "b"], 2).predicted
        'a'
    """
    if len(labels) != len(away) or not 1 <= k <= len(away):
        raise ShapeError(
            f"{len(away)} models need as many labels and 1 to {len(away)} neighbours, "
            f"got {len(labels)} labels and k = {k}."
        )
    return _elect(share_places(away, k), away, labels, k)


@dataclass(frozen=True)
class VoteRate:
    """How often votes of one share are right, leaving each labelled model out in turn.

    Attributes:
        judged: Labelled models whose vote has this share.
        right: Those of them whose label the vote names.
        shuffled: The same share with shuffled labels, over all shuffles; NaN if none has the share.
    """

    judged: int
    right: int
    shuffled: float


def rate_votes(
    distances: Float[ndarray, "model model"],
    labels: Sequence[str],
    k: int,
    votes: float,
    shuffles: int,
    rng: np.random.Generator,
) -> VoteRate:
    """Count how often a vote with this share of the k nearest names a labelled model's label.

    Raises:
        ShapeError: As `predict_labels`.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> rate_votes(apart, ["a", "a", "b", "b"], 1, 1.0, 50, np.random.default_rng(0)).right
        4
    """
    weights = neighbour_weights(distances, k)[k - 1]

    def count(names: Sequence[str]) -> tuple[int, int]:
        guesses = zip(names, _vote(weights, distances, names, k), strict=True)
        equal = ((name, guess) for name, guess in guesses if abs(guess.votes - votes) <= EQUAL)
        hits = [name == guess.predicted for name, guess in equal]
        return len(hits), sum(hits)

    judged, right = count(labels)
    drawn = np.array([count(rng.permutation(labels).tolist()) for _ in range(shuffles)])
    of, hits = drawn.sum(0) if shuffles else (0, 0)
    return VoteRate(judged, right, float(hits / of) if of else float("nan"))


def _vote(weights: ndarray, distances: ndarray, labels: Sequence[str], k: int) -> list[Prediction]:
    """Let the neighbours of each model vote, without the model itself."""
    predictions = []
    for model in range(len(labels)):
        away = distances[model].astype(float)
        away[model] = np.inf  # a model is not its own neighbour
        predictions.append(_elect(weights[model], away, labels, k))
    return predictions


def _elect(
    places: Float[ndarray, " other"], away: Float[ndarray, " other"], labels: Sequence[str], k: int
) -> Prediction:
    """Elect the label with the most of the k places; in a tie, that of the nearest."""
    votes: dict[str, float] = {}
    near: dict[str, float] = {}
    for label, place, distance in zip(labels, places.tolist(), away.tolist(), strict=True):
        votes[label] = votes.get(label, 0.0) + place
        near[label] = min(near.get(label, np.inf), distance)
    best = min(votes, key=lambda label: (-round(votes[label], 9), near[label], label))
    nearest = int(np.argmin(away))
    return Prediction(best, votes[best] / k, nearest, float(away[nearest]))
