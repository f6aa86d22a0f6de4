"""Weights under other names than transformers looks for: the same model, or the cause in words."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.models import describe, load_model
from core.models.files.checkpoints import read_config
from core.models.files.opening import plain_names
from core.models.loading.layers import body_weights, put_body
from core.models.loading.model import load_with_head
from core.models.weights.sources import open_model
from tests.core.contents import read_as
from tests.core.tiny_models import save_tiny

Tensors = dict[str, torch.Tensor]
QUERY = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy without its weights."""
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    (copy / "model.safetensors").unlink()
    return copy


def save_parts(tensors: Tensors, folder: Path, stem: str = "model") -> None:
    for number, part in enumerate(("00001-of-00002", "00002-of-00002")):
        held = dict(list(tensors.items())[number::2])
        save_file(held, folder / f"{stem}-{part}.safetensors", metadata={"format": "pt"})


def save_pickled_parts(tensors: Tensors, folder: Path) -> None:
    for number, part in enumerate(("00001-of-00002", "00002-of-00002")):
        held = dict(list(tensors.items())[number::2])
        torch.save(held, folder / f"pytorch_model-{part}.bin")


def save_wrapped(tensors: Tensors, folder: Path) -> None:
    save_file(
        {f"_orig_mod.{name}": tensor for name, tensor in tensors.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )


def save_parallel(tensors: Tensors, folder: Path) -> None:
    wrapped = {f"module._orig_mod.{name}": tensor for name, tensor in tensors.items()}
    torch.save(wrapped, folder / "pytorch_model.bin")


def save_beside_an_adapter(tensors: Tensors, folder: Path) -> None:
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "someone/else", "r": 4}
    (folder / "adapter_config.json").write_text(json.dumps(adapter))
    save_file({"base_model.model.x": torch.ones(2)}, folder / "adapter_model.safetensors")


@pytest.mark.parametrize(
    "save",
    [
        save_parts,
        save_pickled_parts,
        save_wrapped,
        save_parallel,
        save_beside_an_adapter,
        lambda tensors, folder: save_file(tensors, folder / "tuned.safetensors"),
        lambda tensors, folder: save_parts(tensors, folder, "tuned"),
    ],
)
def test_a_model_is_the_same_under_other_names(
    saved: Path, folder: Path, save: Callable[[Tensors, Path], None]
) -> None:
    save(load_file(saved / "model.safetensors"), folder)
    expected = load_model(f"path:{saved}").model.state_dict()
    loaded = load_model(f"path:{folder}")
    assert loaded.info.parameters == describe(f"path:{saved}").parameters
    assert loaded.model.state_dict().keys() == expected.keys()
    for name, weight in loaded.model.state_dict().items():
        assert weight.equal(expected[name])
    here, there = (open_model(ref, read_as(ref)) for ref in (f"path:{folder}", f"path:{saved}"))
    assert here.entries.keys() == there.entries.keys()
    np.testing.assert_array_equal(here.read(QUERY), there.read(QUERY))


def test_half_precision_and_layers_read_wrapped_names(saved: Path, folder: Path) -> None:
    save_wrapped(load_file(saved / "model.safetensors"), folder)
    loaded = load_model(f"path:{folder}", dtype="bfloat16").model.state_dict()
    expected = load_model(f"path:{saved}", dtype="bfloat16").model.state_dict()
    assert all(weight.equal(expected[name]) for name, weight in loaded.items())


def test_names_are_cleared_of_every_wrapper() -> None:
    names = ["module.a._fsdp_wrapped_module._checkpoint_wrapped_module.w", "module._orig_mod.b"]
    assert plain_names(names) == ["a.w", "b"]
    assert plain_names(["module.a", "b"]) == ["module.a", "b"]  # of the model itself
    assert plain_names([]) == []


def test_two_tensors_of_one_name_are_refused(saved: Path, folder: Path) -> None:
    tensors = load_file(saved / "model.safetensors")
    save_file(
        tensors | {f"_orig_mod.{QUERY}": tensors[QUERY].clone()}, folder / "model.safetensors"
    )
    for use in (load_model, lambda ref: open_model(ref, read_as(ref))):
        with pytest.raises(ModelError, match="differ only in what a wrapper"):
            use(f"path:{folder}")


def test_a_tensor_of_another_shape_is_named_with_both(saved: Path, folder: Path) -> None:
    tensors = load_file(saved / "model.safetensors")
    save_file(tensors | {QUERY: torch.ones(16, 32)}, folder / "model.safetensors")
    uses = [lambda: load_model(f"path:{folder}"), lambda: load_with_head(f"path:{folder}")]
    uses += [lambda: load_model(f"path:{folder}", dtype="bfloat16")]
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertForMaskedLM"]
    (folder / "config.json").write_text(json.dumps(config))
    for use in uses:
        with pytest.raises(ModelError, match=rf"{QUERY} as 16 x 32, .* asks for 32 x 32") as info:
            use()
        assert "mismatched" not in str(info.value)


@pytest.mark.parametrize("pickled", [False, True])
def test_weights_that_were_never_gathered_are_named(
    saved: Path, folder: Path, pickled: bool
) -> None:
    empty = {name: torch.ones(0) for name in load_file(saved / "model.safetensors")}
    if pickled:
        torch.save(empty, folder / "pytorch_model.bin")
    else:
        save_file(empty, folder / "model.safetensors", metadata={"format": "pt"})
    for use in (load_model, describe, lambda ref: open_model(ref, read_as(ref))):
        with pytest.raises(ModelError, match=r"without its numbers, as DeepSpeed ZeRO-3"):
            use(f"path:{folder}")


def test_an_encoder_without_its_decoder_is_said_to_be_one(tmp_path: Path) -> None:
    whole = save_tiny(tmp_path / "t5", "t5")
    config = json.loads((whole / "config.json").read_text())
    (whole / "config.json").write_text(json.dumps({**config, "architectures": ["T5EncoderModel"]}))
    tensors = load_file(whole / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("decoder")}
    save_file(kept, whole / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"the encoder of an encoder-decoder \(T5EncoderModel\)"):
        load_model(f"path:{whole}")


def test_a_folder_inside_that_holds_the_model_is_named(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "0_Transformer")
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(ModelError, match=re.escape(f"{tmp_path / '0_Transformer'}, instead")):
        read_config(tmp_path)


def test_a_body_is_written_under_a_head_whole_or_not_at_all() -> None:
    loaded = load_model("zoo:seed-0", device="cpu").model
    before = {name: value.clone() for name, value in body_weights(loaded).items()}
    moved = {name: value + 1 for name, value in before.items()} | {"more": torch.zeros(2)}
    name = next(iter(before))
    for misfit in (
        {key: value for key, value in moved.items() if key != name},
        moved | {name: torch.zeros(1)},
    ):
        assert not put_body(loaded, misfit)
        assert all(torch.equal(body_weights(loaded)[key], before[key]) for key in before)
    assert put_body(loaded, moved)
    assert all(torch.equal(body_weights(loaded)[key], before[key] + 1) for key in before)
