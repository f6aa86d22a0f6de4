"""Intruder dimensions: planted ones are all found, Gaussian changes make none, and the slow way
agrees."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import ShapeError
from core.maths.spectra.intruders import (
    compare_directions,
    direction_p_values,
    turned_cosines,
    turned_update,
)
from core.maths.spectra.spectra import singular_values
from core.maths.statistics import permutation_p
from core.results.columns import meaning
from core.runs.runner import run
from core.studies.weights.intruders.spec import IntruderSpec
from core.studies.weights.intruders.study import STUDY, TURNED, plan, prepare
from core.studies.weights.intruders.tasks import LARGE_DRAWS, turned_draws
from core.studies.weights.intruders.text import (
    ALL,
    CHANCE,
    MORE,
    NOT_MORE,
    TOO_FEW,
    TURNED_ALIKE,
    TURNED_MORE,
    corrected,
    make_headline,
    near_threshold,
    statements_of,
)
from core.study import run_first_stage
from tests.core.small_zoo import base_tensors, write_model

SHAPES = ((48, 48), (40, 120), (120, 40))
DRAWS = 120


def base_matrix(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Singular values that fall as those of trained matrices do."""
    left = np.linalg.qr(rng.normal(size=(shape[0], min(shape))))[0]
    right = np.linalg.qr(rng.normal(size=(shape[1], min(shape))))[0]
    return left * np.geomspace(10, 0.1, min(shape)) @ right.T


def spread(size: int, rng: np.random.Generator) -> np.ndarray:
    """A direction that no coordinate has much of."""
    return rng.choice([-1.0, 1.0], size) / np.sqrt(size)


def planted(base: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """A change of rank `count`: as many directions, each a mixture of all of the base's, that come
    first."""
    left, _, right = np.linalg.svd(base, full_matrices=True)
    ours = np.linalg.qr(np.stack([left @ spread(len(left), rng) for _ in range(count)], 1))[0]
    theirs = np.linalg.qr(np.stack([right.T @ spread(len(right), rng) for _ in range(count)], 1))[0]
    return ours * np.linspace(40, 30, count) @ theirs.T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 3])
def test_planted_intruders_are_all_found(shape: tuple[int, int], count: int) -> None:
    rng = np.random.default_rng(count)
    base = base_matrix(shape, rng)
    found = compare_directions(base, planted(base, count, rng), 6, DRAWS, rng)
    assert (found.cosines[:count] < 0.5).all()


