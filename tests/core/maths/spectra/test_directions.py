"""Leading directions are those of a decomposition; noisy ones are, in distribution, those of whole
matrices, for little noise and for much, square, wide and tall."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.spectra.directions import (
    FIRST,
    _leading_left,
    first_directions,
    leading_directions,
    noisy_cosines,
)
from core.maths.spectra.intruders import compare_directions
from tests.cases import exhaustive

DRAWS, LEADING = 150, 6


def whole(values: np.ndarray, shape: tuple[int, int], scale: float, seed: int) -> np.ndarray:
    """The slow way: every noisy matrix is decomposed, from its products of rows or of columns,
    whichever are fewer: all directions of a wide or tall matrix take several times as long."""
    rng, places = np.random.default_rng(seed), np.arange(len(values))
    cosines = np.empty((DRAWS, LEADING))
    for draw in range(DRAWS):
        noisy = rng.normal(scale=scale, size=shape)
        noisy[places, places] += values
        if shape[0] <= shape[1]:
            left = np.linalg.eigh(noisy @ noisy.T)[1][:, ::-1][:, :LEADING]
        else:
            sizes, right = np.linalg.eigh(noisy.T @ noisy)
            left = (noisy @ right / np.sqrt(sizes))[:, ::-1][:, :LEADING]
        cosines[draw] = np.abs(left[: len(values)]).max(0)
    return cosines


SIZES, SHAPES, POWERS = (0.3, 1.0, 3.0), ((160, 160), (130, 520), (520, 130)), (0.5, 0.1)
SPREADS = [  # the fall of the values, the size of the noise relative to the matrix, its shape: every two of them meet
    (POWERS[(row + column) % 2], size, shape)
    for row, size in enumerate(SIZES)
    for column, shape in enumerate(SHAPES)
]


@pytest.mark.slow
@pytest.mark.parametrize(("power", "size", "shape"), exhaustive(SPREADS, (0.5, 0.3, (160, 160))))
def test_cosines_are_distributed_as_those_of_whole_matrices(
    shape: tuple[int, int], size: float, power: float
) -> None:
    values = 10 * np.arange(1.0, min(shape) + 1) ** -power
    scale = size * float(np.linalg.norm(values)) / np.sqrt(np.prod(shape))
    reduced = noisy_cosines(values, shape, scale, LEADING, DRAWS, np.random.default_rng(1))
    slow = whole(values, shape, scale, 2)
    error = np.sqrt((reduced.var(0) + slow.var(0)) / DRAWS)
    assert (np.abs(reduced.mean(0) - slow.mean(0)) <= 4.5 * error + 1e-4).all()
    lowest = np.quantile(reduced.min(1), [0.1, 0.5, 0.9])
    assert lowest == pytest.approx(np.quantile(slow.min(1), [0.1, 0.5, 0.9]), abs=0.06)


def test_the_block_grows_with_the_directions_that_are_kept() -> None:
    assert first_directions(1) == FIRST
    assert first_directions(64) > FIRST


@pytest.mark.slow
def test_a_large_matrix_is_compared_with_noise_of_its_update_s_size() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 400))
    compared = compare_directions(base, 0.01 * rng.normal(size=base.shape), 4, 25, rng)
    assert compared.null.shape == (25, 4)
    assert compared.cosines == pytest.approx(np.median(compared.null, axis=0), abs=0.2)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (260, 300), (300, 260)])
def test_leading_directions_are_those_of_a_decomposition(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(0).normal(size=shape)
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    directions, sizes = leading_directions(matrix[None], 7)
    assert sizes[0] == pytest.approx(values[:7])
    assert np.abs((directions[0] * left[:, :7]).sum(0)) == pytest.approx(np.ones(7))


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize("rank", [2, 260])  # of the matrix without noise
@pytest.mark.parametrize("leading", [3, 64])
def test_directions_of_a_draw_are_those_of_a_decomposition(
    noise: float, rank: int, leading: int
) -> None:
    """Also where directions have hardly any variance, and where noise is much of the matrix."""
    rng, first = np.random.default_rng(0), first_directions(leading)
    values = np.where(np.arange(260) < rank, np.linspace(3, 1, 260), 0)
    matrix = np.diag(values) + rng.normal(scale=noise, size=(260, 260))
    matrix[first:, first:] = np.diag(values[first:])
    blocks = matrix[:first, :first], matrix[:first, first:], matrix[first:, :first]
    lefts = _leading_left(*blocks, values[first:], leading)
    assert lefts.T @ lefts == pytest.approx(np.eye(leading), abs=1e-6)
    sizes = np.linalg.svd(matrix, compute_uv=False)[:leading]
    assert np.linalg.norm(lefts.T @ matrix, axis=1) == pytest.approx(sizes, rel=1e-4, abs=1e-6)
