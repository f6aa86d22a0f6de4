"""Families: names of real checkpoints, what is missing, doubled or unknown."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from core.errors import ModelError
from core.models.weights.matrix_families import Part, Slot, family_order, find_slots, match_names
from tests.core.small_zoo import LAYERS, bert_names
from tests.core.tiny_models import tiny_config

ATTENDING = ("query", "key")


@pytest.mark.parametrize("prefix", ["", "bert.", "model.bert."])
def test_prefixes_are_ignored(prefix: str) -> None:
    slots = find_slots("bert", bert_names(prefix))
    assert len(slots) == 6 * LAYERS
    assert [slot.family for slot in slots[::LAYERS]] == [
        "query",
        "key",
        "value",
        "output",
        "ff1",
        "ff2",
    ]
    assert [slot.layer for slot in slots[:LAYERS]] == list(range(LAYERS))


def test_more_layers_than_the_configuration_says_are_refused() -> None:
    assert find_slots("bert", bert_names(), {"num_hidden_layers": LAYERS})
    with pytest.raises(ModelError, match=f"holds {LAYERS} layers, and the configuration says 1"):
        find_slots("bert", bert_names(), {"num_hidden_layers": 1})


def test_fewer_layers_than_the_configuration_says_are_refused() -> None:
    with pytest.raises(ModelError, match=f"holds {LAYERS} layers, and the configuration says 12"):
        find_slots("bert", bert_names(), {"num_hidden_layers": 12})


def test_both_stacks_of_an_encoder_decoder_have_their_layers() -> None:
    config = {"num_layers": 2, "num_decoder_layers": 1}
    encoder = {f"encoder.block.{n}.layer.0.SelfAttention.q.weight": n for n in range(2)}
    decoder = {"decoder.block.0.layer.0.SelfAttention.q.weight": 0}
    assert len(find_slots("t5", encoder | decoder, config)) == 3
    for names, wrong in (
        (encoder, "0 layers of the decoder"),
        (decoder, "0 layers of the encoder"),
    ):
        with pytest.raises(ModelError, match=f"holds {wrong}"):
            find_slots("t5", names, config)
    with pytest.raises(ModelError, match=r"holds 1 layer of the decoder, .* says 2"):
        find_slots("t5", encoder | decoder, {"num_layers": 2})
    assert find_slots("t5", encoder, {**config, "architectures": ["T5EncoderModel"]})
    with pytest.raises(ModelError, match=r"holds 2 layers of the encoder, .* says 3"):
        find_slots("t5", encoder, {"num_layers": 3, "architectures": ["T5EncoderModel"]})


def test_the_two_output_matrices_of_bert_are_told_apart() -> None:
    slots = {
        slot.family: slot.tensor for slot in find_slots("bert", bert_names()) if slot.layer == 0
    }
    assert slots["output"].endswith("attention.output.dense.weight")
    assert slots["ff2"].endswith("layer.0.output.dense.weight")


def test_fused_and_transposed_tensors_are_cut_into_three() -> None:
    stored = np.arange(2 * 6, dtype=float).reshape(2, 6)  # (input, 3 x output)
    for third in range(3):
        slot = Slot("query", 0, "c_attn", transposed=True, part=Part(third))
        np.testing.assert_array_equal(slot.cut(stored), stored[:, 2 * third : 2 * third + 2].T)
        assert slot.shape((2, 6)) == (2, 2)
    assert Slot("ff1", 0, "c_fc", transposed=True).shape((2, 8)) == (8, 2)
    assert Slot("ff1", 0, "w").cut(stored) is stored


def test_families_are_ordered_part_by_part() -> None:
    names = ["cross key", "decoder query", "encoder ff2", "encoder query"]
    assert sorted(names, key=family_order) == [
        "encoder query",
        "encoder ff2",
        "decoder query",
        "cross key",
    ]


def test_an_unknown_type_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"'whisper'.*: bert, roberta"):
        find_slots("whisper", [])


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


def changed_model(model_type: str, family: str, factor: float) -> Any:
    """A tiny model whose matrices of a family are multiplied, in the rows that the registry says
    are theirs."""
    import torch
    from transformers import AutoModel

    torch.manual_seed(0)
    config = tiny_config(model_type, 60, attn_implementation="eager")
    model = AutoModel.from_config(config).eval()
    tensors = dict(model.named_parameters())
    for slot in find_slots(model_type, tensors, config.to_dict()):
        if slot.family == family:
            # A view of a view: what is changed is the model's own.
            own = tensors[slot.tensor].data.numpy()
            place = slot.cut(np.arange(own.size).reshape(own.shape))
            own.ravel()[place] *= factor
    return model


@pytest.mark.parametrize(
    ("model_type", "family"),
    [
        *itertools.product(("gpt2", "phi3", "gpt_neox", "modernbert", "qwen3_next"), ATTENDING),
        ("deepseek_v3", "query"),  # a part of its keys is shared by all heads, and stays
    ],
)
def test_a_model_without_queries_or_keys_looks_everywhere_alike(
    model_type: str, family: str
) -> None:
    """Fused rows are the right ones: the model itself is asked."""
    import torch

    ids = torch.arange(5, 17)[None]
    for factor, uniform in ((0.0, True), (1.0, False)):
        attentions = changed_model(model_type, family, factor)(
            ids, output_attentions=True
        ).attentions
        for layer in attentions:
            seen = layer > 0
            alike = seen / seen.sum(-1, keepdim=True)
            assert bool(torch.allclose(layer, alike, atol=1e-6)) is uniform


@pytest.mark.parametrize("model_type", ["gpt2", "phi3", "gpt_neox", "modernbert"])
def test_a_model_without_values_moves_nothing_between_words(model_type: str) -> None:
    import torch

    ids = torch.arange(5, 17)[None]
    other = ids.clone()
    other[0, 0] = 50  # the first word, which every later one may look at
    for factor, deaf in ((0.0, True), (1.0, False)):
        model = changed_model(model_type, "value", factor)
        one, two = (model(each).last_hidden_state[0, 1:] for each in (ids, other))
        assert bool(torch.allclose(one, two, atol=1e-6)) is deaf


@pytest.mark.parametrize("model_type", ["phi3", "modernbert", "llama", "gemma"])
def test_the_gate_is_the_half_that_the_activation_bends(model_type: str) -> None:
    """Feed-forward layers are linear in ff1 and not in the gate."""
    import torch

    outputs = []
    for family, factor in (("ff1", 1.0), ("ff1", -1.0), ("gate", -1.0)):
        model = changed_model(model_type, family, factor)
        mlp = next(module for name, module in model.named_modules() if name.endswith("mlp"))
        outputs.append(mlp(torch.linspace(-3, 3, 64).reshape(2, 32)))
    whole, turned, bent = outputs
    assert torch.allclose(turned, -whole, atol=1e-6)
    assert not torch.allclose(bent, -whole, atol=1e-3 * float(whole.detach().abs().max()))


def test_a_fused_tensor_that_cannot_be_divided_is_damaged() -> None:
    with pytest.raises(ModelError, match="10 rows does not hold 3 matrices"):
        Slot("query", 0, "w", part=Part(0)).shape((10, 4))


def test_rows_of_experts_alternate_where_the_model_takes_every_second() -> None:
    """GPT-OSS stores experts (input, output), gate and first matrix column by column."""
    config = {"num_local_experts": 3, "intermediate_size": 4}
    stored = np.arange(3 * 5 * 8.0).reshape(3, 5, 8)  # expert, input, output
    names = ["layers.0.mlp.experts.gate_up_proj", "layers.0.mlp.experts.down_proj"]
    slots = {slot.family: slot for slot in match_names("gpt_oss", names, config).values()}
    for expert in range(3):
        gate, first = (slots[f"expert {expert} {role}"] for role in ("gate", "ff1"))
        np.testing.assert_array_equal(gate.cut(stored), stored[expert, :, ::2].T)
        np.testing.assert_array_equal(first.cut(stored), stored[expert, :, 1::2].T)
        assert first.shape(stored.shape) == (4, 5)
        down = np.arange(3 * 4 * 5.0).reshape(3, 4, 5)
        np.testing.assert_array_equal(slots[f"expert {expert} ff2"].cut(down), down[expert].T)


def test_rows_of_linear_attention_are_those_that_the_model_reads() -> None:
    import torch
    from transformers import AutoModel

    model: Any = AutoModel.from_config(tiny_config("qwen3_next", 60))
    attention = model.layers[0].linear_attn
    rows, column = attention.in_proj_qkvz.weight.shape
    mixed = torch.arange(1.0, rows + 1)[None, None]
    small = torch.arange(1.0, len(attention.in_proj_ba.weight) + 1)[None, None]
    expected = dict(
        zip(
            ("query", "key", "value", "output-gate", "beta", "decay"),
            attention.fix_query_key_value_ordering(mixed, small),
            strict=True,
        )
    )
    tensors = {name: tuple(value.shape) for name, value in model.named_parameters()}
    slots = find_slots("qwen3_next", tensors, model.config.to_dict())
    for role, values in expected.items():
        slot = next(s for s in slots if s.family == f"linear {role}" and s.layer == 0)
        whole = small if role in ("beta", "decay") else mixed
        np.testing.assert_array_equal(slot.cut(whole[0].T.numpy())[:, 0], values.flatten())
        assert slot.shape(tensors[slot.tensor]) == (values.numel(), column)


def test_mixed_layers_need_an_output_and_a_second_matrix_each() -> None:
    from transformers import AutoModel

    model: Any = AutoModel.from_config(tiny_config("qwen3_moe", 60))
    config, names = model.config.to_dict(), [name for name, _ in model.named_parameters()]
    assert {s.layer for s in find_slots("qwen3_moe", names, config) if s.family == "router"} == {
        1,
        2,
    }
    last = [name for name in names if name.startswith("layers.2.")]
    further = [name.replace("layers.2.", "layers.3.") for name in last]  # predicts further tokens
    towers = [f"{tower}.{name}" for tower in ("vision_tower", "mtp") for name in names]
    assert find_slots("qwen3_moe", [*names, *further, *towers], config) == find_slots(
        "qwen3_moe", names, config
    )
    for name in ("layers.1.self_attn.o_proj.weight", "layers.0.mlp.down_proj.weight"):
        with pytest.raises(ModelError, match="incomplete"):
            find_slots("qwen3_moe", [other for other in names if other != name], config)
