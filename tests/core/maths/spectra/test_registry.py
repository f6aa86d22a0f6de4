"""Vectors: what is invariant and what is not, distances against slow references, sketches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.products import calc_sketch
from core.maths.spectra.registry import (
    VECTORS,
    Features,
    calc_distances,
    calc_factors,
    relative_norms,
    relative_size,
)
from core.maths.spectra.spectra import decompose

RANK = 4
SHAPES = {"query": (24, 24), "ff1": (40, 24), "ff2": (24, 40)}
LAYERS = 3
SAFE = [name for name, vector in VECTORS.items() if vector.gauge_safe]
Gauge = tuple[str, float]


def features_of(deltas: dict[tuple[str, int], np.ndarray], rank: int = RANK) -> Features:
    parts = [decompose(matrix, rank) for matrix in deltas.values()]
    values = np.zeros((len(parts), max(len(part.values) for part in parts)))
    for row, part in zip(values, parts, strict=True):
        row[: len(part.values)] = part.values
    return Features(
        families=tuple(family for family, _ in deltas),
        layers=tuple(layer for _, layer in deltas),
        shapes=tuple(matrix.shape for matrix in deltas.values()),
        values=values,
        delta_norms=np.array([np.linalg.norm(matrix) for matrix in deltas.values()]),
        weight_norms=np.full(len(parts), 10.0),
        left=tuple(part.left for part in parts),
        right=tuple(part.right for part in parts),
        sketches=tuple(matrix.ravel() for matrix in deltas.values()),
    )


def low_rank_pairs(seed: int) -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return {
        (family, layer): (rng.normal(size=(rows, RANK)), rng.normal(size=(RANK, columns)))
        for family, (rows, columns) in SHAPES.items()
        for layer in range(LAYERS)
    }


def from_pairs(pairs: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]) -> Features:
    return features_of({key: b @ a for key, (b, a) in pairs.items()})


def turned(features: Features, how: str, seed: int = 9) -> Features:
    """The same deltas with other, equally valid singular vectors."""
    rng = np.random.default_rng(seed)
    left, right = [], []
    for one, two in zip(features.left, features.right, strict=True):
        if how == "signs":
            turn = np.diag(rng.choice([-1.0, 1.0], size=RANK))
        else:
            turn = np.linalg.qr(rng.normal(size=(RANK, RANK)))[0]
        left.append(one @ turn)
        right.append(two @ turn)
    return Features(
        features.families,
        features.layers,
        features.shapes,
        features.values,
        features.delta_norms,
        features.weight_norms,
        tuple(left),
        tuple(right),
        features.sketches,
    )


@pytest.fixture(scope="module")
def zoo() -> list[Features]:
    return [from_pairs(low_rank_pairs(seed)) for seed in range(5)]


@pytest.mark.parametrize("vector", VECTORS)
def test_distances_are_a_metric(zoo: list[Features], vector: str) -> None:
    distances = calc_distances(zoo, vector, RANK)
    np.testing.assert_array_equal(distances, distances.T)
    assert not np.diag(distances).any()
    assert (distances[~np.eye(5, dtype=bool)] > 0).all()
    for middle in range(5):
        detour = distances[:, [middle]] + distances[[middle], :]
        assert (distances <= detour + 1e-12).all()


@pytest.mark.parametrize("how", ["signs", "rotations"])
@pytest.mark.parametrize("vector", SAFE)
def test_safe_vectors_ignore_the_gauge(zoo: list[Features], vector: str, how: str) -> None:
    changed = [turned(zoo[0], how), *zoo[1:]]
    np.testing.assert_allclose(
        calc_distances(changed, vector, RANK), calc_distances(zoo, vector, RANK), atol=1e-5
    )
    assert calc_distances([zoo[0], changed[0]], vector, RANK)[0, 1] < 1e-5


@pytest.mark.parametrize("vector", SAFE)
def test_safe_vectors_ignore_how_a_lora_was_factored(zoo: list[Features], vector: str) -> None:
    rng = np.random.default_rng(3)
    again = {}
    for key, (b, a) in low_rank_pairs(0).items():
        mixing = rng.normal(size=(RANK, RANK)) + 3 * np.eye(RANK)
        again[key] = (b @ mixing, np.linalg.inv(mixing) @ a)
    changed = [from_pairs(again), *zoo[1:]]
    np.testing.assert_allclose(
        calc_distances(changed, vector, RANK), calc_distances(zoo, vector, RANK), atol=1e-5
    )


@pytest.mark.parametrize("how", ["signs", "rotations"])
@pytest.mark.parametrize("vector", ["factors", "original"])
def test_averaged_factors_do_not_ignore_the_gauge(
    zoo: list[Features], vector: str, how: str
) -> None:
    """The page's caveat: the same delta, another choice of signs, another vector."""
    same, weighted = turned(zoo[0], how), vector == "factors"
    assert not np.allclose(
        calc_factors(zoo[0], RANK, weighted), calc_factors(same, RANK, weighted), atol=0.1
    )
    assert calc_distances([zoo[0], same], vector, RANK)[0, 1] > 0.1


