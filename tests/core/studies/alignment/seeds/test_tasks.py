"""The tasks on planted spaces: what they give is what numpy gives, one layer and one direction at a
time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.evaluation import judging
from core.maths.evaluation.judging import SHOWN
from core.maths.evaluation.split import Parts, split_rows
from core.maths.maps import nonlinear
from core.maths.maps.fitting import train_bank
from core.studies.alignment.seeds import tasks
from core.studies.alignment.seeds.tasks import (
    NO_PART,
    PARTS,
    align_layers,
    align_pair,
    joined_roles,
)
from core.vectors.pairs import Paired
from tests.cases import exhaustive

LAYERS, WIDTH = 3, 4
SENTENCES = tuple(tuple(f"w{number}-{place}" for place in range(5)) for number in range(80))
SENTENCE = np.repeat(np.arange(80), 5)
WORD = np.tile(np.arange(5), 80)


def rotation(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((WIDTH, WIDTH)))[0]


def planted(noise: float = 0.0, width: int = WIDTH) -> tuple[np.ndarray, np.ndarray]:
    """Rows of `one`, and the same turned by a rotation for each layer (or widened by a map), with
    noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((LAYERS, len(SENTENCE), WIDTH)) * (1 + np.arange(WIDTH)) + 3
    if width == WIDTH:
        turn = np.stack([rotation(layer) for layer in range(LAYERS)])
    else:
        turn = rng.standard_normal((LAYERS, WIDTH, width))
    y = x @ turn + noise * rng.standard_normal((LAYERS, len(SENTENCE), width)) - 1
    return x.astype(np.float32), y.astype(np.float32)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks take twenty steps: long enough to tell one training from another."""
    monkeypatch.setattr(
        nonlinear,
        "train_bank",
        lambda *rows: train_bank(*rows[:-1], replace(rows[-1], steps=20)),
    )


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the vectors that both models are found to have."""

    def give(x: np.ndarray, y: np.ndarray) -> Parts:
        paired = Paired(x, y, SENTENCE, WORD, ("Said.",))
        monkeypatch.setattr(tasks, "extract_pair", lambda *given, **more: paired)
        return split_rows(SENTENCES, SENTENCE, WORD, "word", 0)

    return give


def align(*methods: str, layers: tuple[int, ...] = (), part: int = NO_PART) -> dict[str, Any]:
    given = (SENTENCES, "words", "word", methods, layers, 0)
    return dict(align_pair("zoo:a", "zoo:b", "a", "b", *given, part=part))


