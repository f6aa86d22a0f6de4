"""A network in another order computes the same, and the order is found again: in families that store
their matrices in different ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.models.loading.model import load_with_head
from core.studies.alignment.barrier.matching import (
    HEADS,
    UNITS,
    drawn_orders,
    layers_of,
    matched_orders,
    read_inputs,
    reorder,
)
from core.studies.alignment.barrier.rotating import fold_gains, rotate, rotation_between
from core.vectors.predicting import ask_following, ask_masked
from tests.core.tiny_models import SENTENCES, save_tiny

MASKED = ("bert", "roformer", "distilbert", "modernbert")
CAUSAL = ("llama", "gpt2", "qwen2", "qwen3", "opt")
LAYERNORM = ("bert", "roformer", "gpt2")


def opened(kind: str, folder: Path, seed: int = 0) -> tuple[Any, Any]:
    loaded = load_with_head(f"path:{save_tiny(folder, kind, head=True, seed=seed)}", device="cpu")
    ask = ask_masked if kind in MASKED else ask_following
    return loaded.model, ask(loaded, SENTENCES)


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_a_drawn_order_is_undone_by_matching_to_the_last_bit(kind: str, tmp_path: Path) -> None:
    model, asked = opened(kind, tmp_path / "model")
    layers, before = layers_of(model), weights(model)
    reads = read_inputs(model, layers, asked)
    drawn = drawn_orders(model.config, reads, len(layers), np.random.default_rng(1))
    assert reorder(model, layers, drawn, asked) == (UNITS, HEADS)
    moved = weights(model)
    assert any(not torch.equal(before[name], moved[name]) for name in before)
    found = matched_orders(model.config, len(layers), reads, read_inputs(model, layers, asked))
    assert reorder(model, layers, found, asked) == (UNITS, HEADS)
    assert all(torch.equal(before[name], value) for name, value in weights(model).items())


def test_an_order_that_changes_the_function_is_taken_back(tmp_path: Path) -> None:
    """Heads with slopes of their own (ALiBi) cannot change places."""
    model, asked = opened("bloom", tmp_path / "model")
    layers, before = layers_of(model), weights(model)
    drawn = drawn_orders(
        model.config, read_inputs(model, layers, asked), len(layers), np.random.default_rng(1)
    )
    assert reorder(model, layers, drawn, asked) == (UNITS,)
    after = weights(model)
    changed = {
        name.rpartition(".h.")[2] for name in before if not torch.equal(before[name], after[name])
    }
    assert changed
    assert not [name for name in changed if "attention" in name]


def test_a_rotated_decoder_computes_the_same_and_is_turned_back(tmp_path: Path) -> None:
    model, asked = opened("llama", tmp_path / "model")
    other, _ = opened("llama", tmp_path / "model")
    layers = layers_of(model)
    before = model(asked[0][0].ids, attention_mask=asked[0][0].mask).logits
    assert all(fold_gains(each, layers, "norm") for each in (model, other))
    drawn = np.linalg.qr(np.random.default_rng(0).normal(size=2 * (model.config.hidden_size,)))[0]
    rotate(other, layers, drawn)
    after = other(asked[0][0].ids, attention_mask=asked[0][0].mask).logits
    assert torch.allclose(before, after, atol=1e-4 * float(before.abs().max()))
    found = rotation_between(model, other, asked)
    assert found == pytest.approx(drawn.T, abs=1e-4)
    rotate(other, layers, found)
    for name, value in weights(other).items():
        assert torch.allclose(value, weights(model)[name], atol=1e-4)


@pytest.mark.parametrize("kind", LAYERNORM)
def test_norms_that_subtract_the_mean_are_not_folded(kind: str, tmp_path: Path) -> None:
    model, _ = opened(kind, tmp_path / "model")
    before = weights(model)
    assert not fold_gains(model, layers_of(model), "norm")
    assert all(torch.equal(before[name], value) for name, value in weights(model).items())
