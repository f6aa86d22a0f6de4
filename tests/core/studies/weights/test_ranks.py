"""Tables of matrices: layers are numbered from 1, what did not move has no trend, trends are those
of layer means."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.spectra.registry import Features
from core.studies.weights.ranks import build_ranks, build_spectra, build_trends

LAYERS = 6


def features_of(ranks: list[int], seed: int = 0) -> Features:
    """One family by six layers, each with `rank` equal singular values; rank 0 is a frozen
    matrix."""
    rng = np.random.default_rng(seed)
    values = np.array([[1.0] * rank + [0.0] * (20 - rank) for rank in ranks])
    left = tuple(np.linalg.qr(rng.normal(size=(20, 8)))[0] * (rank > 0) for rank in ranks)
    norms = np.linalg.norm(values, axis=1)
    count = len(ranks)
    shapes = ((20, 20),) * count
    return Features(
        ("query",) * count,
        tuple(range(count)),
        shapes,
        values,
        norms,
        norms + 5.0,
        left,
        left,
        left,
    )


def test_the_first_block_is_layer_one() -> None:
    features = features_of([3] * LAYERS)
    weights = {
        "zoo:a": {"places": [["query", 0]], "shapes": [[20, 20]], "values": features.values[:1]}
    }
    matrices = build_spectra({"zoo:a": features}, weights).matrices
    assert matrices.loc[matrices["of"] == "delta", "layer"].tolist() == [1, 2, 3, 4, 5, 6]
    assert matrices.loc[matrices["of"] == "weights", "layer"].tolist() == [1]


def test_a_frozen_matrix_has_rank_zero_and_is_in_no_mean() -> None:
    falling = [12, 11, 10, 9, 8, 7]
    spectra = build_spectra(
        {"zoo:a": features_of(falling), "zoo:b": features_of([0, 0, *falling[2:]])}, {}
    )
    ranks = build_ranks(spectra, 0.99).query("threshold == 0.99 and model == 'zoo:b'")
    assert ranks["rank"].tolist() == [0, 0, 10, 9, 8, 7]
    assert ranks["relative_norm"].tolist()[:2] == [0, 0]
    assert ranks["stable_rank"].isna().tolist() == [True, True, False, False, False, False]
    trend = build_trends(spectra, 0.99).iloc[0]
    assert trend["kind"] == "linear"
    assert trend["coefficients"] == pytest.approx([13, -1])


def test_trends_of_deltas_and_of_weights() -> None:
    features = features_of([12, 11, 10, 9, 8, 7])
    places = [["query", layer] for layer in range(LAYERS)]
    weights = {
        "zoo:a": {"places": places, "shapes": [[20, 20]] * LAYERS, "values": features.values}
    }
    trends = build_trends(build_spectra({"zoo:a": features}, weights), 0.9)
    assert trends["of"].tolist() == ["delta", "weights"]
    few = features_of([3, 4, 5])
    assert build_trends(build_spectra({"zoo:a": few}, {}), 0.9).empty
