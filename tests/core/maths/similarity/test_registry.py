"""Every measure against a slow, readable reference; its invariances, its null, its refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from core.errors import ShapeError, SpecError
from core.maths.similarity import preparing
from core.maths.similarity.kernels import KERNELS
from core.maths.similarity.preparing import prepare, prepare_pair, rogue_dimensions, standardise
from core.maths.similarity.rdm import COMPARISONS
from core.maths.similarity.registry import MEASURES, Options, compare
from tests.cases import exhaustive
from tests.core.studies.rsa.references import REFERENCES, slow_kernel, slow_rsa

ITEMS, WIDTH = 60, 7


def _spaces(items: int = ITEMS, width: int = WIDTH, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two related spaces off the origin, dimensions of unequal size."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((items, width)) * np.linspace(0.5, 2.0, width) + rng.standard_normal(
        width
    )
    y = x @ rng.standard_normal((width, width)) + rng.standard_normal((items, width)) + 0.5
    return x, y


def _rotation(width: int, seed: int = 1) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((width, width)))[0]


@pytest.mark.parametrize("name", MEASURES)
def test_equals_the_slow_reference(name: str) -> None:
    x, y = _spaces()
    assert compare(x, y, name) == pytest.approx(REFERENCES[name](x, y), abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_rsa_equals_loops_over_pairs(kernel: str, comparison: str) -> None:
    x, y = _spaces(items=25)
    options = Options(kernel, comparison)
    assert compare(x, y, "rsa", options) == pytest.approx(
        slow_rsa(x, y, kernel, comparison), abs=1e-9
    )


def test_rsa_in_feature_space_and_in_strips_agree() -> None:
    """More dimensions than items goes through strips; zeros added as dimensions change nothing."""
    x, y = _spaces(items=700, width=6)
    wide = np.hstack([x, np.zeros((700, 800))]), np.hstack([y, np.zeros((700, 800))])
    assert compare(*wide, "rsa") == pytest.approx(compare(x, y, "rsa"), abs=1e-12)
    assert compare(*wide, "cka") == pytest.approx(compare(x, y, "cka"), abs=1e-12)
    assert compare(*wide, "cka-debiased") == pytest.approx(compare(x, y, "cka-debiased"), abs=1e-12)


@pytest.mark.parametrize("name", ["rsa", "cka", "cka-debiased"])
@pytest.mark.parametrize("width", [7, 80])
def test_large_products_in_single_precision(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = _spaces(width=width)
    exact = compare(x, y, name)
    monkeypatch.setattr(preparing, "MUCH", 0)
    assert compare(x, y, name) == pytest.approx(exact, abs=1e-6)
    assert compare(x, x.copy(), name) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_a_space_is_like_itself(name: str) -> None:
    x, _ = _spaces()
    assert compare(x, x, name) == pytest.approx(1.0, abs=1e-6)
    offset = x * 1e-3 + 100.0  # nearly one direction: sums over pairs that cancel
    assert compare(offset, offset, name) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_rsa_of_a_space_with_itself(kernel: str, comparison: str) -> None:
    x, _ = _spaces()
    assert compare(x, x, "rsa", Options(kernel, comparison)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_rotation_and_scale_change_nothing(name: str) -> None:
    x, y = _spaces()
    turn, other = _rotation(WIDTH), _rotation(WIDTH, seed=2)
    if name == "cosine":
        other = turn  # the cosine of matching vectors forgives only a rotation of both
        assert abs(compare(x, y @ _rotation(WIDTH, seed=2), name) - compare(x, y, name)) > 0.01
    if name == "pwcca":
        assert abs(compare(x @ turn, y, name) - compare(x, y, name)) > 1e-4, (
            "its weights sum over the base's neurons"
        )
        turn = np.eye(WIDTH)
    assert compare(3.0 * x @ turn, 0.2 * y @ other, name) == pytest.approx(
        compare(x, y, name), abs=1e-6
    )
    assert compare(x, 5.0 * x @ turn, name) == pytest.approx(1.0, abs=1e-6) or name == "cosine"


def test_rsa_with_distances_is_invariant_too() -> None:
    x, y = _spaces()
    options = Options("euclidean", "spearman")
    turned = compare(3.0 * x @ _rotation(WIDTH) + 1.0, y, "rsa", options)
    assert turned == pytest.approx(compare(x, y, "rsa", options), abs=1e-6)


def test_cca_is_invariant_to_invertible_maps() -> None:
    x, y = _spaces()
    maps = np.random.default_rng(3).standard_normal((2, WIDTH, WIDTH))
    assert compare(x @ maps[0] + 1.0, y @ maps[1], "cca") == pytest.approx(
        compare(x, y, "cca"), abs=1e-6
    )
    assert compare(x, x @ maps[0], "cca") == pytest.approx(1.0, abs=1e-6)
    assert compare(x, y @ maps[1], "pwcca") == pytest.approx(compare(x, y, "pwcca"), abs=1e-6)


def test_shuffled_rows_are_unlike() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2000, 64))
    assert abs(compare(x, x[rng.permutation(2000)], "rsa")) < 0.01


def test_two_shared_outlier_dimensions_make_rsa() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 500, 768))
    outliers = rng.standard_normal((500, 2)) * 300.0
    x[:, [10, 600]] = outliers
    y[:, [10, 600]] = outliers
    assert compare(x, y, "rsa") > 0.99
    assert abs(compare(standardise(x), standardise(y), "rsa")) < 0.05
    assert set(rogue_dimensions(x, 2).tolist()) == {10, 600}
    assert abs(compare(prepare(x, drop_rogue=2), prepare(y, drop_rogue=2), "rsa")) < 0.05


def test_what_compares_coordinates_loses_the_same_ones_from_both_spaces() -> None:
    """Three large dimensions, in another order in each space: each losing its own would shift all
    coordinates."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((400, 12))
    x[:, [2, 5, 9]] *= (9.0, 8.5, 8.0)
    y = x + 0.3 * rng.standard_normal((400, 12))
    y[:, 9] *= 1.2
    same = prepare_pair(x, y, drop_rogue=1, together=True)
    assert np.array_equal(same[0], np.delete(x, 9, axis=1)), "the largest of both together"
    assert np.array_equal(same[1], np.delete(y, 9, axis=1))
    own = prepare_pair(x, y, drop_rogue=1, together=False)
    assert np.array_equal(own[0], np.delete(x, 2, axis=1))
    assert np.array_equal(own[1], np.delete(y, 9, axis=1))
    assert compare(*same, "cosine") > 0.95 > 0.8 > compare(*own, "cosine")
    assert MEASURES["cosine"].coordinates
    assert not MEASURES["rsa"].coordinates
    large = prepare_pair(1000.0 * x, y, drop_rogue=1, together=True)
    assert np.array_equal(large[1], same[1]), "the larger space does not decide alone"
    assert prepare_pair(x, y[:, :5], drop_rogue=1, together=True)[1].shape[1] == 4, (
        "the measure refuses them itself"
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_words_that_come_twice_are_tied(kernel: str) -> None:
    """Six vectors ten times over: pairs of one vector are alike to the last bit, whatever block
    they are summed in."""
    rng = np.random.default_rng(7)
    kinds = np.tile(np.arange(6), 10)
    x = (rng.standard_normal((6, 40)) * 30.0 + 500.0)[kinds]
    y = (rng.standard_normal((6, 40)) * 0.01)[kinds]
    for comparison in ("spearman", "rho-a"):
        options = Options(kernel, comparison)
        fast, slow = compare(x, y, "rsa", options), _tied_ranks(x, y, kinds, kernel, comparison)
        assert fast == pytest.approx(slow, abs=1e-9)


def _tied_ranks(
    x: np.ndarray, y: np.ndarray, kinds: np.ndarray, kernel: str, comparison: str
) -> float:
    """Rank correlation over pairs of items, each similarity taken from a table over the six
    vectors."""
    first, second = [], []
    for i, j in itertools.combinations(range(len(kinds)), 2):
        a, b = sorted((kinds[i], kinds[j]))
        one, other = np.flatnonzero(kinds == a)[0], np.flatnonzero(kinds == b)[0]
        first.append(
            slow_kernel(x[one], x[other], kernel) if a != b else {"euclidean": 0.0}.get(kernel, 1.0)
        )
        second.append(
            slow_kernel(y[one], y[other], kernel) if a != b else {"euclidean": 0.0}.get(kernel, 1.0)
        )
    k, l = rankdata(first), rankdata(second)  # noqa: E741
    pairs = len(k)
    if comparison == "spearman":
        return float(np.corrcoef(k, l)[0, 1])
    return float(12.0 * np.dot(k - k.mean(), l - l.mean()) / (pairs**3 - pairs))


def test_standardising_against_a_loop() -> None:
    x, _ = _spaces()
    x[:, 3] = 4.2
    result = prepare(x, standardised=True)
    for dimension in range(WIDTH):
        column = x[:, dimension]
        expected = np.zeros(ITEMS) if dimension == 3 else (column - column.mean()) / column.std()
        assert np.allclose(result[:, dimension], expected)


def test_spaces_of_different_widths() -> None:
    x, y = _spaces()
    for name in MEASURES:
        if name == "cosine":
            with pytest.raises(ShapeError, match=f"{WIDTH} and 4"):
                compare(x, y[:, :4], name)
        else:
            assert compare(x, y[:, :4], name) == pytest.approx(
                REFERENCES[name](x, y[:, :4]), abs=1e-9
            )


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.canonical])
def test_fewer_items_than_dimensions_make_canonical_measures_one(name: str) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((2, 20, 30))
    value = compare(x, y, name)
    assert value == pytest.approx(1.0, abs=1e-6) or (name == "svcca" and value > 0.8)


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "cosine"])
def test_a_space_that_does_not_vary_has_no_similarity(name: str) -> None:
    _, y = _spaces()
    assert np.isnan(compare(np.full((ITEMS, WIDTH), 0.3), y, name))
    assert np.isnan(compare(y, np.zeros((ITEMS, WIDTH)), name))


