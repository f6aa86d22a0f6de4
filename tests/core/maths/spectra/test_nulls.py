"""Nulls: the published ranks of Gaussian matrices, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.nulls import (
    null_energy_rank,
    null_entropy_rank,
    null_spectrum,
    null_stable_rank,
)
from core.maths.spectra.spectra import energy_rank, entropy_rank, singular_values, stable_rank

KNOWN = {(768, 768): (391, 468, 592), (768, 3072): (585, 661, 742)}


@pytest.mark.parametrize("shape", KNOWN)
def test_known_ranks_of_gaussian_matrices(shape: tuple[int, int]) -> None:
    for threshold, rank in zip((0.9, 0.95, 0.99), KNOWN[shape], strict=True):
        assert abs(null_energy_rank(*shape, threshold) - rank) <= 3
        assert null_energy_rank(*shape[::-1], threshold) == null_energy_rank(*shape, threshold)


@pytest.mark.parametrize("shape", [(30, 40), (128, 128), (128, 512)])
def test_nulls_equal_simulation(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    spectra = np.stack([singular_values(rng.normal(size=shape)) for _ in range(100)])
    for threshold in (0.5, 0.9, 0.99):
        assert null_energy_rank(*shape, threshold) == pytest.approx(
            energy_rank(spectra, threshold).mean(), abs=1
        )
    assert null_stable_rank(*shape) == pytest.approx(stable_rank(spectra).mean(), rel=0.03)
    assert null_entropy_rank(*shape) == pytest.approx(entropy_rank(spectra).mean(), rel=0.01)
    mean = (spectra / np.linalg.norm(spectra, axis=1, keepdims=True)).mean(0)
    np.testing.assert_allclose(null_spectrum(*shape), mean, atol=0.02 * mean[0])


def test_the_null_spectrum_has_unit_energy_and_falls() -> None:
    spectrum = null_spectrum(128, 512)
    assert (spectrum**2).sum() == pytest.approx(1)
    assert (np.diff(spectrum) < 0).all()


def test_small_and_extreme_shapes_stay_in_range() -> None:
    assert null_energy_rank(1, 5, 0.9) == 1
    assert null_energy_rank(4, 4, 1.0) == 4
    assert null_stable_rank(1, 5) == 1


@pytest.mark.parametrize(
    "call", [lambda: null_energy_rank(0, 4, 0.9), lambda: null_energy_rank(4, 4, 0.0)]
)
def test_impossible_shapes_and_thresholds_are_refused(call) -> None:
    with pytest.raises(ShapeError):
        call()