def test_projector_distances_equal_those_of_projectors(zoo: list[Features]) -> None:
    fast = calc_distances(zoo, "projector", 3)
    for one in range(5):
        for two in range(5):
            squares = []
            for side in ("left", "right"):
                for u, v in zip(getattr(zoo[one], side), getattr(zoo[two], side), strict=True):
                    difference = u[:, :3] @ u[:, :3].T - v[:, :3] @ v[:, :3].T
                    squares.append((difference**2).sum() / 6)
            assert fast[one, two] == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-7)


def test_projector_distances_are_sines_of_principal_angles() -> None:
    from scipy.linalg import subspace_angles

    rng = np.random.default_rng(0)
    one, two = (features_of({("query", 0): rng.normal(size=(30, 30))}) for _ in range(2))
    sides = [
        subspace_angles(getattr(one, side)[0], getattr(two, side)[0]) for side in ("left", "right")
    ]
    expected = np.sqrt(np.mean([(np.sin(angles) ** 2).mean() for angles in sides]))
    assert calc_distances([one, two], "projector", RANK)[0, 1] == pytest.approx(expected)


def test_unrelated_projectors_are_at_their_null() -> None:
    rng = np.random.default_rng(0)
    zoo = [
        features_of({("query", layer): rng.normal(size=(40, 40)) for layer in range(6)})
        for _ in range(6)
    ]
    distances = calc_distances(zoo, "projector", RANK)
    assert distances[np.triu_indices(6, 1)].mean() == pytest.approx(
        np.sqrt(1 - RANK / 40), abs=0.01
    )


def test_float32_from_the_store_costs_nothing_that_can_be_seen(zoo: list[Features]) -> None:
    def stored(model: Features) -> Features:
        left, right = (
            tuple(a.astype(np.float32) for a in side) for side in (model.left, model.right)
        )
        return Features(*list(vars(model).values())[:6], left, right, model.sketches)

    kept = [stored(model) for model in zoo]
    np.testing.assert_allclose(
        calc_distances(kept, "projector", RANK), calc_distances(zoo, "projector", RANK), atol=1e-7
    )
    assert (
        calc_distances([kept[0], stored(turned(zoo[0], "rotations"))], "projector", RANK)[0, 1]
        < 1e-5
    )


def test_delta_distances_are_chords_of_the_cosine(zoo: list[Features]) -> None:
    one, two = (np.concatenate(model.sketches) for model in zoo[:2])
    cosine = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert calc_distances(zoo[:2], "delta", 1)[0, 1] == pytest.approx(np.sqrt(2 - 2 * cosine))


def test_norms_and_spectrum_look_at_size_and_shape_apart(zoo: list[Features]) -> None:
    doubled = from_pairs({key: (2 * b, a) for key, (b, a) in low_rank_pairs(0).items()})
    np.testing.assert_allclose(relative_norms(doubled), 2 * relative_norms(zoo[0]))
    assert calc_distances([zoo[0], doubled], "spectrum", 1)[0, 1] < 1e-12
    assert calc_distances([zoo[0], doubled], "norms", 1)[0, 1] > 0.1


def test_factors_average_over_layers_and_join_families(zoo: list[Features]) -> None:
    vector = calc_factors(zoo[0], 2)
    assert vector.shape == (2 * sum(rows for rows, _ in SHAPES.values()),)
    query = np.mean(
        [zoo[0].left[i][:, :2] * np.sqrt(zoo[0].values[i, :2]) for i in range(LAYERS)], axis=0
    )
    np.testing.assert_allclose(vector[: query.size], query.ravel())


def test_the_original_vector_is_the_singular_vectors_alone(zoo: list[Features]) -> None:
    vector = calc_factors(zoo[0], 2, weighted=False)
    query = np.mean([zoo[0].left[i][:, :2] for i in range(LAYERS)], axis=0)
    np.testing.assert_allclose(vector[: query.size], query.ravel())
    louder = from_pairs({key: (5 * b, a) for key, (b, a) in low_rank_pairs(0).items()})
    np.testing.assert_allclose(
        np.abs(calc_factors(louder, 2, weighted=False)), np.abs(vector), atol=1e-9
    )


