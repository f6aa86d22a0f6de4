"""The size of a weight change, models that lie part of the way, and patterns of references."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from core.errors import ModelError, SpecError
from core.models import changes
from core.models.changes import (
    Change,
    apartness,
    borrow_between,
    share_start,
    shares_no_start,
    weight_change,
)
from core.models.loading.memory import borrow_model
from core.models.patterns import matching_refs
from core.runs.process.remembered import forget_all
from core.runs.store import Store, using
from core.studies.notices import start_notices
from tests.core.tiny_models import save_tiny


@pytest.fixture(scope="module", name="models")
def _models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a; b, whose layers are 1.5 times a's; wide, of another shape."""
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder / "a")
    save_tiny(folder / "b")
    weights = {
        name: 1.5 * value for name, value in load_file(folder / "b" / "model.safetensors").items()
    }
    save_file(weights, folder / "b" / "model.safetensors", metadata={"format": "pt"})
    save_tiny(folder / "wide", hidden_size=16)
    return folder


def test_a_change_by_half_is_a_half_in_every_number_format(models: Path, tmp_path: Path) -> None:
    import shutil

    import torch

    assert weight_change(f"path:{models / 'a'}", f"path:{models / 'b'}").size == pytest.approx(
        0.5, abs=1e-6
    )
    assert weight_change(f"path:{models / 'a'}", f"path:{models / 'a'}").size == 0.0
    for kind, tolerance in ((torch.bfloat16, 5e-3), (torch.float16, 5e-4), (torch.float64, 1e-6)):
        copy = tmp_path / str(kind)
        shutil.copytree(models / "b", copy)
        halved = {
            name: value.to(kind) for name, value in load_file(copy / "model.safetensors").items()
        }
        save_file(halved, copy / "model.safetensors", metadata={"format": "pt"})
        assert weight_change(f"path:{models / 'a'}", f"path:{copy}").size == pytest.approx(
            0.5, abs=tolerance
        )


def test_names_that_differ_in_what_stands_before_are_the_same(models: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(models / "b", tmp_path / "bare")
    path = tmp_path / "bare" / "model.safetensors"
    bare = {f"another.{name}": value for name, value in load_file(path).items()}
    save_file(bare, path, metadata={"format": "pt"})
    assert weight_change(f"path:{models / 'a'}", f"path:{tmp_path / 'bare'}").size == pytest.approx(
        0.5, abs=1e-6
    )


def test_a_change_that_another_process_has_measured_reads_no_matrix(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(f"path:{models / 'a'}", f"path:{models / other}") for other in ("b", "wide")]
    with using(Store(tmp_path)):
        first = [weight_change(*pair) for pair in pairs]
        forget_all()  # as in another process
        monkeypatch.setattr(changes, "open_weights", pytest.fail)
        again = [weight_change(*pair) for pair in pairs]
    np.testing.assert_equal([astuple(change) for change in again], [*map(astuple, first)])


def test_models_without_common_matrices_have_no_size(models: Path) -> None:
    assert np.isnan(weight_change(f"path:{models / 'a'}", f"path:{models / 'wide'}").size)
    assert np.isnan(weight_change(f"path:{models / 'a'}", f"random:path:{models / 'a'}").size)


def test_a_model_between_two_has_the_weights_between_and_gives_them_back(models: Path) -> None:
    base, other = f"path:{models / 'a'}", f"path:{models / 'b'}"
    with borrow_model(base, device="cpu") as loaded:
        origin = {name: value.clone() for name, value in loaded.model.named_parameters()}
    with borrow_between(base, other, 0.5, device="cpu") as loaded:
        for name, value in loaded.model.named_parameters():
            assert np.allclose(value, 1.25 * origin[name], atol=1e-6)
    with borrow_model(other, device="cpu") as loaded:
        for name, value in loaded.model.named_parameters():
            assert np.allclose(value, 1.5 * origin[name], atol=1e-6)
    with (
        pytest.raises(ModelError, match="nothing between"),
        borrow_between(base, f"path:{models / 'wide'}", 0.5),
    ):
        pass


def test_patterns(models: Path) -> None:
    assert matching_refs(f"path:{models}/*") == tuple(
        f"path:{models / name}" for name in ("a", "b", "wide")
    )
    assert matching_refs(" zoo:seed-0 ") == ("zoo:seed-0",)
    with pytest.raises(SpecError, match="No model matches"):
        matching_refs(f"path:{models}/nothing*")
    with pytest.raises(SpecError, match="one by one"):
        matching_refs("hub:bert-*")


def test_a_pattern_that_begins_with_a_wildcard_names_no_decoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = {"seed-0": "masked-lm", "pos-0": "pos", "decoder-0": "causal-lm"}
    entries = [{"ref": f"zoo:{name}", "name": name, "task": task} for name, task in tasks.items()]
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "models": entries}))
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    assert matching_refs("zoo:*") == matching_refs("zoo:*-0") == ("zoo:seed-0", "zoo:pos-0")
    assert matching_refs("zoo:seed-*") == ("zoo:seed-0",)
    assert matching_refs("zoo:decoder-*") == ("zoo:decoder-0",)


def test_one_threshold_tells_models_that_share_no_start() -> None:
    assert not shares_no_start(0.0)
    assert not shares_no_start(0.5)
    assert not shares_no_start(float("nan"))
    assert shares_no_start(1.0)
    assert start_notices("zoo:base", {"zoo:near": Change(0.3, 0.2), "zoo:none": Change()}) == []
    (told,) = start_notices(
        "zoo:base", {"zoo:near": Change(0.3, 0.2), "zoo:far": Change(1.42, 0.98)}
    )
    assert "far was not trained from base" in told
    assert "98 %" in told


def test_a_run_shares_its_start_from_the_first_step_to_the_last() -> None:
    """As the audit and the lineage have it: step 0 is where the run began, another seed is not."""
    end = "zoo:seed-0"
    near, far = (weight_change(ref, end).apart for ref in ("zoo:seed-0@step-0", "zoo:seed-1"))
    assert 0.7 < near < 0.8
    assert not shares_no_start(near)
    assert shares_no_start(far)


def test_a_cosine_of_few_numbers_is_no_common_start_if_chance_gives_it() -> None:
    assert share_start([0.09, 0.11]).tolist() == [False, True]
    assert share_start([0.2, 0.3], chance=0.05).tolist() == [False, True]
    rng = np.random.default_rng(0)
    for _ in range(200):
        first, second = rng.normal(size=(2, 36))
        squares = [float((values**2).sum()) for values in (second - first, first, second)]
        assert shares_no_start(apartness(*squares), chance=36**-0.5)


def test_apart_is_one_for_unrelated_weights_whatever_their_norms() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 200, 200))
    for scale in (0.1, 1.0, 10.0):
        squares = [
            float((values**2).sum()) for values in (scale * second - first, first, scale * second)
        ]
        assert apartness(*squares) == pytest.approx(1.0, abs=0.02)
    assert np.isnan(apartness(0.0, 0.0, 0.0))
