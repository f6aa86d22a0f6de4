"""Conversion to safetensors: the same numbers, and nothing half written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.commands.main import main
from core.errors import ModelError
from core.models import load_model, load_tokenizer
from core.models.files.safetensors import writing
from core.models.loading.conversion import convert
from tests.core import quantised
from tests.core.tiny_models import save_tiny


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")


def same_model(folder: Path, target: Path) -> None:
    first, second = (load_model(f"path:{place}", device="cpu").model for place in (folder, target))
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value), name


@pytest.mark.slow
def test_pickled_weights_keep_their_type(tmp_path: Path, llama: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(llama, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    tensors = load_file(llama / "model.safetensors")
    types = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
    mixed = {
        name: value.to(types[place % 4]) for place, (name, value) in enumerate(tensors.items())
    }
    torch.save(mixed, folder / "pytorch_model.bin")
    assert main(["convert", str(folder)]) == 0
    converted = load_file(tmp_path / "pickled-safetensors" / "model.safetensors")
    assert converted.keys() == mixed.keys()
    for name, value in mixed.items():
        assert converted[name].dtype == value.dtype
        assert torch.equal(converted[name], value)
    same_model(folder, tmp_path / "pickled-safetensors")


@pytest.mark.parametrize("scheme", ["nf4", "gptq"])
def test_quantised_weights_give_the_same_numbers(tmp_path: Path, llama: Path, scheme: str) -> None:
    quantised.quantise(llama, tmp_path / "q", scheme)
    convert(tmp_path / "q", tmp_path / "plain")
    same_model(tmp_path / "q", tmp_path / "plain")
    assert "quantization_config" not in json.loads((tmp_path / "plain/config.json").read_text())


def test_gguf_brings_its_configuration_and_tokenizer(tmp_path: Path, llama: Path) -> None:
    letters = [chr(code) for code in range(33, 127)]
    tokens = ["<s>", "</s>", *letters, "Ġ", "th", "the"]
    tokens += [f"filler{number}" for number in range(400 - len(tokens))]
    exact = quantised.gguf_llama(llama, tmp_path / "gguf", tokens=tokens)
    target = tmp_path / "plain"
    convert(tmp_path / "gguf", target)
    written = load_file(target / "model.safetensors")
    for name, value in exact.items():
        np.testing.assert_allclose(written[f"model.{name}"].numpy(), value, atol=1e-7)
    assert json.loads((target / "config.json").read_text())["model_type"] == "llama"
    assert (target / "tokenizer.json").is_file()


def test_a_gguf_without_a_vocabulary_asks_for_the_tokenizer(tmp_path: Path, llama: Path) -> None:
    quantised.gguf_llama(llama, tmp_path / "gguf")
    with pytest.raises(ModelError, match=r"put the model's tokenizer\.json beside it"):
        convert(tmp_path / "gguf", tmp_path / "plain")
    assert not list(tmp_path.glob("plain*"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(llama / name, tmp_path / "gguf" / name)
    convert(tmp_path / "gguf", tmp_path / "plain")
    same_model(tmp_path / "gguf", tmp_path / "plain")
    assert load_tokenizer(f"path:{tmp_path / 'plain'}").longest


def test_what_needs_no_conversion_or_would_overwrite_is_refused(
    tmp_path: Path, llama: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(llama), "--out", str(tmp_path / "new")]) == 2
    assert "in safetensors already" in capsys.readouterr().err
    with pytest.raises(ModelError, match="is there already"):
        convert(llama, tmp_path)


def write_whole(folder: Path, form: str) -> dict[str, torch.Tensor]:
    """Write a Gemma 3 of images and text, pickled or quantised; return its language model's
    weights."""
    inner = save_tiny(folder / "inner", "gemma3_text", head=True)
    if form != "pickled":
        quantised.quantise(inner, folder / "q", "nf4")
        inner = folder / "q"
    config = json.loads((inner / "config.json").read_text())
    whole = {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
    if form == "quantised":  # as the whole says, or its part
        whole["quantization_config"] = config.pop("quantization_config")
    shutil.copytree(inner, folder / "whole", ignore=shutil.ignore_patterns("*.safetensors"))
    whole |= {"text_config": config, "vision_config": {}}
    (folder / "whole" / "config.json").write_text(json.dumps(whole))
    tensors = {f"language_model.{key}": part for key, part in load_file(
        inner / "model.safetensors").items()}  # fmt: skip
    tensors["vision_tower.vision_model.head.weight"] = torch.ones(3, 3)
    if form == "pickled":
        torch.save(tensors, folder / "whole" / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "whole" / "model.safetensors")
    return load_model(f"path:{inner}", device="cpu").model.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["pickled", "quantised", "quantised in part"])
def test_a_model_of_images_and_text_stays_one_that_is_read(tmp_path: Path, form: str) -> None:
    weights = write_whole(tmp_path, form)
    assert main(["convert", f"path:{tmp_path / 'whole'}", "--out", str(tmp_path / "new")]) == 0
    same_model(tmp_path / "whole", tmp_path / "new")
    loaded = load_model(f"path:{tmp_path / 'new'}", device="cpu").model.state_dict()
    assert loaded.keys() == weights.keys()
    assert all(torch.equal(loaded[name], part) for name, part in weights.items())
    assert "quantization_config" not in (tmp_path / "new" / "config.json").read_text()
    assert "vision_tower.vision_model.head.weight" in load_file(tmp_path / "new/model.safetensors")


@pytest.mark.parametrize(
    ("ref", "reason"),
    [("zoo:nope", "no model 'nope'"), ("zoo:parse-0", "a whole model, not an adapter")],
)
def test_an_included_model_that_is_no_adapter_is_not_merged(
    ref: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", ref, "--out", str(tmp_path / "out")]) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_the_users_beside_the_target_stays(tmp_path: Path) -> None:
    (tmp_path / "new.partial").mkdir()
    (tmp_path / "new.partial" / "notes.txt").write_text("mine")
    with writing(tmp_path / "new") as written:
        (written / "config.json").write_text("{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "new.partial"]
    assert (tmp_path / "new.partial" / "notes.txt").read_text() == "mine"
    with pytest.raises(ModelError), writing(tmp_path / "other") as written:
        raise ModelError("It cannot be read.")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "new.partial"]
