"""How a map between two spaces is judged: on held-out sentences, in units of the target's own variance.

Rows are words (or sentences) of the same text through both models. Whole sentences go to training, validation or
test, by a hash of their words, so that no word of a test sentence was ever fitted on, and every pair of models is
split in the same way.

Deviations from arXiv 2305.14555: the squared error is divided by the target's variance, so that layers and models
of different scale can be compared; its mean L2 distance is given beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from core.alignment.linear import Aligner, Rows
from core.errors import ShapeError

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}
RETRIEVED = 1000  # test rows among which each mapped row looks for its partner


@dataclass(frozen=True)
class Scores:
    """Errors of one fitted map on one split, an entry a layer.

    Attributes:
        nmse: Squared error over the target's squared distance from the training mean. 0 is perfect, 1 the mean.
        l2: Mean Euclidean distance between mapped and true rows, in the target's units.
        r2: 1 - squared error over the squared distance from the split's own mean, all dimensions together.
        retrieval: Share of mapped rows whose nearest true row (Euclidean) is their own, among `RETRIEVED`.
        inverse: Squared error of there and back over the source's variance; NaN without an inverse.
        error: Sum of squared errors a sentence, (layer, sentence).
        spread: Sum of squared distances from the training mean a sentence, (layer, sentence).
    """

    nmse: Float[np.ndarray, " layer"]
    l2: Float[np.ndarray, " layer"]
    r2: Float[np.ndarray, " layer"]
    retrieval: Float[np.ndarray, " layer"]
    inverse: Float[np.ndarray, " layer"]
    error: Float[np.ndarray, "layer sentence"]
    spread: Float[np.ndarray, "layer sentence"]


def split_of(words: Sequence[str], seed: int = 0) -> str:
    """The part of the split that a sentence belongs to: a function of its words and the seed alone."""
    digest = hashlib.sha256(f"{seed}\x1f{chr(31).join(words)}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    for part, share in SHARES.items():
        if place < share:
            return part
        place -= share
    return "test"


def score(
    aligner: Aligner, x: Rows, y: Rows, sentence: Int[np.ndarray, " row"], train_mean: Float[np.ndarray, "... 1 d"]
) -> Scores:
    """Score a fitted map on rows it has not seen.

    Args:
        aligner: Fitted, with a map a layer.
        x, y: Paired rows, (layer, row, d).
        sentence: Which sentence each row belongs to.
        train_mean: The target's mean over the training rows: what a map that knows nothing predicts.

    Raises:
        ShapeError: If there are no rows.
    """
    if x.ndim != 3 or x.shape[1] == 0:
        raise ShapeError("There are no held-out rows to score; use more sentences.")
    y = np.asarray(y, dtype=np.float64)
    mapped = aligner.transform(x)
    squared = ((mapped - y) ** 2).sum(-1)
    from_train = ((y - train_mean) ** 2).sum(-1)
    from_own = ((y - y.mean(-2, keepdims=True)) ** 2).sum(-1)
    total = np.maximum(from_train.sum(-1), np.finfo(np.float64).tiny)
    numbers, place = np.unique(sentence, return_inverse=True)
    error, spread = np.zeros((len(x), len(numbers))), np.zeros((len(x), len(numbers)))
    for layer in range(len(x)):
        error[layer] = np.bincount(place, weights=squared[layer], minlength=len(numbers))
        spread[layer] = np.bincount(place, weights=from_train[layer], minlength=len(numbers))
    return Scores(
        nmse=squared.sum(-1) / total,
        l2=np.sqrt(squared).mean(-1),
        r2=1 - squared.sum(-1) / np.maximum(from_own.sum(-1), np.finfo(np.float64).tiny),
        retrieval=np.array([retrieval(mapped[layer], y[layer]) for layer in range(len(x))]),
        inverse=_round_trip(aligner, x, mapped),
        error=error,
        spread=spread,
    )


def retrieval(mapped: Float[np.ndarray, "row d"], y: Float[np.ndarray, "row d"]) -> float:
    """Share of mapped rows whose nearest true row is their own, among at most `RETRIEVED` evenly spaced rows.

    A true row that occurs twice (the same word in the same context) counts as found under either number.
    """
    chosen = np.linspace(0, len(y) - 1, min(RETRIEVED, len(y))).astype(np.int64)
    mapped, y = mapped[chosen], y[chosen]
    distance = (y**2).sum(-1)[None, :] - 2 * mapped @ y.T
    nearest = distance.argmin(1)
    return float((y[nearest] == y).all(-1).mean())


def _round_trip(aligner: Aligner, x: Rows, mapped: Rows) -> np.ndarray:
    if not aligner.invertible:
        return np.full(len(x), np.nan)
    x = np.asarray(x, dtype=np.float64)
    back = aligner.inverse_transform(mapped)
    variance = ((x - x.mean(-2, keepdims=True)) ** 2).sum((-1, -2))
    return ((back - x) ** 2).sum((-1, -2)) / np.maximum(variance, np.finfo(np.float64).tiny)


def pooled_nmse(
    error: Float[np.ndarray, "pair layer sentence"],
    spread: Float[np.ndarray, "pair layer sentence"],
    weight_pairs: Float[np.ndarray, " pair"],
    weight_sentences: Float[np.ndarray, " sentence"],
) -> Float[np.ndarray, " layer"]:
    """Normalised error a layer, averaged over pairs, with pairs and sentences weighted (a bootstrap draw's counts)."""
    nmse = (error @ weight_sentences) / np.maximum(spread @ weight_sentences, np.finfo(np.float64).tiny)
    return weight_pairs @ nmse / max(float(weight_pairs.sum()), 1.0)


def bootstrap_pairs(
    error: Float[np.ndarray, "pair layer sentence"],
    spread: Float[np.ndarray, "pair layer sentence"],
    pairs: Sequence[tuple[int, int]],
    draws: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "draw layer"]:
    """Normalised error by layer under resampling of models and of sentences.

    The pairs that share a model are not independent, so what is drawn with replacement is models: a pair counts as
    often as the product of its two models' counts. Draws without a pair of two different models are drawn again.
    With two models there is nothing to resample but sentences, and only those are.
    """
    models = sorted({model for pair in pairs for model in pair})
    place = {model: number for number, model in enumerate(models)}
    ends = np.array([[place[a], place[b]] for a, b in pairs])
    sentences = error.shape[-1]
    results = np.empty((draws, error.shape[1]))
    for draw in range(draws):
        weights = np.ones(len(pairs))
        while len(models) > 2:
            counts = rng.multinomial(len(models), np.full(len(models), 1 / len(models)))
            weights = (counts[ends[:, 0]] * counts[ends[:, 1]]).astype(np.float64)
            if weights.any():
                break
        chosen = rng.multinomial(sentences, np.full(sentences, 1 / sentences)).astype(np.float64)
        results[draw] = pooled_nmse(error, spread, weights, chosen)
    return results
