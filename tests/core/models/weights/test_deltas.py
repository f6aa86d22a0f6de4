"""Deltas: every architecture's matrices, planted ranks, and everything that is no fine-tune of the
base."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.errors import ModelError
from core.maths.spectra.spectra import energy_rank, relative_change, singular_values
from core.models.architectures import ARCHITECTURES
from core.models.weights.deltas import match, read_deltas
from core.models.weights.tensors import Checkpoint, open_folder
from tests.core.small_zoo import CONFIG, Tensors, base_tensors, tuned_tensors, write_model
from tests.core.tiny_models import TYPES, tiny_config


@pytest.fixture
def base(tmp_path: Path) -> Checkpoint:
    return open_folder("base", write_model(tmp_path / "base", base_tensors()), CONFIG)


def opened(folder: Path, tensors: Tensors, **changes: object) -> Checkpoint:
    config = {**CONFIG, **changes}
    return open_folder("tuned", write_model(folder / "tuned", tensors, config), config)


@pytest.mark.parametrize("model_type", TYPES)
def test_every_architecture_gives_its_matrices(tmp_path: Path, model_type: str) -> None:
    """A model with its head against a copy without, every matrix moved by a matrix of rank one that
    is known."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModel

    model = AutoModel.from_config(tiny_config(model_type, 60))
    model.save_pretrained(tmp_path / "base")
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter += 1e-3 * torch.outer(
                    torch.randn(len(parameter)), torch.randn(parameter[0].numel())
                ).reshape(parameter.shape)
    model.save_pretrained(tmp_path / "tuned")
    base, tuned = (load_file(tmp_path / name / "model.safetensors") for name in ("base", "tuned"))
    moved = {name: (tuned[name] - base[name]).numpy() for name in base if base[name].ndim >= 2}
    config = model.config.to_dict()
    pair = match(*(open_folder(name, tmp_path / name, config) for name in ("base", "tuned")))
    deltas = {delta.index: delta.matrix for delta in read_deltas(pair)}
    assert sorted(deltas) == list(range(len(pair.slots)))
    families = {slot.family for slot, _ in pair.slots}
    paired = ARCHITECTURES[model_type].family == "encoder-decoder"
    parts = ("encoder ", "decoder ", "cross ") if paired else ("",)
    for part in parts:
        assert {f"{part}{role}" for role in ("query", "key", "value", "output")} <= families
    for index, (slot, _) in enumerate(pair.slots):
        assert deltas[index].shape == pair.shape(index)
        assert np.abs(deltas[index]).max() > 0
        expected = slot.cut(moved[slot.tensor])
        np.testing.assert_allclose(deltas[index], expected, atol=1e-6)
    if model_type in ("llama", "mistral", "qwen2", "qwen3", "gemma", "phi3"):
        shapes = {slot.family: pair.shape(index) for index, (slot, _) in enumerate(pair.slots)}
        assert {"gate", "ff1", "ff2"} <= families
        assert shapes["key"][0] * 2 == shapes["query"][0]  # grouped keys and values


@pytest.mark.slow
def test_ff1_is_wider_than_the_model_in_every_architecture() -> None:
    """Roles, not only names: the first feed-forward matrix widens, the second narrows, the query
    keeps."""
    from transformers import AutoModel

    from core.models.weights.matrix_families import find_slots

    for model_type in TYPES:
        model = AutoModel.from_config(tiny_config(model_type, 60))
        shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
        for slot in find_slots(model_type, shapes, model.config.to_dict()):
            rows, columns = slot.shape(shapes[slot.tensor])
            role = slot.family.rpartition(" ")[2]
            if role in ("ff1", "gate"):
                assert rows > columns, (model_type, slot)
            if role == "ff2":
                assert rows < columns, (model_type, slot)


def test_planted_ranks_are_recovered(tmp_path: Path, base: Checkpoint) -> None:
    pair = match(base, opened(tmp_path, tuned_tensors(base_tensors(), 0, 0, rank=3, noise=0.0)))
    for delta in read_deltas(pair):
        assert energy_rank(singular_values(delta.matrix), 0.9999) == 3


def test_families_can_be_chosen_and_known_matrices_skipped(
    tmp_path: Path, base: Checkpoint
) -> None:
    pair = match(base, opened(tmp_path, tuned_tensors(base_tensors(), 0, 0)), ["query", "ff1"])
    assert {slot.family for slot, _ in pair.slots} == {"query", "ff1"}
    assert [delta.index for delta in read_deltas(pair, skip={0, 1, 2})] == [3, 4, 5]
    with pytest.raises(ModelError, match=r"no family 'gate'; it has query, key"):
        match(base, pair.tuned, ["gate"])


