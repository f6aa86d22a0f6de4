"""How the updates of two fine-tunes of one base compare: statements, and their sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy import ndarray

from core.maths.spectra.nulls import null_projector_distance
from core.maths.spectra.registry import Features, relative_size
from core.studies.text_kit import Estimate, Statement, layers_in_words, listed, short_names
from core.studies.weights.ranks import layer_sizes

COSINE, APART, SIZE, MOST = "cosine", "distance of projectors", "changed by", "changed most"
OF_A_PAIR = (COSINE, APART, SIZE, MOST)
CHANCE = "chance"


def state_pair(
    features: Mapping[str, Features], distances: Mapping[str, ndarray], rank: int
) -> tuple[Statement, ...]:
    """State how the updates of two fine-tunes of one base compare; nothing of more models or fewer.

    Args:
        features: Of each model.
        distances: By vector, shape (model, model).
        rank: Leading directions of the projectors.
    """
    if len(features) != 2:
        return ()
    first, second = features
    moved = np.all([model.delta_norms > 0 for model in features.values()], axis=0)
    shapes = [features[first].shapes[place] for place in np.flatnonzero(moved)]
    cosine = 1 - float(distances["delta"][0, 1]) ** 2 / 2
    stated = [
        Statement(first, COSINE, Estimate(cosine), (), second),
        Statement(first, APART, Estimate(float(distances["projector"][0, 1])), (), second),
        Statement(CHANCE, APART, Estimate(null_projector_distance(shapes, rank))),
    ]
    for ref, model in features.items():
        sizes = layer_sizes(model)
        most = max(sizes, key=lambda layer: sizes[layer])
        stated += [
            Statement(ref, SIZE, Estimate(relative_size(model), kind="per cent")),
            Statement(ref, MOST, Estimate(sizes[most], kind="per cent"), (most + 1,)),
        ]
    return tuple(stated)


def pair_sentence(statements: Sequence[Statement]) -> str:
    """Compare the updates of two fine-tunes, beside chance; "" without statements of a pair.

    Args:
        statements: Of `state_pair`.
    """
    if not statements:
        return ""
    cosine, apart, chance, *sizes = statements
    names = short_names((cosine.subject, cosine.baseline))
    changes = [
        f"{names[size.subject]} changes the weights by {size.number.text} of their norm, most in "
        f"{layers_in_words(most.layers)} ({most.number.text})"
        for size, most in zip(sizes[::2], sizes[1::2], strict=True)
    ]
    return (
        f"The updates of {listed([*names.values()])} have a cosine of {cosine.number.text} (chance "
        f"0) and projectors {apart.number.text} apart (chance {chance.number.text}): "
        f"{listed(changes)}."
    )
