"""Maps: PCA is exact in the plane, the others keep plain groups together and are the same each
time."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from core.errors import ShapeError
from core.maths.spectra.projections import calc_stress, draw_map
from tests.cases import exhaustive

RNG = np.random.default_rng(0)


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_pca_keeps_distances_of_points_in_a_plane() -> None:
    plane = RNG.normal(size=(9, 2)) @ np.linalg.qr(RNG.normal(size=(6, 6)))[0][:2]
    drawn = draw_map(distances_of(plane), "pca")
    np.testing.assert_allclose(distances_of(drawn.points), distances_of(plane), atol=1e-8)
    assert sum(drawn.explained) == pytest.approx(1)


def test_classical_mds_is_pca_of_the_vectors() -> None:
    points = RNG.normal(size=(12, 7)) * np.arange(1, 8)
    centred = points - points.mean(0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    drawn = draw_map(distances_of(points), "pca")
    np.testing.assert_allclose(np.abs(drawn.points), np.abs(left[:, :3] * values[:3]), atol=1e-8)
    np.testing.assert_allclose(drawn.explained, values[:3] ** 2 / (values**2).sum())


def test_stress_is_that_of_a_slow_loop_and_falls_with_the_third_axis() -> None:
    distances = distances_of(RNG.normal(size=(8, 5)))
    points = draw_map(distances, "pca").points
    for axes in (2, 3):
        missed = whole = 0.0
        for i in range(8):
            for j in range(i):
                drawn = sum((points[i, axis] - points[j, axis]) ** 2 for axis in range(axes)) ** 0.5
                missed += (distances[i, j] - drawn) ** 2
                whole += distances[i, j] ** 2
        expected = (missed / whole) ** 0.5
        assert calc_stress(distances, points[:, :axes]) == pytest.approx(expected)
    assert calc_stress(distances, points) < calc_stress(distances, points[:, :2])


def test_points_in_space_need_the_third_axis() -> None:
    space = RNG.normal(size=(9, 3)) @ np.linalg.qr(RNG.normal(size=(6, 6)))[0][:3]
    points = draw_map(distances_of(space), "pca").points
    assert calc_stress(distances_of(space), points) == pytest.approx(0, abs=1e-8)
    assert calc_stress(distances_of(space), points[:, :2]) > 0.05


def test_models_without_any_distance_have_no_stress() -> None:
    assert calc_stress(np.zeros((3, 3)), np.zeros((3, 2))) == 0


@pytest.fixture
def uncompiled(method: str) -> Iterator[None]:
    """UMAP runs in plain Python: on a few points that takes seconds, and to compile it far more.

    The study of clusters draws a map with the compiled one, and what has compiled it already keeps
    it.
    """
    if method != "umap" or "umap" in sys.modules:
        yield
        return
    import numba

    numba.njit(lambda: 0)()  # the first compilation loads parts of numba that must be compiled
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)
        yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"umap", "pynndescent"}:
            del sys.modules[name]


@pytest.mark.parametrize("method", exhaustive(["tsne", "umap"], "tsne"))
@pytest.mark.usefixtures("uncompiled")
def test_neighbourhoods_are_kept_and_the_map_is_the_same_each_time(method: str) -> None:
    points = np.repeat(np.eye(3) * 20, 6, axis=0) + RNG.normal(size=(18, 3)) * 0.1
    threads = torch.get_num_threads()
    drawn = draw_map(distances_of(points), method, seed=1)
    assert torch.get_num_threads() == threads, "two tasks with two each wait for each other"
    assert drawn.points.shape == (18, 2)
    assert np.isnan(drawn.explained).all()
    away = distances_of(drawn.points)
    np.fill_diagonal(away, np.inf)
    assert (away.argmin(1) // 6 == np.arange(18) // 6).all()
    np.testing.assert_allclose(
        draw_map(distances_of(points), method, seed=1).points, drawn.points, atol=1e-4
    )


@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_models_that_are_all_alike_lie_on_one_point(method: str) -> None:
    drawn = draw_map(np.zeros((6, 6)), method)
    assert not drawn.points.any()


def test_two_models_make_a_map() -> None:
    drawn = draw_map(np.array([[0.0, 3.0], [3.0, 0.0]]), "pca")
    assert np.linalg.norm(drawn.points[0] - drawn.points[1]) == pytest.approx(3)


def test_one_model_is_a_point() -> None:
    drawn = draw_map(np.zeros((1, 1)), "pca")
    assert drawn.points.shape == (1, 3)
    assert not drawn.points.any()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ShapeError, match="pca, tsne, umap"):
        draw_map(np.zeros((4, 4)), "globe")
    with pytest.raises(ShapeError, match="t-SNE needs at least 4"):
        draw_map(np.zeros((3, 3)), "tsne")
