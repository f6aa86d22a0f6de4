"""Tensors: types, shards, and every way in which a file can be damaged."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core.errors import ModelError
from core.models.files.layout import SAFETENSORS_INDEX as INDEX
from core.models.files.safetensors import LocalFile
from core.models.weights.tensors import Names, open_checkpoint, open_folder
from tests.core.small_zoo import CONFIG, base_tensors, write_model


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_every_float_type_is_read_exactly(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.randn(5, 7).to(dtype)
    save_file({"w": tensor, "other": torch.ones(3)}, tmp_path / "model.safetensors")
    checkpoint = open_folder("here", tmp_path, CONFIG)
    np.testing.assert_array_equal(
        checkpoint.read("w"), tensor.double().numpy().astype(checkpoint.read("w").dtype)
    )
    assert checkpoint.entries["w"].shape == (5, 7)


def test_only_the_bytes_of_the_tensor_are_read(tmp_path: Path) -> None:
    write_model(tmp_path, base_tensors())
    asked: list[tuple[int, int]] = []

    class Counting(LocalFile):
        def read(self, start: int, stop: int) -> bytes:
            asked.append((start, stop))
            return super().read(start, stop)

    checkpoint = open_checkpoint("here", CONFIG, [Counting(tmp_path / "model.safetensors")])
    name = "bert.encoder.layer.0.attention.self.query.weight"
    asked.clear()
    assert checkpoint.read(name).nbytes == sum(stop - start for start, stop in asked)


def test_shards_are_one_checkpoint(tmp_path: Path) -> None:
    tensors = base_tensors()
    halves = [dict(list(tensors.items())[::2]), dict(list(tensors.items())[1::2])]
    shards = {}
    for number, half in enumerate(halves):
        folder = write_model(tmp_path / str(number), half)
        shard = f"model-{number}.safetensors"
        (folder / "model.safetensors").rename(tmp_path / shard)
        shards |= dict.fromkeys(half, shard)
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": shards}))
    checkpoint = open_folder("here", tmp_path, CONFIG)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(checkpoint.read(name), tensor)
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(ModelError, match=r"incomplete: model-1\.safetensors"):
        open_folder("here", tmp_path, CONFIG)


def read_everything(folder: Path) -> None:
    checkpoint = open_folder("here", folder, CONFIG)
    for name in checkpoint.entries:
        checkpoint.read(name)


@pytest.mark.parametrize("keep", [4, 100, -64])
def test_a_truncated_file_is_said_to_be_so(tmp_path: Path, keep: int) -> None:
    path = write_model(tmp_path, base_tensors()) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match="damaged"):
        read_everything(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff" * 100, "not a safetensors file"),
        ((10).to_bytes(8, "little") + b"not json!!", "its header is not one"),
        ((9).to_bytes(8, "little") + b'{"w": {}}', "its header is not one"),
        ((9).to_bytes(8, "little") + b'["w", {}]', "its header is not one"),
    ],
)
def test_a_damaged_header_is_said_to_be_so(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=reason):
        open_folder("here", tmp_path, CONFIG)


def test_a_tensor_of_the_wrong_length_is_damaged(tmp_path: Path) -> None:
    header = b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,8]}}'
    (tmp_path / "model.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + bytes(8)
    )
    with pytest.raises(ModelError, match="damaged"):
        open_folder("here", tmp_path, CONFIG).read("w")


def test_quantized_tensors_are_refused(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(4, 4, dtype=torch.int8)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="stores w as I8: quantized"):
        open_folder("here", tmp_path, CONFIG).read("w")
    with pytest.raises(ModelError, match="holds no tensor v"):
        open_folder("here", tmp_path, CONFIG).read("v")


def test_a_file_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        LocalFile(tmp_path / "gone.safetensors").read(0, 8)


def test_a_tensor_is_found_by_its_name_or_the_only_one_with_another_prefix() -> None:
    names = Names(["a.b.weight", "x.c.weight", "y.c.weight", "d.weight"])
    assert names.find("a.b.weight") == "a.b.weight"
    assert names.find("b.weight") == "a.b.weight"  # shorter
    assert names.find("model.d.weight") == "d.weight"  # longer
    assert names.find("c.weight") == ""  # of two there is no saying
    assert names.find("e.weight") == ""


def test_names_of_many_parts_take_little_memory() -> None:
    tracemalloc.start()
    try:
        names = Names(f"{'a.' * 250}{number}.w" for number in range(300))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5e6
    assert names.find("0.w") == ""
    assert Names(["a.b.c.d.w"]).find("w") == "a.b.c.d.w"
