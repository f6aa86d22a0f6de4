"""A training checkpoint becomes a folder that transformers opens by itself; what cannot be written
is one sentence."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core.errors import RecipeError
from tests.zoo.made_up import SETTINGS
from zoo.recipe import checkpoints, pretrain, states
from zoo.recipe.checkpoints import finish_seed, read_record, write_json, write_model


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pretraining writes after its last step."""
    folder = tmp_path_factory.mktemp("seed")
    model = pretrain.new_model(SETTINGS)
    optimizer = torch.optim.AdamW(model.parameters())
    note = {"step": 300, "settings": json.loads(json.dumps(vars(SETTINGS)))}
    states.save_tensors(folder / "checkpoint.safetensors", states.state_of(model, optimizer), note)
    states.save_tensors(folder / "step-20.safetensors", states.weights_of(model), {})
    return folder / "checkpoint.safetensors"


def test_a_seed_opens_as_a_body_a_masked_lm_and_a_pipeline(
    checkpoint: Path, tiny_base: Path, tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, pipeline

    note = finish_seed(checkpoint, tiny_base, tmp_path / "seed-0")
    assert note["step"] == 300
    model, found = AutoModelForMaskedLM.from_pretrained(
        tmp_path / "seed-0", output_loading_info=True
    )
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    assert model.dtype == torch.float32
    _, found = AutoModel.from_pretrained(tmp_path / "seed-0", output_loading_info=True)
    assert not found["missing_keys"]
    assert AutoTokenizer.from_pretrained(tmp_path / "seed-0").mask_token == "[MASK]"
    answers = pipeline("fill-mask", model=str(tmp_path / "seed-0"))("the cat [MASK] on the mat")
    assert len(answers) == 5


def test_weights_are_the_trained_ones_rounded_and_tied_ones_come_once(
    checkpoint: Path, tiny_base: Path, tmp_path
) -> None:
    finish_seed(checkpoint, tiny_base, tmp_path / "seed-0")
    shipped = load_file(tmp_path / "seed-0" / "model.safetensors")
    trained = load_file(checkpoint)
    assert {f"model.{name}" for name in shipped} == {
        name for name in trained if name.startswith("model.")
    }
    assert "cls.predictions.decoder.weight" not in shipped
    assert all(
        torch.equal(value, trained[f"model.{name}"].half()) for name, value in shipped.items()
    )
    assert (tmp_path / "seed-0" / "model.safetensors").stat().st_mode & 0o044


def test_a_snapshot_needs_its_settings(checkpoint: Path, tiny_base: Path, tmp_path: Path) -> None:
    snapshot = checkpoint.parent / "step-20.safetensors"
    with pytest.raises(RecipeError, match="pass its settings"):
        finish_seed(snapshot, tiny_base, tmp_path / "seed-0@step-20")
    finish_seed(snapshot, tiny_base, tmp_path / "seed-0@step-20", SETTINGS)
    assert (tmp_path / "seed-0@step-20" / "config.json").is_file()


def test_a_missing_and_a_damaged_checkpoint(
    checkpoint: Path, tiny_base: Path, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match="train the seed first"):
        finish_seed(tmp_path / "none.safetensors", tiny_base, tmp_path / "seed-0")
    damaged = tmp_path / "half.safetensors"
    damaged.write_bytes(checkpoint.read_bytes()[:1000])
    with pytest.raises(RecipeError, match="damaged"):
        finish_seed(damaged, tiny_base, tmp_path / "seed-0")


def test_a_full_disk_is_one_sentence_and_leaves_the_old_model(
    tiny_base: Path, tmp_path: Path, monkeypatch
) -> None:
    model = pretrain.new_model(SETTINGS)
    write_model(model, tiny_base, tmp_path / "seed-0")
    before = (tmp_path / "seed-0" / "model.safetensors").read_bytes()

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(RecipeError, match=r"free some space and run again"):
        write_model(model, tiny_base, tmp_path / "seed-0")
    assert (tmp_path / "seed-0" / "model.safetensors").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["seed-0"]
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(RecipeError, match="free some space"):
        write_json(tmp_path / "manifest.json", {})


def test_weights_that_fp16_cannot_hold_are_refused(tiny_base: Path, tmp_path: Path) -> None:
    model = pretrain.new_model(SETTINGS)
    with torch.no_grad():
        next(model.parameters())[0, 0] = 1e6
    with pytest.raises(RecipeError, match="not finite in fp16"):
        write_model(model, tiny_base, tmp_path / "seed-0")


def test_a_record_that_cannot_be_read_counts_as_none(tiny_base: Path, tmp_path: Path) -> None:
    assert read_record(tmp_path) is None
    write_model(pretrain.new_model(SETTINGS), tiny_base, tmp_path / "run", {"task": "nli"})
    assert read_record(tmp_path / "run") == {"task": "nli"}
    (tmp_path / "run" / "training.json").write_text("{half")
    assert read_record(tmp_path / "run") is None