def least_squares(x: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Test error over the spread round the training mean."""
    design = np.column_stack([x, np.ones(len(x))]).astype(np.float64)
    weights = np.linalg.lstsq(design[train], y[train].astype(np.float64), rcond=None)[0]
    error = ((design[test] @ weights - y[test]) ** 2).sum()
    return float(error / ((y[test] - y[train].mean(0, dtype=np.float64)) ** 2).sum())


def test_a_rotation_is_undone_in_both_directions_at_every_layer(spaces: Any) -> None:
    parts = spaces(*planted())
    value = align("procrustes", "identity")
    assert value["procrustes/nmse"].shape == (2, 2, 3, LAYERS)  # direction, part, subset, layer
    np.testing.assert_allclose(value["procrustes/nmse"][:, :, 0], 0, atol=1e-9)
    np.testing.assert_allclose(value["procrustes/retrieval"][:, :, 0], 1)
    np.testing.assert_allclose(value["procrustes/inverse"][:, :, 0], 0, atol=1e-9)
    assert (value["identity/nmse"][:, :, 0] > 0.1).all()
    assert value["rows"] == len(parts.train)
    assert value["units"].tolist() == sorted({int(unit) for unit in parts.unit[parts.test]})
    assert (value["d_one"], value["d_other"], value["notices"]) == (WIDTH, WIDTH, ["Said."])


def test_errors_are_those_of_least_squares_layer_by_layer(spaces: Any) -> None:
    x, y = planted(noise=2.0)
    parts = spaces(x, y)
    value = align("ols")
    for layer in range(LAYERS):
        for direction, (source, target) in enumerate(((x, y), (y, x))):
            expected = least_squares(source[layer], target[layer], parts.train, parts.test)
            assert value["ols/nmse"][direction, 1, 0, layer] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("layers", [(), (0, 2)])
def test_parts_of_the_layers_give_what_one_task_gives(
    spaces: Any, layers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces(*planted(noise=1.0))
    monkeypatch.setattr(tasks, "GROUP", 1)  # one layer at a time, as where models are wide
    whole = align("inn", layers=layers)
    parts = {("inn", part): align("inn", layers=layers, part=part) for part in range(PARTS)}
    assert [len(value["layers"]) for value in parts.values()] == [len(whole["layers"]) - 1, 1]
    joined = joined_roles(parts)["inn",]
    assert joined.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(joined[name], value, err_msg=name)
    assert not joined_roles({("inn", 1): parts["inn", 1], ("mlp", 0): parts["inn", 0]})


def test_the_scores_of_a_wide_maps_training_are_those_of_rows_at_equal_distances(
    spaces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = planted(noise=2.0)
    parts = spaces(x, y)
    whole = align("ols")
    monkeypatch.setattr(judging, "JUDGED", 30 * WIDTH)
    value = align("ols")
    np.testing.assert_array_equal(value["ols/nmse"][:, 1], whole["ols/nmse"][:, 1])
    train = parts.train
    sample = train[np.linspace(0, len(train) - 1, 30).astype(int)]
    design = np.column_stack([x[1], np.ones(len(x[1]))]).astype(np.float64)
    weights = np.linalg.lstsq(design[train], y[1][train].astype(np.float64), rcond=None)[0]
    error = ((design[sample] @ weights - y[1][sample]) ** 2).sum()
    spread = ((y[1][sample] - y[1][train].mean(0, dtype=np.float64)) ** 2).sum()
    assert value["ols/nmse"][0, 0, 0, 1] == pytest.approx(error / spread, rel=1e-4)


def test_errors_by_unit_add_up_to_the_error_of_all(spaces: Any) -> None:
    spaces(*planted(noise=2.0))
    value = align("ols", "identity")
    for method in ("ols", "identity"):
        whole = value[f"{method}/error"].sum((1, 3)) / value["spread"].sum((1, 3))
        np.testing.assert_allclose(whole, value[f"{method}/nmse"][:, 1, 0], rtol=1e-9)


def test_other_widths_are_mapped_there_and_back_and_what_needs_one_width_says_so(
    spaces: Any,
) -> None:
    x, y = planted(noise=1.0, width=6)
    parts = spaces(x, y)
    value = align("ols", "procrustes", "identity")
    for direction, (source, target) in enumerate(((x, y), (y, x))):
        expected = least_squares(source[1], target[1], parts.train, parts.test)
        assert value["ols/nmse"][direction, 1, 0, 1] == pytest.approx(expected, rel=1e-4)
    assert value["identity/refused"]
    assert "identity/nmse" not in value
    assert "source_points" not in value
    assert (value["d_one"], value["d_other"]) == (WIDTH, 6)


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("width", exhaustive([WIDTH, 6], 6))
def test_layers_mapped_a_few_at_a_time_are_those_mapped_at_once(
    width: int, spaces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces(*planted(noise=1.0, width=width))
    methods = ("identity", "shuffled", "lookup", "ridge", "svcca", "kernel", "mlp", "inn")
    whole = align(*methods)
    monkeypatch.setattr(tasks, "GROUP", 1)
    apart = align(*methods)
    assert apart.keys() == whole.keys()
    for name, value in whole.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            loose = any(trained in name for trained in ("mlp", "inn"))
            np.testing.assert_allclose(
                apart[name], value, rtol=0.02 if loose else 1e-6, atol=1e-3, err_msg=name
            )
        else:
            np.testing.assert_array_equal(apart[name], value, err_msg=name)


def test_chosen_layers_are_those_of_the_whole(spaces: Any) -> None:
    spaces(*planted(noise=1.0))
    every, some = align("ols"), align("ols", layers=(2, 0))
    assert some["layers"].tolist() == [2, 0]
    np.testing.assert_allclose(some["ols/nmse"], every["ols/nmse"][..., [2, 0]], rtol=1e-6)


@pytest.mark.parametrize("layer", [-1, LAYERS])
def test_layers_that_are_not_there_are_refused_with_the_last_that_is(
    spaces: Any, layer: int
) -> None:
    spaces(*planted())
    with pytest.raises(ShapeError, match=f"{LAYERS - 1}"):
        align("ols", layers=(0, layer))


def test_points_are_the_targets_on_their_first_two_principal_components(spaces: Any) -> None:
    x, y = planted()
    parts = spaces(x, y)
    value = align("procrustes")
    assert len(parts.test) <= SHOWN  # all of them are shown
    tested = y[:, parts.test].astype(np.float64)
    for layer in range(LAYERS):
        rows = tested[layer] - tested[layer].mean(0)
        captured = np.linalg.svd(rows, compute_uv=False)[:2]
        drawn = value["target_points"][0, layer] - value["target_points"][0, layer].mean(0)
        np.testing.assert_allclose(np.linalg.norm(drawn, axis=0), captured, rtol=1e-4)
    np.testing.assert_allclose(value["procrustes/mapped"], value["target_points"], atol=1e-4)


def test_any_layer_into_any_layer_is_least_squares_and_has_a_direction(spaces: Any) -> None:
    x, y = planted(noise=2.0)
    y = y[:2]
    parts = spaces(x, y)
    value = align_layers("zoo:a", "zoo:b", "a", "b", SENTENCES, "words", "word", "ols", 0)
    assert value["nmse"].shape == (LAYERS, 2)
    for row in range(LAYERS):
        for column in range(2):
            expected = least_squares(x[row], y[column], parts.train, parts.test)
            assert value["nmse"][row, column] == pytest.approx(expected, rel=1e-4)
    spaces(y, x)
    back = align_layers("zoo:b", "zoo:a", "b", "a", SENTENCES, "words", "word", "ols", 0)
    assert not np.allclose(value["nmse"], back["nmse"].T, rtol=1e-3)
