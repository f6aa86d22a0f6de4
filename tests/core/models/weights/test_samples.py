"""Samples are ranges of plain tensors, pickled or not; quantised weights are refused with the
reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.models.files.pickled import PickledTensor
from core.models.weights.audit import INCOMPLETE, audit_seeds
from core.models.weights.samples import MATRICES, MOST_LAYERS, read_sample
from core.models.weights.sources import open_model
from tests.core import quantised
from tests.core.tiny_models import save_tiny

KEPT = re.compile(r"\.\d+\.|embed|wte|wpe|shared")


@pytest.mark.parametrize("name", ["nf4", "gguf"])
def test_quantised_weights_are_not_sampled(tmp_path: Path, name: str) -> None:
    base = save_tiny(tmp_path / "base", "llama")
    assert read_sample(open_model(f"path:{base}", ""))[0]
    if name == "gguf":
        quantised.gguf_llama(base, tmp_path / name)
    else:
        quantised.quantise(base, tmp_path / name, name)
    ref = f"path:{tmp_path / name}"
    with pytest.raises(ModelError, match="no sample is read: convert"):
        read_sample(open_model(ref, ""))


@pytest.mark.parametrize("strided", [False, True])
def test_pickled_weights_give_the_sample_that_safetensors_give(
    tmp_path: Path, strided: bool
) -> None:
    base = save_tiny(tmp_path / "base", "llama")
    tensors = load_file(base / "model.safetensors")
    pickled = tmp_path / "pickled"
    shutil.copytree(base, pickled)
    (pickled / "model.safetensors").unlink()
    if strided:  # as old checkpoints have them: the same numbers, column after column on disk
        tensors = {
            name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor
            for name, tensor in tensors.items()
        }
    buffer = {"position_ids": torch.arange(10)}
    torch.save(tensors | buffer, pickled / "pytorch_model.bin")
    plain, read = read_sample(open_model(f"path:{base}", ""))
    sample, share = read_sample(open_model(f"path:{pickled}", ""))
    assert list(sample) == list(plain)
    assert all(np.array_equal(sample[name], plain[name]) for name in plain)
    assert 0 < share <= read


@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5"])
def test_heads_prefixes_and_number_types_do_not_change_what_is_sampled(
    tmp_path: Path, kind: str
) -> None:
    """A base with its language-model head, and a fine-tune in half precision with a classifier."""
    base = save_tiny(tmp_path / "base", kind)
    tensors = load_file(base / "model.safetensors")
    layers = {name: tensor for name, tensor in tensors.items() if KEPT.search(name)}
    tuned = tmp_path / "tuned"
    shutil.copytree(base, tuned)
    renamed = {f"model.{name}": part.half() for name, part in layers.items()}
    save_file(renamed | {"classifier.weight": torch.ones(50, 40)}, tuned / "model.safetensors")
    whole, part = (read_sample(open_model(f"path:{at}", ""))[0] for at in (base, tuned))
    assert list(part) == list(whole)
    for name, numbers in whole.items():
        assert numbers.shape == part[name].shape
        np.testing.assert_allclose(numbers, part[name], atol=1e-3)
    verdicts = audit_seeds({"base": whole, "tuned": part}, {}).verdicts
    assert INCOMPLETE not in {each.fault for each in verdicts.values()}


@pytest.mark.parametrize(("kind", "depth"), [("bert", 12), ("llama", 24), ("t5", 9)])
def test_a_change_of_any_layer_shows_in_the_sample(tmp_path: Path, kind: str, depth: int) -> None:
    sizes = {"num_layers": depth} if kind == "t5" else {"num_hidden_layers": depth}
    base = save_tiny(tmp_path / "base", kind, **sizes)
    tensors = load_file(base / "model.safetensors")
    sample = read_sample(open_model(f"path:{base}", ""))[0]
    layer = re.compile(r"^(?:encoder|decoder)?\.?\w+\.\d+\.")
    stored, read = (
        {hit[0] for name in names if (hit := layer.match(name))} for names in (tensors, sample)
    )
    assert len(stored) >= depth
    assert read == stored
    assert len(sample) >= MATRICES
    places = [int(hit[1]) for name in sample if (hit := re.search(r"\w+\.(\d+)\.", name))]
    if kind != "t5":
        assert places[:depth] == list(range(depth)), "from bottom to top"


def test_of_very_many_layers_some_are_read_from_bottom_to_top(tmp_path: Path) -> None:
    deep = MOST_LAYERS + 40
    tensors = {f"h.{layer}.{name}.weight": torch.ones(4, 4) for layer in range(deep)
               for name in "ab"}  # fmt: skip
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_layer": 1, "n_embd": 4, '
                                          '"n_head": 1, "n_positions": 4, "vocab_size": 4}')  # fmt: skip
    save_file(tensors, tmp_path / "model.safetensors")
    places = [
        int(name.split(".")[1]) for name in read_sample(open_model(f"path:{tmp_path}", ""))[0]
    ]
    assert len(places) == MOST_LAYERS
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, deep - 1)


def test_a_part_of_a_pickled_matrix_is_that_of_the_whole() -> None:
    tensor = torch.arange(35.0).reshape(5, 7)
    entry = PickledTensor("F32", (5, 7), tensor)
    for start, count in ((0, 35), (0, 1), (6, 2), (13, 15), (34, 1)):
        assert entry.read_part(start, count).tolist() == list(range(start, start + count))