def test_planted_intruders_are_more_than_noise_where_noise_of_that_size_leaves_the_base_alone() -> (
    None
):
    rng = np.random.default_rng(7)
    base = base_matrix((96, 96), rng)
    delta = 0.5 * planted(base, 2, rng)
    found = compare_directions(base, delta, 5, DRAWS, rng)
    p_values = direction_p_values(found.cosines, found.null)
    flagged = (found.cosines < 0.5) & (p_values < 0.01)
    assert flagged.sum() == 2
    assert permutation_p(2, (found.null < 0.5).sum(1)) < 0.01


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [0.02, 0.3])
def test_gaussian_changes_hold_none(shape: tuple[int, int], size: float) -> None:
    """The change is itself Gaussian: in none of eight matrices does the test find more than
    that."""
    for seed in range(8):
        rng = np.random.default_rng([seed, *shape])
        base = base_matrix(shape, rng)
        delta = rng.normal(size=shape)
        delta *= size * np.linalg.norm(base) / np.linalg.norm(delta)
        found = compare_directions(base, delta, 6, DRAWS, rng)
        assert permutation_p(int((found.cosines < 0.5).sum()), (found.null < 0.5).sum(1)) >= 0.01
        assert not (
            (found.cosines < 0.5) & (direction_p_values(found.cosines, found.null) < 0.01)
        ).any()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_cosines_and_null_equal_the_slow_way(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    base, delta = base_matrix(shape, rng), rng.normal(size=shape)
    found = compare_directions(base, delta, 5, 400, np.random.default_rng(0))
    ours = np.linalg.svd(base, full_matrices=False)[0]
    theirs, values, _ = np.linalg.svd(base + delta)
    slow = [max(abs(float(ours[:, i] @ theirs[:, j])) for i in range(min(shape))) for j in range(5)]
    np.testing.assert_allclose(found.cosines, slow, atol=1e-9)
    np.testing.assert_allclose(found.values, values[:5], rtol=1e-9)
    drawn = []
    for _ in range(400):
        noise = rng.normal(size=shape) * np.linalg.norm(delta) / np.sqrt(delta.size)
        drawn.append(np.abs(ours.T @ np.linalg.svd(base + noise)[0][:, :5]).max(0))
    error = np.sqrt(np.var(drawn, axis=0) / 400 * 2)
    assert (np.abs(np.mean(drawn, 0) - found.null.mean(0)) < 4 * error + 1e-3).all()


def test_wide_matrices_take_another_road_to_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    base, delta = base_matrix((40, 60), rng), rng.normal(size=(40, 60))
    usual = compare_directions(base, delta, 5, 3, np.random.default_rng(0))
    monkeypatch.setattr("core.maths.spectra.intruders.SMALL", 8)
    other = compare_directions(base, delta, 5, 3, np.random.default_rng(0))
    np.testing.assert_allclose(other.cosines, usual.cosines, atol=1e-9)
    np.testing.assert_allclose(other.null, usual.null, atol=1e-9)


def test_a_change_of_nothing_leaves_every_direction_as_it_was() -> None:
    base = base_matrix((20, 30), np.random.default_rng(0))
    found = compare_directions(base, np.zeros((20, 30)), 5, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found.cosines, 1, atol=1e-9)
    np.testing.assert_allclose(found.null, 1, atol=1e-9)
    with pytest.raises(ShapeError):
        compare_directions(base, base.T, 5, 2, np.random.default_rng(0))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A base, a fine-tune with a planted intruder in one matrix, and one whose changes are
    Gaussian."""
    where, rng = tmp_path_factory.mktemp("intruders"), np.random.default_rng(0)
    base = base_tensors()
    for name, value in base.items():
        if "encoder" in name:
            base[name] = base_matrix(value.shape, rng).astype(np.float32)
    place = "bert.encoder.layer.1.intermediate.dense.weight"
    tuned = base | {
        place: (base[place] + 0.4 * planted(base[place].astype(float), 1, rng)).astype(np.float32)
    }
    noisy = {
        name: (value + 0.02 * rng.normal(size=value.shape)).astype(np.float32)
        if "encoder" in name
        else value
        for name, value in base.items()
    }
    names = (("base", base), ("planted-0", tuned), ("noise-0", noisy))
    return tuple(f"path:{write_model(where / name, tensors)}" for name, tensors in names)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def spec(folders: tuple[str, str, str]) -> IntruderSpec:
    return IntruderSpec(base=folders[0], models=folders[1:], leading=4, draws=DRAWS)


@pytest.mark.slow
def test_the_study_finds_what_was_planted_and_says_so(spec: IntruderSpec) -> None:
    result = STUDY.run(spec)
    assert not result.failures
    rows = result.tables["intruders"].query("intruders > 0 and p_value < .01")
    assert rows[["model", "family", "layer", "intruders"]].to_numpy().tolist() == [
        [spec.models[0], "ff1", 2, 1]
    ]
    total = result.table.query("family == 'all'").set_index("model")
    assert total.loc[spec.models[0], "p_value"] < 0.01 <= total.loc[spec.models[1], "p_value"]
    against_noise = [each for each in result.statements if each.baseline == CHANCE]
    assert [(each.subject, each.verdict) for each in against_noise] == [
        (spec.models[0], MORE),
        (spec.models[1], NOT_MORE),
    ]
    counts = [each.estimate.value for each in against_noise if each.estimate is not None]
    assert counts == total.loc[list(spec.models), "intruders"].tolist()
    assert all(each.named_in(result.headline) for each in result.statements)
    np.testing.assert_allclose(total["corrected_p"], np.minimum(1, 2 * total["p_value"]))
    directions = result.tables["directions"].set_index("model")
    hit = directions.loc[spec.models[0]].query("intruder").iloc[0]
    assert hit["p_value"] < hit["corrected_p"] < 0.05
    assert (directions["corrected_p"] >= directions["p_value"]).all()
    assert (directions.loc[spec.models[1], "corrected_p"] > 0.05).all()
    for name, table in result.tables.items():
        assert [column for column in table.columns if meaning(name, str(column)) is None] == [], (
            name
        )
    assert "Feed-forward 1" in str(STUDY.figures(result)["intruders"].to_dict())


@pytest.mark.slow
def test_another_threshold_computes_the_turned_updates_alone(spec: IntruderSpec) -> None:
    ready = run_first_stage(prepare(spec))
    outputs = run(plan(spec, ready))
    other = replace(spec, threshold=0.99)
    old = {task.key for task in plan(spec, ready)}
    new = [task.role for task in plan(other, ready) if task.key not in old]
    assert new == [(TURNED, ref) for ref in spec.models]
    outputs = outputs.with_more(run([task for task in plan(other, ready) if task.role in new]))
    more = STUDY.result(other, ready, outputs).table["intruders"].sum()
    assert more > STUDY.result(spec, ready, outputs).table["intruders"].sum()


@pytest.mark.slow
def test_noise_alone_is_called_noise(spec: IntruderSpec, tmp_path: Path) -> None:
    result = STUDY.run(replace(spec, models=spec.models[1:]))
    assert [each.verdict for each in result.statements] == [NOT_MORE, TURNED_ALIKE]
    assert all(each.named_in(result.headline) for each in result.statements)


def counted(counts: dict[str, float]) -> pd.DataFrame:
    """A main table whose models have these p-values, one intruder of 40 each."""
    rows = [
        {"model": ref, "family": ALL, "looked": 40, "intruders": 1, "null_mean": 0.5, "p_value": p}
        for ref, p in counts.items()
    ]
    table = pd.DataFrame(rows)
    corrected_p = [corrected(p, len(table)) for p in table["p_value"]]
    turned = {"turned_mean": 0.5, "turned_low": 0.0, "turned_high": 1.0, "turned_draws": 100}
    table = table.assign(corrected_p=corrected_p, significant=0, **turned)
    return table.assign(corrected_turned_p=1.0)


@pytest.mark.parametrize(
    ("p_values", "verdicts"),
    [
        ({"zoo:a": 0.01, "zoo:b": 0.4, "zoo:c": 0.02}, [MORE, NOT_MORE, NOT_MORE]),
        ({"zoo:a": 0.01, "zoo:b": 0.011}, [MORE, MORE]),
        ({"zoo:a": 0.04}, [MORE]),
        ({"zoo:a": 0.06}, [NOT_MORE]),
        ({"zoo:a": 0.03, "zoo:b": 0.4}, [NOT_MORE, NOT_MORE]),
        ({f"zoo:{number}": 0.01 for number in range(6)}, [TOO_FEW] * 6),
    ],
)
def test_p_values_are_corrected_for_the_number_of_models(
    p_values: dict[str, float], verdicts: list[str]
) -> None:
    """100 draws give p-values down to 1/101, which 6 models together make .059."""
    spec, table = IntruderSpec(), counted(p_values)
    stated = statements_of(spec, table)
    assert [each.verdict for each in stated if each.baseline == CHANCE] == verdicts
    headline = make_headline(spec, stated, table)
    for ref in p_values:
        assert re.search(rf"\b{ref[4:]}\b", headline)


def test_a_single_significant_direction_is_said_of_a_model_without_an_excess() -> None:
    table = counted({"zoo:a": 0.01, "zoo:b": 0.4}).assign(significant=[1, 1])
    stated = statements_of(IntruderSpec(), table)
    assert "1 in b" in make_headline(IntruderSpec(), stated, table)
    none = table.assign(significant=[1, 0])
    assert "ingle direction" not in make_headline(IntruderSpec(), stated, none)


def test_p_values_of_a_matrix_hold_for_all_its_directions_together() -> None:
    """Of matrices whose change is one of the null's own, 5 % have any direction at p <= .05, not 5
    % for each."""
    rng, matrices = np.random.default_rng(0), 600
    usual = np.array(
        [0.9, 0.8, 0.7, 0.8, 0.7, 0.6]
    )  # directions differ in how far they usually resemble the base's
    drawn = usual - 0.3 * rng.random((matrices, DRAWS + 1, len(usual)))
    hits = sum((direction_p_values(one[0], one[1:]) <= 0.05).any() for one in drawn)
    assert hits / matrices < 0.05 + 3 * np.sqrt(0.05 * 0.95 / matrices)
    every = 0.9 - 0.3 * rng.random(
        (matrices, DRAWS + 1, 6)
    )  # the same for all: the bound is reached
    hits = sum((direction_p_values(one[0], one[1:]) <= 0.05).any() for one in every)
    assert abs(hits / matrices - 0.05) < 3 * np.sqrt(0.05 * 0.95 / matrices)


def test_a_p_value_counts_the_draws_whose_lowest_cosine_is_as_low() -> None:
    null = np.array([[0.9, 0.5], [0.8, 0.6], [0.4, 0.7]])
    assert direction_p_values(np.array([0.45, 0.55]), null).tolist() == [2 / 4, 3 / 4]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_turned_update_keeps_the_singular_values(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([9.0, 4.0, 1.0])
    left, right = (np.linalg.qr(rng.normal(size=(side, 3)))[0] for side in shape)
    drawn = [turned_update(left, sizes, right, rng) for _ in range(2)]
    made = [first * signed @ second.T for first, signed, second in drawn]
    for each in made:
        np.testing.assert_allclose(np.linalg.svd(each)[1][:3], sizes)
    assert np.linalg.norm(made[0] - made[1]) > 0.5 * np.linalg.norm(made[0])


def test_a_turned_update_has_any_of_the_directions() -> None:
    """One of rank 1 would otherwise have the same largest coordinate in every draw."""
    rng = np.random.default_rng(0)
    left = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    made = [turned_update(left, np.ones(1), np.eye(1), rng)[0] for _ in range(20)]
    assert {round(float(abs(each).max()), 6) for each in made} == {0.8, 1.0}


@pytest.mark.slow
def test_a_turned_update_brings_as_many_intruders_as_turned_ones_and_special_ones_more() -> None:
    """Gaussian updates of that norm bring fewer: they are less concentrated."""
    rng = np.random.default_rng(1)
    base = base_matrix((96, 96), rng)
    sizes = np.linspace(6.0, 4.0, 6)

    def directions(side: int, length: int, count: int) -> np.ndarray:
        return np.linalg.qr(rng.normal(size=(length, count)))[0]

    def turned() -> np.ndarray:
        left, right = directions(0, 96, 6), directions(1, 96, 6)
        return left * sizes @ right.T

    p_values, gaussian = [], []
    for _ in range(20):
        delta = turned()
        seen = compare_directions(base, delta, 10, 20, rng)
        count = int((seen.cosines < 0.5).sum())
        gaussian.append(float((seen.null < 0.5).sum(1).mean()))
        null = (turned_cosines(base, delta, 10, 40, directions, rng) < 0.5).sum(1)
        p_values.append(permutation_p(count, null))
    assert np.mean(np.array(p_values) < 0.05) <= 0.2
    assert np.mean(p_values) > 0.3
    left, _, right = np.linalg.svd(base)
    along = left[:, :6] * sizes @ right[:6]  # reinforces the base's own: no intruder
    null = (turned_cosines(base, along, 10, 40, directions, rng) < 0.5).sum(1)
    assert null.mean() > (compare_directions(base, along, 10, 2, rng).cosines < 0.5).sum()


def test_more_than_turned_updates_is_said_and_concentration_alone_is_not() -> None:
    table = counted({"zoo:a": 0.01, "zoo:b": 0.01}).assign(corrected_turned_p=[0.03, 0.9])
    stated = statements_of(IntruderSpec(), table)
    assert [each.subject for each in stated if each.verdict == TURNED_MORE] == ["zoo:a"]
    headline = make_headline(IntruderSpec(), stated, table)
    assert "significantly fewer than a" in headline
    lead = headline.partition(". A random update")[0]
    assert lead.endswith(f"but those of b are {TURNED_ALIKE.replace('random ', '')}")
    alike = table.assign(corrected_turned_p=0.9)
    headline = make_headline(IntruderSpec(), statements_of(IntruderSpec(), alike), alike)
    assert "no model has detectably more than such updates" in headline
    assert f"but {TURNED_ALIKE.replace('random ', '')}. A random" in headline
    few = alike.assign(turned_draws=5)
    headline = make_headline(IntruderSpec(), statements_of(IntruderSpec(), few), few)
    assert headline.endswith("test the difference: 5, because sides above 512 take long.")
    asked, few = IntruderSpec(draws=19), alike.assign(turned_draws=19)
    headline = make_headline(asked, statements_of(asked, few), few)
    assert headline.endswith("too few were drawn to test the difference.")


@pytest.mark.parametrize("shape", [*SHAPES, (300, 280)])
def test_turned_cosines_equal_those_of_whole_decompositions(shape: tuple[int, int]) -> None:
    """Also of sides whose Gaussian updates are drawn in another way."""
    rng = np.random.default_rng(0)
    base, delta = base_matrix(shape, rng), planted(base_matrix(shape, rng), 3, rng)
    sides = [np.linalg.qr(rng.normal(size=(side, min(shape))))[0] for side in shape]
    ours = turned_cosines(
        base, delta, 5, 3, lambda side, *size: sides[side], np.random.default_rng(1)
    )
    draws = np.random.default_rng(1)
    sizes = singular_values(delta).astype(np.float32)
    sizes = sizes[sizes > 0]
    for row in ours:
        left, signed, right = turned_update(sides[0], sizes, sides[1], draws)
        whole = left * signed @ right.T
        np.fill_diagonal(whole, whole.diagonal() + np.linalg.svd(base)[1])
        slow = abs(np.linalg.svd(whole)[0][: min(shape), :5]).max(0)
        np.testing.assert_allclose(row, slow, atol=1e-3)


def test_models_of_768_dimensions_get_few_turned_updates() -> None:
    assert [turned_draws((side, 4 * side), 100) for side in (128, 384, 512, 768)] == [
        *(100, 100, 100),
        LARGE_DRAWS,
    ]


def test_a_cosine_at_the_threshold_is_told() -> None:
    table = pd.DataFrame({"model": "zoo:a", "cosine": [0.49998, 0.3], "intruder": True})
    (notice,) = near_threshold(IntruderSpec(), table)
    assert notice.startswith("1 of 2 intruder dimensions of a has a cosine")
    assert "0.49998" in notice
    assert not near_threshold(IntruderSpec(), table.assign(cosine=0.3))