def test_refusals() -> None:
    x, y = _spaces()
    with pytest.raises(SpecError, match=r"rsx.*rsa, cka"):
        compare(x, y, "rsx")
    with pytest.raises(SpecError, match=r"rbf.*cosine, correlation, euclidean"):
        compare(x, y, "rsa", Options(kernel="rbf"))
    with pytest.raises(SpecError, match=r"kendall.*pearson, spearman, rho-a"):
        compare(x, y, "rsa", Options(comparison="kendall"))
    with pytest.raises(ShapeError, match=rf"{ITEMS}\b.*\b{ITEMS - 1}\b"):
        compare(x, y[:-1])
    with pytest.raises(ShapeError, match=r"\(item, d_model\)"):
        compare(x[0], y[0])
    with pytest.raises(ShapeError, match=r"3 .*2\b"):
        compare(x[:2], y[:2])
    with pytest.raises(ShapeError, match=r"4 .*3\b"):
        compare(x[:3], y[:3], "cka-debiased")
    with pytest.raises(ShapeError, match="finite"):
        compare(x, np.where(y > 0, np.inf, y))
    with pytest.raises(ShapeError, match=rf"\b{WIDTH}\b"):
        prepare(x, drop_rogue=WIDTH)
    with pytest.raises(ShapeError, match=rf"\b{WIDTH}\b"):
        prepare_pair(x, y, drop_rogue=WIDTH, together=True)