def test_a_head_and_another_prefix_do_not_matter(tmp_path: Path, base: Checkpoint) -> None:
    tuned = {
        name.removeprefix("bert."): value
        for name, value in tuned_tensors(base_tensors(), 0, 0).items()
    }
    tuned["classifier.weight"] = np.ones((2, 32), np.float32)
    assert len(list(read_deltas(match(base, opened(tmp_path, tuned))))) == 18


def test_an_unrelated_model_is_recognised_before_anything_is_computed(
    tmp_path: Path, base: Checkpoint
) -> None:
    pair = match(base, opened(tmp_path, base_tensors(seed=5)))
    with pytest.raises(
        ModelError, match=r"does not look like a fine-tune of base: relative delta 1\.4"
    ):
        next(read_deltas(pair))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_name_their_tensor(
    tmp_path: Path, base: Checkpoint, value: float
) -> None:
    tensors = tuned_tensors(base_tensors(), 0, 0)
    name = "bert.encoder.layer.1.output.dense.weight"
    tensors[name][3, :2] = value
    with pytest.raises(
        ModelError, match=rf"tuned: 2 of the 2,048 numbers in {name} are not finite"
    ):
        list(read_deltas(match(base, opened(tmp_path, tensors))))


def drop_layer(tensors: Tensors) -> Tensors:
    return {name: value for name, value in tensors.items() if "layer.2." not in name}


def widen(tensors: Tensors) -> Tensors:
    return {
        name: np.zeros((96, 32), np.float32) if "intermediate" in name else value
        for name, value in tensors.items()
    }


def flatten(tensors: Tensors) -> Tensors:
    return {name: value.ravel() if "query" in name else value for name, value in tensors.items()}


@pytest.mark.parametrize(
    ("change", "config", "reason"),
    [
        (drop_layer, {"num_hidden_layers": 2}, "it has 2 layers, the base 3"),
        (drop_layer, {}, "holds 2 layers, and the configuration says 3"),
        (widen, {}, r"intermediate\.dense\.weight is 96 x 32, in the base 64 x 32"),
        (flatten, {}, "is 1024, in the base 32 x 32"),
        (dict, {"model_type": "roberta"}, "one is a roberta, the other a bert"),
        (dict, {"model_type": ""}, "nameless type"),
        (dict, {"vocab_size": 30522}, "30,522 tokens, the base's 50"),
    ],
)
def test_what_does_not_fit_is_said_first(
    tmp_path: Path, base: Checkpoint, change, config, reason: str
) -> None:
    tuned = opened(tmp_path, change(base_tensors()), **config)
    with pytest.raises(ModelError, match=reason):
        match(base, tuned)


def test_a_matrix_that_only_one_has_is_named(tmp_path: Path) -> None:
    """T5 with and without a gate: the same type and depth, another layer."""
    from transformers import AutoModel

    checkpoints = []
    for name, kind in (("plain", "relu"), ("gated", "gated-gelu")):
        model = AutoModel.from_config(tiny_config("t5", 60, feed_forward_proj=kind))
        model.save_pretrained(tmp_path / name)
        checkpoints.append(open_folder(name, tmp_path / name, model.config.to_dict()))
    with pytest.raises(ModelError, match="only one of them has a decoder gate matrix in layer 0"):
        match(*checkpoints)


def test_a_base_whose_weights_are_no_matrices_is_damaged(tmp_path: Path) -> None:
    flat = open_folder("base", write_model(tmp_path / "flat", flatten(base_tensors())), CONFIG)
    with pytest.raises(ModelError, match="is no matrix"):
        match(flat, flat)


def test_a_few_added_words_are_a_notice(tmp_path: Path, base: Checkpoint) -> None:
    pair = match(base, opened(tmp_path, tuned_tensors(base_tensors(), 0, 0), vocab_size=52))
    assert "52 tokens, that of its base 50" in pair.notices[0]


def test_relative_change_of_a_zero_base() -> None:
    assert relative_change(0.0, 0.0) == 0
    assert relative_change(3.0, 0.0) == 0
    assert relative_change(3.0, 0.0, of_nothing=np.inf) == np.inf
    assert relative_change(1.0, 4.0) == 0.5
    np.testing.assert_array_equal(
        relative_change(np.array([0, 1, 9]), np.array([0, 0, 1])), [0, 0, 3]
    )
