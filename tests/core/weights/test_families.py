"""Families: names of real checkpoints, what is missing, doubled or unknown."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ModelError
from core.models import checkpoints
from core.weights.families import ARCHITECTURES, Slot, family_order, find_slots
from tests.core.weights.small_zoo import LAYERS, bert_names


def test_every_model_type_that_can_be_opened_has_its_names() -> None:
    assert set(ARCHITECTURES) == set(checkpoints.ARCHITECTURES)


@pytest.mark.parametrize("prefix", ["", "bert.", "model.bert."])
def test_prefixes_are_ignored(prefix: str) -> None:
    slots = find_slots("bert", bert_names(prefix))
    assert len(slots) == 6 * LAYERS
    assert [slot.family for slot in slots[::LAYERS]] == ["query", "key", "value", "output", "ff1", "ff2"]
    assert [slot.layer for slot in slots[:LAYERS]] == list(range(LAYERS))


def test_the_two_output_matrices_of_bert_are_told_apart() -> None:
    slots = {slot.family: slot.tensor for slot in find_slots("bert", bert_names()) if slot.layer == 0}
    assert slots["output"].endswith("attention.output.dense.weight")
    assert slots["ff2"].endswith("layer.0.output.dense.weight")


def test_fused_and_transposed_tensors_are_cut_into_three() -> None:
    stored = np.arange(2 * 6, dtype=float).reshape(2, 6)  # (input, 3 x output)
    for third in range(3):
        slot = Slot("query", 0, "c_attn", transposed=True, third=third)
        np.testing.assert_array_equal(slot.cut(stored), stored[:, 2 * third : 2 * third + 2].T)
        assert slot.shape((2, 6)) == (2, 2)
    assert Slot("ff1", 0, "c_fc", transposed=True).shape((2, 8)) == (8, 2)
    assert Slot("ff1", 0, "w").cut(stored) is stored


def test_families_are_ordered_part_by_part() -> None:
    names = ["cross key", "decoder query", "encoder ff2", "encoder query"]
    assert sorted(names, key=family_order) == ["encoder query", "encoder ff2", "decoder query", "cross key"]


def test_an_unknown_type_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"'albert'; known are bert, roberta"):
        find_slots("albert", [])


def test_names_of_another_type_are_refused() -> None:
    with pytest.raises(ModelError, match="No tensor is named as in a gpt2"):
        find_slots("gpt2", bert_names())


def test_a_missing_matrix_is_named() -> None:
    names = [name for name in bert_names() if "layer.1.attention.self.key" not in name]
    with pytest.raises(ModelError, match="no key matrix for layer 1"):
        find_slots("bert", names)


def test_two_towers_are_refused() -> None:
    with pytest.raises(ModelError, match="two towers"):
        find_slots("bert", [*bert_names("question."), *bert_names("context.")])
