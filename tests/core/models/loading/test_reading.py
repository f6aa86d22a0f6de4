"""Models in other formats: what runs and what is compared are the numbers that the format holds."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.models import describe, load_model
from core.models.files.safetensors import read_whole_header
from core.models.loading import reading
from core.models.weights.sources import open_model
from tests.core import quantised
from tests.core.contents import read_as
from tests.core.tiny_models import LAYERS, save_tiny, tiny_config, tiny_tokenizer


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")


def read_alike(ref: str, exact: dict[str, np.ndarray]) -> None:
    """The loaded model and the checkpoint hold these numbers, and no others."""
    model = load_model(ref, device="cpu").model
    held = {name: value.numpy() for name, value in model.state_dict().items()}
    checkpoint = open_model(ref, read_as(ref))
    for name, value in exact.items():
        np.testing.assert_allclose(held[name], value, atol=1e-6)
        full = name if name in checkpoint.entries else f"model.{name}"
        np.testing.assert_allclose(checkpoint.read(full), value, atol=1e-6)
    assert describe(ref).parameters == sum(value.size for value in exact.values())


@pytest.mark.parametrize("scheme", quantised.SCHEMES)
def test_quantised_weights_are_read_as_the_numbers_that_they_hold(
    tmp_path: Path, llama: Path, scheme: str
) -> None:
    exact = quantised.quantise(llama, tmp_path / scheme, scheme)
    assert any(
        np.abs(exact[name] - value.numpy()).max() > 0
        for name, value in load_file(llama / "model.safetensors").items()
    )
    read_alike(f"path:{tmp_path / scheme}", exact)


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_a_matrix_cast_to_8_bits_without_scales_is_read_by_every_reader(
    tmp_path: Path, llama: Path, monkeypatch: pytest.MonkeyPatch, kind: torch.dtype, pickled: bool
) -> None:
    folder = Path(shutil.copytree(llama, tmp_path / "model"))
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = next(name for name in tensors if name.endswith("q_proj.weight"))
    tensors[name] = tensors[name].to(kind)
    if pickled:
        path.unlink()
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, path, metadata={"format": "pt"})
    ref, cast = f"path:{folder}", tensors[name].float()
    read_alike(ref, {name: value.float().numpy() for name, value in tensors.items()})
    half = load_model(ref, device="cpu", dtype="bfloat16").model
    assert torch.equal(half.state_dict()[name].float(), cast)
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    weights = load_model(ref, device="cpu", layerwise=True).layerwise
    assert weights is not None
    with weights.holding(0):
        assert torch.equal(weights.model.state_dict()[name], cast)


@pytest.mark.parametrize("format", ["safetensors", "bin"])
def test_weights_of_a_model_read_whole_stay_in_their_file_until_they_are_used(
    tmp_path: Path, llama: Path, format: str
) -> None:
    """Two processes, or two models in one, share what the system has read; and what one of them
    changes, the file and the other do not."""
    folder = Path(shutil.copytree(llama, tmp_path / "model"))
    if format == "bin":
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    file = next(folder.glob(f"*.{format}"))
    stored = file.read_bytes()
    first, second = (load_model(f"path:{folder}", device="cpu").model for _ in range(2))
    with torch.no_grad():
        first.norm.weight.add_(1)
    assert not torch.equal(first.norm.weight, second.norm.weight)
    assert file.read_bytes() == stored
    if sys.platform == "linux":
        assert str(file.resolve()) in Path("/proc/self/maps").read_text()


def test_tensors_that_begin_between_numbers_are_read(tmp_path: Path) -> None:
    """As in a file whose header was not filled up, or behind an odd number of half ones."""
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    header = b'{"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
    header += b" " * (1 - len(header) % 2)
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + values.tobytes())
    read = reading.read_tensors(read_whole_header(path), torch.float32, mapped=True)["a"]
    assert read.data_ptr() % 4 == 0
    np.testing.assert_array_equal(read.numpy(), values)


def test_parts_of_a_gguf_file_are_one_model(tmp_path: Path, llama: Path) -> None:
    exact = quantised.gguf_llama(llama, tmp_path, parts=3)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(llama / name, tmp_path / name)
    (tmp_path / "mmproj-model-f16.gguf").write_bytes(b"GGUF of images")
    read_alike(f"path:{tmp_path}", exact)
    part = tmp_path / "model-00003-of-00003.gguf"
    part.rename(tmp_path / "aside")
    with pytest.raises(ModelError, match="2 of the 3 parts of its weights"):
        describe(f"path:{tmp_path}")
    (tmp_path / "model-00002-of-00003.gguf").unlink()
    (tmp_path / "model-00001-of-00003.gguf").rename(tmp_path / "renamed.gguf")
    with pytest.raises(ModelError, match=r"one of 3 parts of a model.*llama-gguf-split --merge"):
        describe(f"path:{tmp_path}")


def test_tables_of_whole_numbers_beside_quantised_weights_are_left_out(
    tmp_path: Path, llama: Path
) -> None:
    exact = quantised.quantise(llama, tmp_path / "gptq", "gptq")
    path = tmp_path / "gptq/model.safetensors"
    table = {"model.layers.0.self_attn.position_ids": torch.arange(4)}
    save_file(load_file(path) | table, path, metadata={"format": "pt"})
    read_alike(f"path:{tmp_path / 'gptq'}", exact)


def test_gguf_is_read_with_rows_in_order_and_its_own_configuration(
    tmp_path: Path, llama: Path
) -> None:
    exact = quantised.gguf_llama(llama, tmp_path / "gguf")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(llama / name, tmp_path / "gguf" / name)
    assert describe(f"path:{tmp_path / 'gguf'}").layers == LAYERS
    read_alike(f"path:{tmp_path / 'gguf'}", exact)


@pytest.mark.parametrize("legacy", [False, True])
def test_pickled_weights_are_read_by_every_study(tmp_path: Path, llama: Path, legacy: bool) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(llama, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    tensors = load_file(llama / "model.safetensors")
    strided = {
        name: value.t().contiguous().t() if value.ndim == 2 else value
        for name, value in tensors.items()
    }
    torch.save(strided, folder / "pytorch_model.bin", _use_new_zipfile_serialization=not legacy)
    ref = f"path:{folder}"
    model = load_model(ref, device="cpu").model
    checkpoint = open_model(ref, read_as(ref))
    for name, value in tensors.items():
        assert torch.equal(model.state_dict()[name], value)
        np.testing.assert_array_equal(checkpoint.read(name), value.numpy())


def test_pickled_code_is_never_run(
    tmp_path: Path, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hostile"
    shutil.copytree(llama, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    witness = tmp_path / "witness"
    torch.save({"w": Touching(witness)}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="no pickled tensors"):
        open_model(f"path:{folder}", "")
    assert not witness.exists()
    torch.save([torch.zeros(2)], folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="does not hold tensors by name"):
        open_model(f"path:{folder}", "")
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    from core.models.files.pickled import pickled_entries

    with pytest.raises(ModelError, match="a shared instance does not open"):
        pickled_entries(folder / "pytorch_model.bin")


class Touching:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whole", "part", "prefix"),
    [
        ("gemma3", "gemma3_text", "language_model.model."),
        ("gemma4", "gemma4_text", "model.language_model."),
        ("qwen3_5", "qwen3_5_text", "model.language_model."),
        ("qwen3_5_moe", "qwen3_5_moe_text", "model.language_model."),
    ],
)
def test_the_language_model_inside_one_of_images_is_read(
    tmp_path: Path, whole: str, part: str, prefix: str
) -> None:
    """As published: a configuration in another, tensors below a prefix, a vision tower beside."""
    from transformers import AutoModel

    tokenizer = tiny_tokenizer(part)
    config = tiny_config(part, len(tokenizer))
    torch.manual_seed(0)
    inner = AutoModel.from_config(config).eval()
    tensors = {f"{prefix}{name}": value.clone() for name, value in inner.state_dict().items()}
    tensors["model.visual.layers.0.self_attn.q_proj.weight"] = torch.ones(4, 4)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    settings = {"model_type": whole, "architectures": ["Any"], "text_config": config.to_dict()}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    tokenizer.save_pretrained(tmp_path)
    ref = f"path:{tmp_path}"
    assert describe(ref).model_type == part
    loaded = load_model(ref, device="cpu").model
    for name, value in inner.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value), name
    assert f"{prefix}norm.weight" in open_model(ref, read_as(ref)).entries


def test_code_in_the_configuration_of_the_whole_is_refused(tmp_path: Path, llama: Path) -> None:
    shutil.copytree(llama, tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    inner = json.loads(path.read_text())
    settings = {"model_type": "gemma3", "text_config": inner, "auto_map": {"AutoModel": "x.Y"}}
    path.write_text(json.dumps(settings))
    with pytest.raises(ModelError, match="auto_map"):
        describe(f"path:{tmp_path / 'm'}")
