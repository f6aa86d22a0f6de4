"""What label do the neighbours of a model without one vote for, and how often are such votes right?

Votes are judged by leaving each labelled model out in turn, apart for each share of the votes, and
once more with shuffled labels.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.spectra.neighbours import Prediction, predict_labels

DIGITS = 6  # of a share of votes


@dataclass(frozen=True)
class VoteRate:
    """How often votes of one share are right, leaving each labelled model out in turn.

    Attributes:
        judged: Labelled models whose vote has this share.
        right: Those of them whose label the vote names.
        shuffled: The same share with shuffled labels, over all shuffles; NaN if none has the share.
    """

    judged: int = 0
    right: int = 0
    shuffled: float = float("nan")


def predict_outsider(
    distances: Float[ndarray, "model model"],
    away: Float[ndarray, " model"],
    labels: Sequence[str],
    k: int,
) -> Prediction:
    """Predict the label of a model that has none from the k nearest that have one.

    Args:
        distances: Between the labelled models.
        away: From the model to each of them.
        labels: One per labelled model.
        k: At most the number of labelled models.

    Raises:
        ShapeError: As `predict_labels`.

    Example:
        >>> apart = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> predict_outsider(apart, np.array([0.2, 0.9]), ["a", "b"], 1).predicted
        'a'
    """
    if len(labels) != len(distances) or len(away) != len(distances):
        raise ShapeError(
            f"{len(distances)} models need as many labels and distances, "
            f"got {len(labels)} and {len(away)}."
        )
    every = np.block([[distances, away[:, None]], [away[None], np.zeros((1, 1))]])
    return predict_labels(every, [*labels, ""], k)[-1]


def share_of(guess: Prediction) -> float:
    """The share of the votes that a prediction has, by which `rate_votes` keeps its rates.

    Example:
        >>> share_of(Prediction("a", 2 / 3, 0, 1.0))
        0.666667
    """
    return round(guess.votes, DIGITS)


def rate_votes(
    distances: Float[ndarray, "model model"],
    labels: Sequence[str],
    k: int,
    shuffles: int,
    rng: np.random.Generator,
) -> dict[float, VoteRate]:
    """Count how often the vote of a labelled model's k nearest names its label, by its share of the
    votes.

    Raises:
        ShapeError: As `predict_labels`.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> rate_votes(apart, ["a", "a", "b", "b"], 1, 0, np.random.default_rng(0))[1.0].right
        4
    """

    def hits(names: Sequence[str]) -> list[tuple[float, bool]]:
        guesses = predict_labels(distances, names, k)
        return [
            (share_of(guess), name == guess.predicted)
            for name, guess in zip(names, guesses, strict=True)
        ]

    mine = hits(labels)
    shuffled = [hit for _ in range(shuffles) for hit in hits(rng.permutation(labels).tolist())]
    rates = {}
    for share in dict.fromkeys(share for share, _ in [*mine, *shuffled]):
        right, drawn = ([hit for at, hit in part if at == share] for part in (mine, shuffled))
        rate = sum(drawn) / len(drawn) if drawn else float("nan")
        rates[share] = VoteRate(len(right), sum(right), rate)
    return rates
