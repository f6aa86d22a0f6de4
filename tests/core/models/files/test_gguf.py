"""GGUF files: what a header says, and headers that say something else."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import ModelError
from core.models.files import checkpoints
from core.models.files.gguf import gguf_config, gguf_entries, read_gguf
from tests.core import quantised
from tests.core.hostile import bend_bytes, read_or_refuse
from tests.core.tiny_models import save_tiny

NORM = np.ones(4, np.float32)
PLAIN = {"output_norm.weight": (0, NORM, NORM.tobytes())}


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama, and its copy as GGUF below it."""
    folder = save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")
    quantised.gguf_llama(folder, folder / "gguf", tokens=["<s>", "the"])
    return folder


def written(folder: Path, settings: dict[str, Any], tensors: Any = PLAIN) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(quantised.gguf_file(settings, tensors))
    return path


def test_the_metadata_are_the_configuration(llama: Path) -> None:
    made = checkpoints.read_config(llama / "gguf")
    original = checkpoints.read_config(llama)
    shared = set(made) & set(original) - {"architectures", "eos_token_id", "pad_token_id"}
    assert {"num_hidden_layers", "hidden_size", "num_key_value_heads", "head_dim"} <= shared
    for name in shared - {"rope_parameters", "rms_norm_eps", "bos_token_id"}:
        assert made[name] == original[name] or name == "tie_word_embeddings", name
    assert made["rms_norm_eps"] == pytest.approx(original["rms_norm_eps"])
    assert made["tie_word_embeddings"]  # it has no head of its own
    assert read_gguf(llama / "gguf/model.gguf").settings["tokenizer.ggml.tokens"] == 2


def test_a_configuration_beside_it_is_used(tmp_path: Path, llama: Path) -> None:
    (tmp_path / "model.gguf").write_bytes((llama / "gguf/model.gguf").read_bytes())
    (tmp_path / "config.json").write_bytes((llama / "config.json").read_bytes())
    assert checkpoints.read_config(tmp_path) == checkpoints.read_config(llama)


def test_several_files_are_a_question(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.gguf").write_bytes(b"")
    with pytest.raises(ModelError, match="2 GGUF files of weights"):
        checkpoints.read_config(tmp_path)


@pytest.mark.parametrize(
    ("settings", "tensors", "reason"),
    [
        ({"general.architecture": "rwkv6"}, PLAIN, "'rwkv6', whose tensors are not described"),
        ({}, PLAIN, "'None'|None, whose tensors"),
        ({"general.architecture": "llama"}, {"x.y": PLAIN["output_norm.weight"]}, "holds x.y"),
        (
            {"general.architecture": "llama", "llama.attention.head_count": 3},
            {"blk.0.attn_q.weight": (0, np.ones((4, 4), np.float32), bytes(64))},
            "does not hold 3 heads",
        ),
        (
            {"general.architecture": "llama", "llama.attention.head_count": -1},
            {"blk.0.attn_q.weight": (0, np.ones((4, 4), np.float32), bytes(64))},
            "does not hold -1 heads",
        ),
        (
            {"general.architecture": "llama"},
            {"blk.0.attn_q.weight": (0, np.ones((4, 4), np.float32), bytes(64))},
            "does not hold 0 heads",
        ),
        (
            {"general.architecture": "llama"},
            {"output.weight": (0, np.ones((0, 4), np.float32), b"")},
            "not fit",
        ),
        (
            {"general.architecture": "llama", "general.alignment": 32.5},
            PLAIN,
            "an alignment of 32.5",
        ),
        ({"general.architecture": "llama"}, {"output.weight": (24, NORM, bytes(16))}, "type 24"),
        ({"general.architecture": "llama"}, {"output.weight": (8, NORM, bytes(34))}, "not fit"),
        ({"general.architecture": "llama"}, {"output.weight": (0, NORM, b"")}, "not fit"),
    ],
)
def test_what_is_not_read_is_said(
    tmp_path: Path, settings: dict[str, Any], tensors: Any, reason: str
) -> None:
    with pytest.raises(ModelError, match=reason):
        gguf_entries([written(tmp_path, settings, tensors)])


def test_of_a_long_list_only_its_length_is_kept(tmp_path: Path) -> None:
    name, size = b"tokenizer.ggml.token_type", 2_000
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 2)
    listed = struct.pack("<Q", len(name)) + name + struct.pack("<IIQ", 9, 5, size)
    after = struct.pack("<Q", 1) + b"a" + struct.pack("<II", 4, 7)
    path = tmp_path / "model.gguf"
    path.write_bytes(head + listed + bytes(4 * size) + after)
    assert read_gguf(path).settings == {name.decode(): size, "a": 7}


