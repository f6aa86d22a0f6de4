"""Quantised checkpoints that are damaged, or in a scheme that is not read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.models import describe, load_model
from core.models.files.checkpoints import read_config
from core.models.files.opening import open_weights, quantisation_notice
from core.models.files.schemes import check_method
from tests.core import quantised
from tests.core.tiny_models import save_tiny


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")


@pytest.mark.parametrize(
    "settings",
    [
        {"quant_method": "aqlm"},
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "gptq"},
        {"quant_method": "awq", "version": "gemv"},
        {"quant_method": "awq", "bits": 8},
        "gptq",
        None,
    ],
)
def test_other_schemes_are_refused_with_those_that_are_read(settings: Any) -> None:
    with pytest.raises(ModelError, match=r"quantised weights that are not read here.*bitsandbytes"):
        check_method(settings, "config.json")


def read_all(folder: Path) -> None:
    for entry in open_weights(folder, read_config(folder)).values():
        entry.read()


@pytest.mark.parametrize(
    ("dtype", "scale", "is_read"),
    [
        (torch.float8_e4m3fn, "weight_scale", False),
        (torch.float8_e4m3fn, "scale_weight", False),
        (torch.float8_e5m2, "weight_scale_inv", False),
        (torch.int8, "SCB", False),
        (torch.int8, "", False),
        (torch.uint8, "weight.absmax", False),
        (torch.uint32, "scales", False),
        (torch.float8_e4m3fn, "", True),
    ],
)
def test_codes_without_a_word_on_their_scales_are_not_read_as_numbers(
    tmp_path: Path, llama: Path, dtype: torch.dtype, scale: str, is_read: bool
) -> None:
    folder = Path(shutil.copytree(llama, tmp_path / "model"))
    path = folder / "model.safetensors"
    whole = load_file(path)
    name = next(name for name in whole if name.endswith("q_proj.weight"))
    scales = {f"{name.removesuffix('weight')}{scale}": torch.ones(1)} if scale else {}
    whole |= {name: whole[name].to(dtype)} | scales
    save_file(whole, path, metadata={"format": "pt"})
    uses: list[Any] = [load_model, lambda ref: open_weights(folder, read_config(folder))]
    for use in uses:
        if is_read:
            use(f"path:{folder}")
        else:
            with pytest.raises(ModelError, match=r"q_proj\.weight as .*no quantization_config"):
                use(f"path:{folder}")


@pytest.mark.parametrize("scheme", quantised.SCHEMES)
def test_a_missing_or_misshapen_part_is_said(tmp_path: Path, llama: Path, scheme: str) -> None:
    folder = tmp_path / scheme
    quantised.quantise(llama, folder, scheme)
    path = folder / "model.safetensors"
    whole = load_file(path)
    part = {
        "fp8": "q_proj.weight_scale_inv",
        "int8": "q_proj.SCB",
        "nf4": "q_proj.weight.absmax",
        "gptq": "q_proj.scales",
        "awq": "q_proj.scales",
    }[scheme]
    name = next(name for name in whole if name.endswith(part))
    save_file(whole | {name: torch.ones(3, 5)}, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="damaged"):
        read_all(folder)
    if scheme in ("gptq", "awq"):
        save_file(whole | {name: torch.ones(3)}, path, metadata={"format": "pt"})
        with pytest.raises(ModelError, match="damaged"):
            read_all(folder)
    if scheme in ("nf4", "gptq", "awq"):
        kept = {key: value for key, value in whole.items() if key != name}
        save_file(kept, path, metadata={"format": "pt"})
        with pytest.raises(ModelError, match=f"lacks .*{part}"):
            open_weights(folder, read_config(folder))


def test_a_matrix_in_8_bits_without_its_scales_is_said(tmp_path: Path, llama: Path) -> None:
    quantised.quantise(llama, tmp_path / "fp8", "fp8")
    path = tmp_path / "fp8/model.safetensors"
    kept = {
        name: part for name, part in load_file(path).items() if "q_proj.weight_scale" not in name
    }
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks .*q_proj\.weight_scale"):
        read_all(tmp_path / "fp8")


def test_scales_without_axes_are_said(tmp_path: Path, llama: Path) -> None:
    quantised.quantise(llama, tmp_path / "gptq", "gptq")
    path = tmp_path / "gptq/model.safetensors"
    whole = load_file(path)
    name = next(name for name in whole if name.endswith("q_proj.scales"))
    save_file(whole | {name: torch.tensor(1.0)}, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="damaged"):
        read_all(tmp_path / "gptq")


def test_codes_that_are_no_whole_numbers_are_said(tmp_path: Path, llama: Path) -> None:
    quantised.quantise(llama, tmp_path / "nf4", "nf4")
    path = tmp_path / "nf4/model.safetensors"
    whole = load_file(path)
    name = next(name for name in whole if name.endswith("q_proj.weight"))
    whole[name] = whole[name].flatten().view(torch.float16)
    save_file(whole, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="damaged"):
        read_all(tmp_path / "nf4")


def test_rows_in_the_order_of_a_graphics_card_are_refused(tmp_path: Path, llama: Path) -> None:
    quantised.quantise(llama, tmp_path / "int8", "int8")
    path = tmp_path / "int8/model.safetensors"
    read_all(tmp_path / "int8")
    whole = load_file(path)
    name = next(name for name in whole if name.endswith("q_proj.weight_format"))
    save_file(whole | {name: torch.tensor(2, dtype=torch.uint8)}, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="weight_format"):
        read_all(tmp_path / "int8")


def test_pickled_codes_are_not_taken_for_weights(tmp_path: Path, llama: Path) -> None:
    quantised.quantise(llama, tmp_path / "int8", "int8")
    path = tmp_path / "int8/model.safetensors"
    torch.save(load_file(path), path.with_name("pytorch_model.bin"))
    path.unlink()
    with pytest.raises(ModelError, match="choose the model in safetensors"):
        read_all(tmp_path / "int8")


@pytest.mark.parametrize(
    "state",
    [
        *(b"no JSON", b"[]", b'{"shape": [0], "blocksize": 4}', b"{}"),
        b'{"shape": [4, 4], "blocksize": 1e999}',
        b'{"shape": [4096, 4096, 4096], "blocksize": 16}',
        b" " * 200_000 + b'{"shape": [16, 16], "blocksize": 16}',
    ],
)
def test_a_damaged_state_of_four_bits_is_said(tmp_path: Path, llama: Path, state: bytes) -> None:
    folder = tmp_path / "nf4"
    quantised.quantise(llama, folder, "nf4")
    path = folder / "model.safetensors"
    whole = load_file(path)
    name = next(name for name in whole if "quant_state" in name)
    whole[name] = torch.frombuffer(bytearray(state), dtype=torch.uint8)
    save_file(whole, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="damaged quantisation state"):
        describe(f"path:{folder}")


def test_scales_that_are_not_quantised_again_are_read_too(tmp_path: Path, llama: Path) -> None:
    import numpy as np

    folder = tmp_path / "nf4"
    quantised.quantise(llama, folder, "nf4")
    path = folder / "model.safetensors"
    whole, original = load_file(path), load_file(llama / "model.safetensors")
    name = "layers.1.mlp.up_proj.weight"
    parts, exact = quantised.nf4(name, original[name].numpy(), nested=False)
    kept = {key: value for key, value in whole.items() if not key.startswith(name)}
    save_file(kept | parts, path, metadata={"format": "pt"})
    entries = open_weights(folder, read_config(folder))
    np.testing.assert_allclose(entries[name].read(), exact, atol=1e-7)


def test_experts_in_mxfp4_are_stored_by_output_and_read_by_input(tmp_path: Path) -> None:
    """As GPT-OSS is published: blocks and scales of all experts."""
    import numpy as np

    from core.models.files.packed import mxfp4
    from core.models.files.safetensors import LocalFile
    from core.models.weights.tensors import open_checkpoint

    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 256, (2, 6, 1, 16)).astype(np.uint8)
    scales = rng.integers(120, 130, (2, 6, 1)).astype(np.uint8)
    name = "model.layers.0.mlp.experts.gate_up_proj"
    parts = {f"{name}_blocks": torch.from_numpy(blocks), f"{name}_scales": torch.from_numpy(scales)}
    save_file(parts, tmp_path / "m.safetensors")
    config = {"quantization_config": {"quant_method": "mxfp4"}}
    checkpoint = open_checkpoint("here", config, [LocalFile(tmp_path / "m.safetensors")])
    assert checkpoint.entries[name].shape == (2, 32, 6)
    expected = mxfp4(blocks, scales)
    for expert in range(2):
        np.testing.assert_array_equal(checkpoint.read(name)[expert], expected[expert].T)


def test_the_notice_names_the_schemes_and_plain_weights_have_none(
    tmp_path: Path, llama: Path
) -> None:
    assert quantisation_notice("a", open_weights(llama, read_config(llama))) == ""
    quantised.quantise(llama, tmp_path / "q", "gptq")
    entries = open_weights(tmp_path / "q", json.loads((tmp_path / "q/config.json").read_text()))
    assert "GPTQ-4" in quantisation_notice("path:q", entries)
