"""Do nearest neighbours share a label more often than chance?

For each k: the share of a model's k nearest neighbours that have its label, averaged over models.
Under random labels this is (m - 1) / (n - 1) for a model in a group of m among n, hence (m - 1) /
(Gm - 1) for G equal groups, not 1 / G: a model is not its own neighbour. The p-value comes from
permuting the labels: all arrangements if there are few, otherwise random ones. With few models no
arrangement is rare and no p-value can be small, so the smallest possible one is given with each.

Reference: Phipson & Smyth 2010 (the 1 in a permutation p-value); Good 2005 (exact permutation
tests).
Deviations: neighbours at equal distance share the remaining places, so the input's order is
irrelevant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.statistics import permutation_p

LEAST_MODELS, LEAST_LABELS = 3, 2  # that allow a score
BATCH = 256  # permutations computed together
MOST_EXACT = 10_000  # arrangements of the labels up to which each is tried
TIE = 1e-6  # of a vote: what the place of a neighbour counts beside it
EQUAL = 1e-9  # tolerance: equal shares may differ in the last bit


@dataclass(frozen=True)
class NeighbourShares:
    """Label agreement by number of neighbours.

    Attributes:
        k: Numbers of neighbours, shape (k,).
        share: Mean share of the k nearest with the same label.
        chance: Its exact expectation under permuted labels; the same for every k.
        low, high: Ends of a band of at least 95 % of the shares under permuted labels.
        p_value: Share of permutations (with the observed one) that reach the observed share.
        smallest_p: p-value of the highest share of any permutation; none can be smaller.
    """

    k: ndarray
    share: Float[ndarray, " k"]
    chance: float
    low: Float[ndarray, " k"]
    high: Float[ndarray, " k"]
    p_value: Float[ndarray, " k"]
    smallest_p: Float[ndarray, " k"]


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


def chance_share(labels: Sequence[str]) -> float:
    """Calculate the share expected under permuted labels: the mean of (m - 1) / (n - 1).

    Example:
        >>> round(chance_share(["a", "a", "b", "b"]), 2)
        0.33
    """
    _, counts = np.unique(np.asarray(labels, dtype=str), return_counts=True)
    return float((counts * (counts - 1)).sum() / (len(labels) * (len(labels) - 1)))


def attainable_shares(labels: Sequence[str], most: int) -> Float[ndarray, " k"]:
    """Calculate the largest share of same-label neighbours for k = 1 ... `most`.

    A model in a group of m has m - 1 others with its label, so for k > m - 1 even perfect groups
    stay below 1.

    Example:
        >>> attainable_shares(["a", "a", "b", "b"], 3).round(2).tolist()
        [1.0, 0.5, 0.33]
    """
    _, codes, counts = np.unique(
        np.asarray(labels, dtype=str), return_inverse=True, return_counts=True
    )
    k = np.arange(1, most + 1)
    shares: ndarray = (np.minimum(counts[codes, None] - 1, k) / k).mean(0)
    return shares


def calc_neighbour_shares(
    distances: Float[ndarray, "model model"],
    labels: Sequence[str],
    most: int,
    permutations: int,
    rng: np.random.Generator,
) -> NeighbourShares:
    """Calculate shares of same-label neighbours for k = 1 ... `most`, with chance and p-value.

    Args:
        distances: Symmetric; the diagonal is ignored.
        labels: One per model.
        most: Largest k; at most the number of other models.
        permutations: Random permutations of the labels; all arrangements if there are no more, and
            the p-values are then exact.

    Raises:
        ShapeError: If sizes differ, there are fewer than 3 models or 2 groups, or `most` is out of
            range.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> shares = calc_neighbour_shares(apart, ["a", "a", "b", "b"], 1, 1000,
        ...     np.random.default_rng(0))
        >>> shares.share.tolist(), round(shares.chance, 2), shares.p_value.round(2).tolist()
        ([1.0], 0.33, [0.33])
    """
    weights = neighbour_weights(distances, most)
    _check_labels(labels)
    if len(labels) != len(distances):
        raise ShapeError(f"{len(distances)} models need as many labels, got {len(labels)}.")
    _, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    first, second = np.triu_indices(len(codes), 1)
    # Sharing a label is symmetric, so both directions of a pair are added up.
    pairs = (weights[:, first, second] + weights[:, second, first]).T / (
        len(codes) * np.arange(1, most + 1, dtype=float)
    )
    share = np.round((codes[first] == codes[second]).astype(float) @ pairs, 12)
    permuted = np.concatenate(
        [
            (drawn[:, first] == drawn[:, second]) @ pairs
            for drawn in _arrangements(codes, permutations, rng)
        ]
    )
    p_value = [
        permutation_p(reached - EQUAL, column)
        for reached, column in zip(share, permuted.T, strict=True)
    ]
    every = np.concatenate([share[None], permuted])
    smallest = (every >= every.max(0) - EQUAL).mean(0)
    # Shares are discrete: a band that ends between two of them would hold less than 95 %.
    low = np.quantile(every, 0.025, axis=0, method="lower")
    high = np.quantile(every, 0.975, axis=0, method="higher")
    return NeighbourShares(
        np.arange(1, most + 1), share, chance_share(labels), low, high, np.array(p_value), smallest
    )


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

    _check_labels(labels)
    guesses = predict_labels(distances, labels, k)
    right = sum(guess.predicted == label for guess, label in zip(guesses, labels, strict=True))
    groups, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    weights = neighbour_weights(distances, k)[k - 1]
    # One more place near the front outweighs all places behind it: ties go to the nearest label.
    apart = np.where(np.eye(len(codes), dtype=bool), np.inf, distances)
    ranks = rankdata(apart, method="min", axis=1) - 1
    weights = weights * (1.0 + TIE * 0.5 ** np.minimum(ranks, 1000.0))
    counts = []
    for drawn in _arrangements(codes, permutations, rng):
        votes = np.stack([weights @ (drawn == group).T for group in range(len(groups))])
        counts.append((drawn == votes.argmax(0).T).sum(1))
    permuted = np.concatenate(counts).astype(float)
    # what was found is an arrangement, too; without it a mean over all of few is too low
    expected = float(np.append(permuted, right).mean())
    return Vote(right, expected, permutation_p(right - EQUAL, permuted))


def _arrangements(codes: ndarray, permutations: int, rng: np.random.Generator) -> Iterator[ndarray]:
    """Yield permuted labels in batches: all other arrangements if few, else random ones."""
    counts = np.bincount(codes)
    ways = factorial(len(codes)) // prod(factorial(int(count)) for count in counts)
    if ways - 1 <= min(permutations, MOST_EXACT):
        every = np.stack(list(_every_arrangement(counts)))
        arrangements = every[(every != codes).any(1)]
        yield from (
            arrangements[start : start + BATCH] for start in range(0, len(arrangements), BATCH)
        )
        return
    for start in range(0, permutations, BATCH):
        yield rng.permuted(np.tile(codes, (min(BATCH, permutations - start), 1)), axis=1)


def _every_arrangement(counts: ndarray) -> Iterator[ndarray]:
    """Yield each distinct order of `counts[0]` zeros, `counts[1]` ones and so on."""
    if len(counts) == 1:
        yield np.zeros(counts[0], dtype=np.int64)
        return
    last, models = len(counts) - 1, int(counts.sum())
    for rest in _every_arrangement(counts[:-1]):
        for places in combinations(range(models), int(counts[-1])):
            order = np.full(models, last, dtype=np.int64)
            order[np.delete(np.arange(models), places)] = rest
            yield order


def neighbour_weights(
    distances: Float[ndarray, "model model"], most: int
) -> Float[ndarray, "k model model"]:
    """Calculate which models take a model's k places: 1, 0, or a part of 1 if distances tie.

    Raises:
        ShapeError: If the distances are not square and finite, or `most` is not between 1 and the
            other models.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> neighbour_weights(apart, 1)[0].tolist()
        [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    """
    models = len(distances)
    if distances.shape != (models, models) or not np.isfinite(distances).all():
        raise ShapeError(f"Distances must be square and finite, got shape {distances.shape}.")
    if not 1 <= most <= models - 1:
        raise ShapeError(
            f"Each of {models} models has 1 to {models - 1} neighbours, got k = {most}."
        )
    weights = np.zeros((most, models, models))
    for model in range(models):
        rest = np.delete(np.arange(models), model)
        away = distances[model, rest]
        tolerance = 1e-9 * max(float(away.max()), 1e-300)
        for k in range(1, most + 1):
            edge = np.partition(away, k - 1)[k - 1]
            inside = away < edge - tolerance
            tied = ~inside & (away <= edge + tolerance)
            weights[k - 1, model, rest[inside]] = 1.0
            weights[k - 1, model, rest[tied]] = (k - inside.sum()) / tied.sum()
    return weights


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
    predictions = []
    for model in range(len(labels)):
        rest = [neighbour for neighbour in range(len(labels)) if neighbour != model]
        votes: dict[str, float] = {}
        near: dict[str, float] = {}
        for neighbour in rest:
            label = labels[neighbour]
            votes[label] = votes.get(label, 0.0) + float(weights[model, neighbour])
            near[label] = min(near.get(label, np.inf), float(distances[model, neighbour]))
        best = min(votes, key=lambda label: (-round(votes[label], 9), near[label], label))
        nearest = min(rest, key=lambda neighbour: (distances[model, neighbour], neighbour))
        predictions.append(
            Prediction(best, votes[best] / k, nearest, float(distances[model, nearest]))
        )
    return predictions


def _check_labels(labels: Sequence[str]) -> None:
    if len(labels) < LEAST_MODELS or len(set(labels)) < LEAST_LABELS:
        raise ShapeError(
            f"Neighbours need at least {LEAST_MODELS} models and {LEAST_LABELS} labels, "
            f"got {len(labels)} and {len(set(labels))}."
        )
