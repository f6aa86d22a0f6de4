"""A position code for vectors without positions, with which a probe can express the linear chain.

Models with rotary or relative positions use them in attention and do not add them to the vectors. A
linear map of the vectors then cannot express how far apart two words are, and a probe scores below
the linear chain for that reason alone. Therefore a code of 16 numbers is appended to each vector:
a_k cos(w_k t) and a_k sin(w_k t) for the word's position t, at eight frequencies, with a_k fitted
(non-negative least squares, distances 0 to 40) so that the squared distance of two codes is the
distance in words. A probe on the code alone can reproduce the linear chain; it is the baseline.

Reference: none; the frequencies are ours. Vectors are first centred and divided by their mean
absolute deviation, so that code and vectors have the same scale.
"""

from __future__ import annotations

from functools import cache
from typing import cast

import numpy as np
from jaxtyping import Float, Int

WAVES = (1.5, 2.5, 4.0, 7.0, 12.0, 22.0, 45.0, 90.0)  # half wavelengths, in words
FARTHEST = 40  # greatest distance in words for which the code is fitted
WEIGHT = 2.0  # of the code, next to vectors of mean absolute deviation 1
SIZE = 2 * len(WAVES)


def position_code(lengths: Int[np.ndarray, " sentence"]) -> Float[np.ndarray, "item code"]:
    """The code of every word of sentences of these lengths, concatenated; float32.

    Example:
        >>> position_code(np.array([2, 3])).shape[0]
        5
    """
    places = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(n) for n in lengths)])
    angles = np.outer(places, np.pi / np.array(WAVES))
    sizes = WEIGHT * _amplitudes()
    return np.concatenate([sizes * np.cos(angles), sizes * np.sin(angles)], axis=1).astype(
        np.float32
    )


def measure_vectors(
    vectors: Float[np.ndarray, "item layer d_model"],
) -> tuple[Float[np.ndarray, "layer d_model"], Float[np.ndarray, " layer"]]:
    """Centre and mean absolute deviation of each layer's vectors; a deviation of 0 is given as 1.

    Example:
        >>> centres, sizes = measure_vectors(np.array([[[1.0, 2.0]], [[3.0, 2.0]]]))
        >>> centres.tolist(), sizes.tolist()
        ([[2.0, 2.0]], [0.5])
    """
    _, layers, d_model = vectors.shape
    centres, sizes = (
        np.zeros((layers, d_model), dtype=np.float32),
        np.ones(layers, dtype=np.float32),
    )
    for layer in range(layers):  # one at a time: in full precision all would be twice the memory
        values = vectors[:, layer].astype(np.float32)
        centres[layer] = values.mean(axis=0, dtype=np.float64)
        sizes[layer] = np.abs(values - centres[layer]).mean(dtype=np.float64) or 1.0
    return centres, sizes


def beside_positions(
    vectors: Float[np.ndarray, "item layer d_model"],
    lengths: Int[np.ndarray, " sentence"],
    centres: Float[np.ndarray, "layer d_model"],
    sizes: Float[np.ndarray, " layer"],
) -> Float[np.ndarray, "item layer wider"]:
    """Scale vectors and append their words' codes; in the precision of the vectors.

    Example:
        >>> vectors, lengths = np.ones((3, 1, 4)), np.array([3])
        >>> wider = beside_positions(vectors, lengths, *measure_vectors(vectors))
        >>> wider.shape[-1] == 4 + position_code(lengths).shape[-1]
        True
    """
    _, layers, d_model = vectors.shape
    wider = np.empty((len(vectors), layers, d_model + SIZE), dtype=vectors.dtype)
    for layer in range(layers):
        wider[:, layer, :d_model] = (vectors[:, layer].astype(np.float32) - centres[layer]) / sizes[
            layer
        ]
    wider[:, :, d_model:] = position_code(lengths)[:, None]
    return wider


def with_positions(
    vectors: Float[np.ndarray, "item layer d_model"],
    lengths: Int[np.ndarray, " sentence"],
    training: int,
) -> tuple[
    Float[np.ndarray, "item layer wider"],
    Float[np.ndarray, "layer d_model"],
    Float[np.ndarray, " layer"],
]:
    """Scale vectors by those of the first `training` sentences, and append codes; returned with the
    centres and the deviations of these.

    Example:
        >>> vectors = np.array([[[1.0]], [[3.0]], [[7.0]]])
        >>> wider, centres, sizes = with_positions(vectors, np.array([2, 1]), 1)
        >>> wider[:, 0, 0].tolist(), centres.tolist(), sizes.tolist()
        ([-1.0, 1.0, 5.0], [[2.0]], [1.0])
    """
    centres, sizes = measure_vectors(vectors[: int(lengths[:training].sum())])
    return beside_positions(vectors, lengths, centres, sizes), centres, sizes


@cache
def _amplitudes() -> Float[np.ndarray, " wave"]:
    """Amplitudes with which squared distances of codes are distances in words."""
    from scipy.optimize import nnls

    distances = np.arange(FARTHEST + 1, dtype=np.float64)
    waves = 2 * (1 - np.cos(np.outer(distances, np.pi / np.array(WAVES))))
    return cast(np.ndarray, np.sqrt(nnls(waves, distances)[0]))
