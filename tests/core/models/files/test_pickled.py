"""Pickled weights: names without running the pickle, numbers whatever their strides."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.errors import ModelError
from core.models import describe, load_model
from core.models.files import checkpoints, pickled
from core.models.files.pickled import count_pickled, pickled_entries, pickled_names
from tests.core.tiny_models import save_tiny

WEIGHTS = {
    "bert.encoder.layer.0.attention.self.query.weight": torch.arange(12.0).reshape(3, 4).t(),
    "bert.encoder.layer.0.output.dense.bias": torch.ones(3),
}


def pickle_weights(folder: Path, weights: dict[str, torch.Tensor], old: bool = True) -> Path:
    path = folder / "pytorch_model.bin"
    torch.save(weights, path, _use_new_zipfile_serialization=not old)
    assert zipfile.is_zipfile(path) is not old
    return path


@pytest.mark.parametrize("old", [True, False])
def test_names_are_read_and_strides_are_kept(tmp_path: Path, old: bool) -> None:
    path = pickle_weights(tmp_path, WEIGHTS, old)
    assert set(WEIGHTS) <= set(pickled_names(path))
    entries = pickled_entries(path)
    for name, tensor in WEIGHTS.items():
        read = entries[name].read()
        assert read.flags["C_CONTIGUOUS"]
        np.testing.assert_array_equal(read, tensor.numpy())


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    path, trap = tmp_path / "pytorch_model.bin", tmp_path / "trap"
    torch.save({"bert.weight": Trap(trap)}, path, _use_new_zipfile_serialization=False)
    assert "bert.weight" in pickled_names(path)
    assert not trap.exists()
    torch.load(path, weights_only=False)
    assert trap.exists()  # it would have been found


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x02X\xff\xff\xff\x7f"])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"pytorch_model\.bin is damaged \(no pickled tensors"):
        pickled_names(path)


def test_a_zip_without_a_pickle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "nothing")
    with pytest.raises(ModelError, match="is damaged"):
        pickled_names(path)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn]
)
def test_numbers_are_counted_whatever_their_type(
    tmp_path: Path, dtype: torch.dtype, old: bool
) -> None:
    weights = {name: tensor.to(dtype) for name, tensor in WEIGHTS.items()}
    weights["position_ids"] = torch.arange(64)
    weights["tied.weight"] = weights["bert.encoder.layer.0.output.dense.bias"]
    assert count_pickled(pickle_weights(tmp_path, weights, old)) == 12 + 3


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_numbers_are_counted_in_every_protocol(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "pytorch_model.bin"
    torch.save(WEIGHTS, path, pickle_protocol=protocol)
    assert count_pickled(path) == 12 + 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_pickled_model_has_as_many_parameters_as_in_safetensors(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    folder = save_tiny(tmp_path)
    expected = describe(f"path:{folder}").parameters
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    pickle_weights(folder, {name: tensor.to(dtype) for name, tensor in weights.items()}, old=False)
    assert describe(f"path:{folder}").parameters == expected


class Named:
    """A persistent object of these fields, as hostile files may have."""

    def __init__(self, *fields: object) -> None:
        self.fields = fields


class NamedPickler(pickle.Pickler):
    def persistent_id(self, held: object) -> object:
        return held.fields if isinstance(held, Named) else None


@pytest.mark.parametrize(
    "fields",
    [(), ("storage",), ("storage", 5, torch.FloatStorage), (7, "weight"), ("storage", "a", "b", 3)],
)
def test_a_pickle_without_storages_is_damaged(tmp_path: Path, fields: tuple[object, ...]) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive, archive.open("a/data.pkl", "w") as file:
        NamedPickler(file, protocol=2).dump({"weight": Named(*fields)})
    with pytest.raises(ModelError, match=r"bin is damaged \(no pickled tensors\): get it again"):
        count_pickled(path)


def test_a_storage_of_less_than_nothing_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive, archive.open("a/data.pkl", "w") as file:
        fields = ("storage", torch.FloatStorage, "0", "cpu", -5)
        NamedPickler(file, protocol=2).dump({"weight": Named(*fields)})
    assert count_pickled(path) == 0


def test_a_pickle_of_too_many_instructions_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pickle_weights(tmp_path, WEIGHTS, old=False)
    monkeypatch.setattr(pickled, "MOST_OPCODES", 20)
    with pytest.raises(ModelError, match="over 20 instructions"):
        count_pickled(path)


@pytest.mark.parametrize("way", ["large", "two"])
def test_a_pickle_that_unpacks_to_more_than_a_models_is_damaged(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pickle_weights(tmp_path, WEIGHTS, old=False)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in parts if name.endswith("data.pkl"))
    if way == "large":  # packed, it is a thousandth of its size
        parts[name] = parts[name][:-1] + b"(1" * 5_000_000 + b"."
    else:
        parts[f"zz/{name}"] = parts[name]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)

    def load(*given: object, **named: object) -> None:
        raise AssertionError("torch is asked")

    monkeypatch.setattr(torch, "load", load)
    for read in (count_pickled, pickled_names, pickled_entries):
        with pytest.raises(ModelError, match=r"not one data\.pkl of at most 8,388,608 bytes"):
            read(path)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_numbers_are_refused_and_not_halved(
    tmp_path: Path, dtype: torch.dtype, old: bool
) -> None:
    path = pickle_weights(tmp_path, WEIGHTS | {"rotation": torch.ones(3, dtype=dtype)}, old)
    for read in (count_pickled, pickled_entries):
        with pytest.raises(ModelError, match="complex numbers"):
            read(path)


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True])
def test_a_pickled_model_without_its_type_is_read_as_one_with_it(
    tmp_path: Path, sharded: bool
) -> None:
    folder = save_tiny(tmp_path)
    # as a pretrained checkpoint has them: the body under the model's name
    weights = {
        f"bert.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()
    }
    (folder / "model.safetensors").unlink()
    path = pickle_weights(folder, weights)
    if sharded:
        shard = path.rename(folder / "pytorch_model-00001-of-00001.bin")
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, shard.name)}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    whole = describe(f"path:{folder}")
    config = json.loads((folder / "config.json").read_text())
    for name in ("model_type", "architectures"):
        del config[name]
    (folder / "config.json").write_text(json.dumps(config))
    assert checkpoints.read_config(folder)["model_type"] == "bert" == whole.model_type
    assert load_model(f"path:{folder}", device="cpu").info.layers == whole.layers
