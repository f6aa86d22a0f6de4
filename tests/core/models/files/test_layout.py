"""Which files of a model are read, decided by their names."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import ModelError
from core.models.files.layout import (
    ADAPTER,
    PICKLED,
    PICKLED_INDEX,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    inner_models,
    lay_out,
    unread_notice,
)

PARTS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
PICKLED_PARTS = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
SPLIT = ["llama-00001-of-00002.gguf", "llama-00002-of-00002.gguf"]


def files_of(names: list[str], index: list[str] | None = None) -> tuple[list[str], list[str]]:
    """What is read of these files, and what is not."""
    layout = lay_out(names, "here")
    files = layout.weight_files(lambda name: {"weight_map": dict(enumerate(index or PARTS))})
    return files, layout.unread(files)


@pytest.mark.parametrize(
    ("names", "files"),
    [
        ([SAFETENSORS, SAFETENSORS_INDEX, *PARTS, PICKLED, "a.gguf"], [SAFETENSORS]),
        ([SAFETENSORS_INDEX, *PARTS, PICKLED], PARTS),
        ([PICKLED, PICKLED_INDEX, "stray.safetensors", *PARTS], [PICKLED]),
        ([PICKLED, "training_args.bin", "optimizer.pt", "scheduler.pt"], [PICKLED]),
        (["stray.safetensors", "a.gguf", "adapter_model.safetensors"], ["stray.safetensors"]),
        (["tuned.safetensors", "config.json", "1_Dense/model.safetensors"], ["tuned.safetensors"]),
        ([*PARTS, "a.gguf"], PARTS),
        ([*PICKLED_PARTS, "training_args.bin"], PICKLED_PARTS),
        (["a.gguf", "mmproj-a-f16.gguf", "a.mmproj.gguf"], ["a.gguf"]),
        ([*reversed(SPLIT), "mmproj-BF16.gguf"], SPLIT),
    ],
)
def test_one_model_is_read_and_the_rest_is_named(names: list[str], files: list[str]) -> None:
    read, unread = files_of(names)
    assert read == files
    weights = {name for name in names if "/" not in name and "training_args" not in name}
    left = weights - {*files, "config.json", "optimizer.pt", "scheduler.pt"}
    assert set(unread) == left - ({SAFETENSORS_INDEX} if files == PARTS else set())
    assert unread == sorted(unread)


def test_weights_of_transformers_names_beside_an_adapter_are_a_model() -> None:
    adapter = [ADAPTER, "adapter_model.safetensors", "config.json"]
    for name in (SAFETENSORS, PICKLED):
        assert not lay_out([*adapter, name], "here").adapter
        assert files_of([*adapter, name]) == ([name], adapter[:2])
    for names in (adapter, [*adapter, "stray.safetensors"], [*adapter, "a.gguf"]):
        layout = lay_out(names, "here")
        assert layout.adapter
        assert layout.unread([]) == []
        with pytest.raises(ModelError, match="here holds an adapter"):
            layout.weight_files(dict)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a.safetensors", "b.safetensors"], r"2 safetensors files of weights \(a.* and b"),
        (["a.gguf", "b.gguf", "mmproj.gguf"], "2 GGUF files of weights"),
        ([*SPLIT, "b.gguf"], "2 GGUF files of weights"),
        (PARTS[1:], r"1 of the 2 parts of its weights \(model-00002-of-00002"),
        ([SPLIT[0], "llama-00003-of-00002.gguf"], "parts of its weights"),
        (["llama-00001-of-999999.gguf"], "1 of the 999999 parts"),
        (["adapter_model.safetensors"], "without adapter_config.json"),
        (["mmproj-model.gguf", "config.json"], "only the image part"),
        (["config.json", "training_args.bin"], "model.safetensors is missing, and so are other"),
        ([], "model.safetensors is missing, and so are other"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_reason(names: list[str], reason: str) -> None:
    with pytest.raises(ModelError, match=f"^here.*{reason}"):
        files_of(names)


@pytest.mark.parametrize(
    "index", [{}, {"weight_map": {}}, {"weight_map": {"w": 3}}, {"weight_map": []}]
)
def test_an_index_that_names_no_files_is_refused(index: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="does not list plain file names"):
        lay_out([SAFETENSORS_INDEX], "here").weight_files(lambda name: index)


@pytest.mark.parametrize("shard", ["../other.safetensors", "code.py"])
def test_an_index_must_stay_in_its_folder(shard: str) -> None:
    with pytest.raises(ModelError, match="does not list plain file names"):
        files_of([SAFETENSORS_INDEX, shard], [shard])


@pytest.mark.parametrize(
    ("shard", "names"), [("gone.safetensors", []), ("pickled.bin", ["pickled.bin"])]
)
def test_every_shard_must_be_there_in_its_format(shard: str, names: list[str]) -> None:
    with pytest.raises(ModelError, match=f"incomplete: {shard}"):
        files_of([SAFETENSORS_INDEX, *names], [shard])


def test_a_configuration_and_a_tokenizer_are_read_from_gguf_only_beside_its_weights() -> None:
    alone = lay_out(["a.gguf", "tokenizer_config.json"], "here")
    assert (alone.config, alone.tokenizer) == ("a.gguf", ["tokenizer_config.json", "a.gguf"])
    split = lay_out([*SPLIT, "mmproj-a.gguf"], "here")
    assert (split.config, split.tokenizer) == (SPLIT[0], [SPLIT[0]])
    beside = lay_out(["a.gguf", SAFETENSORS], "here")
    assert (beside.config, beside.tokenizer) == ("config.json", [])
    both = lay_out(["a.gguf", "config.json", "vocab.txt", "tokenizer.json"], "here")
    assert (both.config, both.tokenizer) == ("config.json", ["tokenizer.json"])


def test_a_notice_names_what_is_read_and_what_is_not() -> None:
    assert unread_notice("path:a", [], [SAFETENSORS]) == ""
    notice = unread_notice("path:a", [*PARTS, SAFETENSORS_INDEX], [SAFETENSORS])
    assert all(name in notice for name in ["path:a", *PARTS, SAFETENSORS_INDEX, SAFETENSORS])
    many = unread_notice("path:a", [f"part-{number}" for number in range(40)], [PICKLED])
    assert "part-2 and 37 more, which were" in many
    assert "part-3" not in many


def test_folders_inside_that_hold_a_model_are_found() -> None:
    assert inner_models(["README.md", "0_Transformer/config.json", "1_Pooling/x.json"]) == [
        "0_Transformer"
    ]