@pytest.mark.parametrize(("vector", "weighted"), [("factors", True), ("original", False)])
def test_averaged_factors_are_compared_by_their_cosine(
    zoo: list[Features], vector: str, weighted: bool
) -> None:
    one, two = (calc_factors(model, 2, weighted) for model in zoo[:2])
    cosine = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert calc_distances(zoo[:2], vector, 2)[0, 1] == pytest.approx(np.sqrt(2 - 2 * cosine))


def frozen_below(features: Features, layers: int) -> Features:
    """The same fine-tune with its lowest layers as they were."""
    still = np.array([layer < layers for layer in features.layers])
    kept = np.where(still, 0.0, 1.0)

    def cut(arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        return tuple(array * keep for array, keep in zip(arrays, kept, strict=True))

    return Features(
        features.families,
        features.layers,
        features.shapes,
        features.values * kept[:, None],
        features.delta_norms * kept,
        features.weight_norms,
        cut(features.left),
        cut(features.right),
        cut(features.sketches),
    )


def only_layers(features: Features, first: int) -> Features:
    """The matrices of layer `first` and up, alone."""
    places = [place for place, layer in enumerate(features.layers) if layer >= first]
    parts = [
        value[places] if isinstance(value, np.ndarray) else tuple(value[place] for place in places)
        for value in vars(features).values()
    ]
    return Features(*parts)


@pytest.mark.parametrize("vector", ["projector", "spectrum"])
def test_frozen_layers_are_absent_and_the_others_compared_alone(
    zoo: list[Features], vector: str
) -> None:
    """Two models of different tasks with the same frozen layers are no nearer to each other for
    that."""
    frozen = [frozen_below(zoo[0], 2), frozen_below(zoo[1], 1), zoo[2]]
    distances = calc_distances(frozen, vector, RANK)
    above = [only_layers(model, 2) for model in frozen]
    assert distances[0, 1] == pytest.approx(calc_distances(above, vector, RANK)[0, 1])
    assert distances[0, 2] == pytest.approx(calc_distances(above, vector, RANK)[0, 2])
    above = [only_layers(model, 1) for model in frozen]
    assert distances[1, 2] == pytest.approx(calc_distances(above, vector, RANK)[1, 2])


def test_models_that_moved_in_no_matrix_in_common_are_as_far_as_can_be(zoo: list[Features]) -> None:
    below = [place for place, layer in enumerate(zoo[1].layers) if layer < 2]
    norms = zoo[1].delta_norms.copy()
    norms[[place for place in range(len(norms)) if place not in below]] = 0.0
    apart = [frozen_below(zoo[0], 2), replace(zoo[1], delta_norms=norms)]
    assert calc_distances(apart, "projector", RANK)[0, 1] == 1
    assert calc_distances(apart, "spectrum", RANK)[0, 1] == pytest.approx(np.sqrt(2))


def test_norms_of_frozen_layers_are_zero(zoo: list[Features]) -> None:
    norms = relative_norms(frozen_below(zoo[0], 2))
    np.testing.assert_array_equal(norms == 0, [layer < 2 for layer in zoo[0].layers])
    assert relative_size(frozen_below(zoo[0], 2)) < relative_size(zoo[0])
    assert relative_size(replace(zoo[0], weight_norms=np.zeros(9))) == 0


def test_a_frozen_matrix_takes_part_without_breaking_anything() -> None:
    rng = np.random.default_rng(0)
    frozen = np.zeros((20, 20))
    zoo = [
        features_of({("query", 0): frozen, ("key", 0): rng.normal(size=(20, 20))}) for _ in range(3)
    ]
    for vector in VECTORS:
        assert np.isfinite(calc_distances(zoo, vector, RANK)).all()


def test_sketches_keep_inner_products() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(300, 400))
    two = 0.5 * one + rng.normal(size=(300, 400))
    cosine = (one * two).sum() / np.linalg.norm(one) / np.linalg.norm(two)
    a, b = calc_sketch(one, seed=4), calc_sketch(two, seed=4)
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) == pytest.approx(cosine, abs=0.03)
    np.testing.assert_array_equal(a, calc_sketch(one, seed=4))
    assert not np.allclose(a, calc_sketch(one, seed=5))


def test_bad_input_is_refused(zoo: list[Features]) -> None:
    with pytest.raises(ShapeError, match="projector, spectrum"):
        calc_distances(zoo, "colour", RANK)
    with pytest.raises(ShapeError, match="got 1"):
        calc_distances(zoo[:1], "norms", RANK)
    with pytest.raises(ShapeError, match="rank"):
        calc_distances(zoo, "projector", RANK + 1)
    with pytest.raises(ShapeError, match="differ in their matrices"):
        calc_distances([zoo[0], only_layers(zoo[1], 1)], "norms", RANK)
