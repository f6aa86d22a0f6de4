"""The words nearest to each word in the whole space, by model and layer: a map shows two of its
dimensions.

Distances are Euclidean, between the vectors that the map is made of: each layer is centred and
scaled to unit root mean square.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.errors import SpecError
from core.maths.similarity.preparing import centred
from core.results.export import Result
from core.studies.text_kit import short_names, text_of

NEAREST = 10
WORDS_NEAR, DISTANCES_NEAR = "nearest words", "distances of nearest words"  # arrays of the result


def standardised(
    vectors: Float[np.ndarray, "word d_model"],
) -> Float[np.ndarray, "word d_model"]:
    """Centre the words of a layer and scale them to unit root mean square; equal words stay 0."""
    points = centred(vectors)
    size = np.sqrt(np.mean(np.sum(points**2, axis=1)))
    return points / size if size > 0 else points


def nearest_words(
    vectors: Float[np.ndarray, "layer word d_model"],
) -> tuple[np.ndarray, np.ndarray]:
    """Find up to NEAREST words nearest to each word at each layer, the nearest first: their places
    and distances, (layer, word, nearest). Of two at one distance, the first in the text.

    Example:
        >>> nearest_words(np.array([[[0.0], [1.0], [5.0]]]))[0][0, 0].tolist()
        [1, 2]
    """
    layers, words, _ = vectors.shape
    count = min(NEAREST, words - 1)
    places = np.zeros((layers, words, count), dtype=np.int32)
    distances = np.zeros((layers, words, count), dtype=np.float32)
    for layer, points in enumerate(vectors):
        scaled = standardised(np.asarray(points, dtype=np.float64))
        squares = (scaled**2).sum(axis=1)
        gaps = np.sqrt(np.maximum(squares[:, None] + squares - 2 * scaled @ scaled.T, 0.0))
        np.fill_diagonal(gaps, np.inf)
        order = np.argsort(gaps.round(9), axis=1, kind="stable")[:, :count]
        places[layer], distances[layer] = order, np.take_along_axis(gaps, order, axis=1)
    return places, distances


def nearest_arrays(vectors: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Find nearest words and their distances, each (model, layer, word, nearest); none of no
    model."""
    if not vectors:
        return {}
    places, gaps = zip(*map(nearest_words, vectors), strict=True)
    return {WORDS_NEAR: np.stack(places), DISTANCES_NEAR: np.stack(gaps)}


def neighbour_rows(result: Result, position: int) -> pd.DataFrame:
    """Tabulate the words nearest to the word at a place in question and passage (from 0): model,
    layer, rank (from 1), word, position, distance. Raises SpecError if the map has no such word."""
    table = result.table
    models = list(dict.fromkeys(table["model"]))
    first = table[(table["model"] == models[0]) & (table["layer"] == 0)] if models else table
    positions, words = first["position"].to_numpy(), first["word"].to_numpy()
    if position not in positions:
        raise SpecError(f"The token map has no word {position + 1}; choose one of its words.")
    place = int(np.flatnonzero(positions == position)[0])
    near, gaps = (result.arrays[name][:, :, place] for name in (WORDS_NEAR, DISTANCES_NEAR))
    _, layers, count = near.shape
    index = pd.MultiIndex.from_product(
        [models, range(layers), range(1, count + 1)], names=["model", "layer", "rank"]
    )
    return pd.DataFrame(
        {
            "word": words[near.ravel()],
            "position": positions[near.ravel()],
            "distance": gaps.ravel().astype(float),
        },
        index=index,
    ).reset_index()


def shared_words(rows: pd.DataFrame, layer: int, models: Sequence[str]) -> int:
    """Count the words that are among the nearest in each of the models."""
    here = rows[rows["layer"] == layer]
    sets = [set(here.loc[here["model"] == model, "position"]) for model in models]
    return len(set.intersection(*sets))


def neighbour_sentence(result: Result, position: int, layer: int, models: Sequence[str]) -> str:
    """Say how many of a word's nearest words the first two models share, and how many they would by
    chance, where there are more words than these; of one model, which word is nearest."""
    rows, names = neighbour_rows(result, position), short_names(models)
    table = result.table
    word = table.loc[table["position"] == position, "word"].iloc[0]
    shown = float(result.tables["axes"]["explained"].head(2).sum())
    space = (
        f"Distances are those of the whole space; the map shows {text_of(shown, 'per cent')} of "
        "its variance."
    )
    here = rows[(rows["layer"] == layer) & (rows["model"] == models[0])]
    if len(models) < 2:
        first = here.iloc[0]
        return (
            f"At layer {layer} of {names[models[0]]}, the word nearest to “{word}” is "
            f"“{first['word']}” ({text_of(float(first['distance']), 'measure')}). {space}"
        )
    pair, count = models[:2], len(here)
    others = table["position"].nunique() - 1
    if count == others:  # all are shared
        return space
    by_chance = count * count / others
    return (
        f"At layer {layer}, {names[pair[0]]} and {names[pair[1]]} share "
        f"{shared_words(rows, layer, pair)} of the {count} words nearest to “{word}” "
        f"({text_of(by_chance, 'amount')} by chance). {space}"
    )