@pytest.mark.parametrize(
    ("settings", "tensors"),
    [
        ({"llama.rope.scaling.type": "yarn"}, PLAIN),
        ({}, PLAIN | {"rope_freqs.weight": PLAIN["output_norm.weight"]}),
    ],
)
def test_a_scaled_rotation_asks_for_the_configuration(
    tmp_path: Path, settings: dict[str, Any], tensors: Any
) -> None:
    path = written(tmp_path, {"general.architecture": "llama", **settings}, tensors)
    with pytest.raises(ModelError, match=r"put the model's config\.json beside it"):
        gguf_config([path])
    assert set(gguf_entries([path])) == {"model.norm.weight"}


def test_a_file_without_an_embedding_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="without an embedding"):
        gguf_config([written(tmp_path, {"general.architecture": "llama"})])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"LGGF" + bytes(60),
        b"GGUF" + struct.pack("<IQQ", 9, 0, 0) + bytes(40),
        b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0) + bytes(40),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**50) + bytes(40),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 9, 4),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<I", 77),
    ],
)
def test_what_is_no_gguf_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(ModelError, match="damaged"):
        read_gguf(tmp_path / "model.gguf")


@pytest.mark.slow
def test_bent_files_raise_nothing_else(tmp_path: Path, llama: Path) -> None:
    rng = random.Random(0)
    whole = (llama / "gguf/model.gguf").read_bytes()[:6_000]
    small = quantised.gguf_file({"general.architecture": "llama"}, PLAIN)
    path = tmp_path / "model.gguf"
    taken = []

    def read() -> None:
        for entry in gguf_entries([path]).values():
            entry.read()

    for number in range(600):
        path.write_bytes(bend_bytes(rng, small if number % 2 else whole))
        taken.append(read_or_refuse(read))
    assert any(taken)
    assert not all(taken)


def header_of(values: dict[str, bytes]) -> bytes:
    """A file without tensors: each setting's type and value as bytes."""
    parts = [struct.pack("<Q", len(name)) + name.encode() + value for name, value in values.items()]
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values)) + b"".join(parts)


def text_of(size: int) -> bytes:
    return struct.pack("<IQ", 8, size) + "😀".encode() * (size // 4)


def list_of(inner: int, size: int, values: bytes) -> bytes:
    return struct.pack("<IIQ", 9, inner, size) + values


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({f"t{number}": text_of(999_996) for number in range(20)}, "more bytes than any"),
        ({f"n{n}": list_of(4, 1_000, bytes(4_000)) for n in range(1_900)}, "more bytes than any"),
        ({f"n{n}": list_of(4, 1_100_000, bytes(4_400_000)) for n in range(2)}, "1100000 entries"),
        pytest.param(
            {f"s{n}": list_of(8, 1_100_000, bytes(8_800_000)) for n in range(2)},
            "1100000 entries",
            marks=pytest.mark.exhaustive,
        ),
        ({"s": list_of(8, 1_000, bytes(80))}, "not a GGUF file"),
        ({"n": list_of(4, 1_001, bytes(80))}, "ends within"),
    ],
)
def test_what_a_header_says_is_bounded_in_sum(
    tmp_path: Path, values: dict[str, bytes], reason: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(header_of(values))
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(ModelError, match=reason):
        read_gguf(path)
    seconds, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 10.0  # what is traced is slower
    assert peak < 80e6