GENERAL: frozenset[str] = frozenset()  # measures without an interval and chance level of their own


def test_the_registry_is_complete() -> None:
    for name, measure in MEASURES.items():
        assert measure.name == name
        if name not in GENERAL:
            assert measure.null is not None, (
                f"{name}: name it in GENERAL if the general path will do"
            )
            assert measure.jackknife is not None, f"{name}: as for null"
        assert name in REFERENCES, (
            f"tests/core/studies/rsa/references.py has no slow definition of {name}"
        )
        assert measure.label
        assert measure.formula


@pytest.mark.parametrize("name", ["cca", "pwcca", "cka", "cka-debiased", "rsa"])
@pytest.mark.parametrize(
    ("items", "cca", "cka"),
    exhaustive([(1000, 0.825, 0.435), (1600, 0.622, 0.324)], (1000, 0.825, 0.435)),
)
@pytest.mark.slow
def test_null_of_independent_gaussians(name: str, items: int, cca: float, cka: float) -> None:
    expected = {"cca": cca, "pwcca": cca, "cka": cka, "cka-debiased": 0.0, "rsa": 0.0}[name]
    null = compare(*np.random.default_rng(7).standard_normal((2, items, 768)), name)
    assert null == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("name", "expected"), [("cca", 0.338), ("cka", 0.134), ("cka-debiased", 0.0), ("rsa", 0.0)]
)
@pytest.mark.slow
@pytest.mark.exhaustive
def test_null_of_five_thousand_independent_gaussians(name: str, expected: float) -> None:
    null = compare(*np.random.default_rng(8).standard_normal((2, 5000, 768)), name)
    assert null == pytest.approx(expected, abs=0.01)
