"""Sizes that a configuration may claim: every bound is where it says, whatever stands round the
key."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ModelError
from core.models.architectures import ARCHITECTURES
from core.models.files.bounds import (
    BOUNDS,
    LONGEST_TEXT,
    MOST_ITEMS,
    MOST_LABELS,
    MOST_LAYERS,
    MOST_WIDTH,
    NESTED,
    check_bounds,
    refuse_code,
    refuse_redirection,
    walk,
)

LIMITS = [
    ("num_hidden_layers", MOST_LAYERS),
    ("n_layer", MOST_LAYERS),
    ("encoder_layers", MOST_LAYERS),
    ("hidden_size", MOST_WIDTH),
    ("embedding_size", MOST_WIDTH),
    ("d_model", MOST_WIDTH),
    ("type_vocab_size", MOST_WIDTH),
    ("intermediate_size", 4 * MOST_WIDTH),
    ("d_ff", 4 * MOST_WIDTH),
    ("num_attention_heads", 4_096),
    ("num_labels", MOST_LABELS),
    ("vocab_size", 4_000_000),
    ("n_head", 4_096),
    ("num_experts", 4_096),
    ("inner_group_num", 16),
    ("num_hidden_groups", MOST_LAYERS),
    ("pretraining_tp", 16),
    ("attention_window", 1_024),
]
# endings of keys that transformers reads, and that decide neither shapes nor how often code runs
SIZING_NOTHING = (
    *("_token_id", "_ignore_index", "dropout", "drop", "_prob", "dropout_rate", "layerdrop"),
    *("_eps", "_epsilon", "_range", "init_std", "_factor", "_coef", "_noise", "clip_qkv"),
    *("_multiplier", "_scaling", "_scalar", "_softcapping", "swiglu_alpha", "swiglu_limit"),
    *("rope_theta", "id2label", "label2id", "sparse_pred_ignore_index", "num_ln_in_parallel_attn"),
    # which layers, positions or groups of experts; too many are an error
    *("_pattern", "_interval", "_step", "_replace", "_group", "max_window_layers"),
    *("mlp_only_layers", "no_rope_layers", "_n_top"),
    # what is masked, in masks of the sentence's length; how distances are sorted into buckets
    *("sliding_window", "local_attention", "window_size", "clamp_len", "_max_distance"),
    "original_max_position_embeddings",
    "chunk_size_feed_forward",  # `open_config` sets it to 0
)
CONFIGS = st.recursive(
    st.integers() | st.booleans() | st.text(max_size=3) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def refused(config: dict[str, Any]) -> bool:
    try:
        check_bounds(config, "config.json")
    except ModelError:
        return True
    return False


@pytest.mark.parametrize(("key", "bound"), LIMITS)
def test_a_bound_holds_to_the_last_number(key: str, bound: int) -> None:
    assert not refused({key: bound})
    assert refused({key: bound + 1})
    assert refused({"text_config": {"parts": [{key: bound + 1}]}})


@pytest.mark.parametrize(("key", "bound"), LIMITS)
def test_sizes_are_not_negative_and_other_numbers_may_be(key: str, bound: int) -> None:
    assert refused({key: -1})
    assert not refused({f"{key}_of_another": -(10**400)})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    assert refused({"hidden_size": value})
    assert refused({"attention_window": [4, value]})
    assert not refused({"anything": value})


def test_every_position_may_be_asked_for() -> None:
    assert not refused({"max_relative_positions": -1})
    assert refused({"max_relative_positions": -2})


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_every_number_of_a_configuration_is_bounded_or_sizes_nothing(model_type: str) -> None:
    """What transformers reads of a configuration is known; what a version adds is looked at."""
    from transformers import AutoConfig

    config = AutoConfig.for_model(model_type)
    kinds = {entry.name: str(entry.type) for entry in dataclasses.fields(config)}
    values = {**config.to_dict(), **dict.fromkeys(config.attribute_map, 1)}
    numbers = {
        key
        for key in kinds.keys() | values.keys()
        if "int" in kinds.get(key, "") or type(values.get(key)) in (int, float)
    }
    unknown = {key for key in numbers - set(BOUNDS) if not key.endswith(SIZING_NOTHING)}
    assert not unknown


@pytest.mark.parametrize("key", ["rope_theta", "rotary_emb_base"])
def test_rotations_need_a_base_above_zero(key: str) -> None:
    assert not refused({key: 1e-9})
    assert refused({key: 0})
    assert refused({key: -1.0})


@pytest.mark.parametrize(
    ("config", "so"),
    [
        ({"use_cache": True, "num_hidden_layers": True}, False),
        ({"architectures": ["BertModel"]}, False),
        ({"architectures": None}, False),
        ({"architectures": "BertModel"}, True),
        ({"architectures": [7]}, True),
        ({"vocab_size": 30_522.0}, True),
        ({"vocab_size": True}, True),
        ({}, False),
    ],
)
def test_fields_are_of_the_kind_that_their_readers_take_for_granted(
    config: dict[str, Any], so: bool
) -> None:
    assert refused(config) is so


def test_more_entries_than_any_configuration_has() -> None:
    assert not refused({"items": [0] * (MOST_ITEMS - 1)})  # the list itself is an entry
    assert refused({"items": [0] * MOST_ITEMS})


def test_a_text_without_an_end_is_refused_before_it_is_copied() -> None:
    long = "x" * (LONGEST_TEXT + 1)
    for config in ({"a": long}, {long: 0}, {"a": [{"b": [long]}]}):
        assert refused(config)
        with pytest.raises(ModelError, match="characters"):
            refuse_code(config, "config.json")
    assert not refused({"a": long[1:]})


def test_a_refusal_names_the_key_and_the_source_and_no_endless_number() -> None:
    with pytest.raises(ModelError) as refusal:
        check_bounds({"hidden_size": 10**5_000}, "model/config.json")
    assert "hidden_size" in str(refusal.value)
    assert "model/config.json" in str(refusal.value)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("key", ["transformers_weights", "fast_tokenizer_files", "gguf_file"])
def test_a_key_that_names_other_files_is_refused_wherever_it_stands(key: str) -> None:
    refuse_redirection({key: None, "name": key}, "config.json")
    for settings_ in ({key: "other.bin"}, {"nested": [{"deeper": {key: ["x"]}}]}):
        with pytest.raises(ModelError, match=key):
            refuse_redirection(settings_, "config.json")


def by_recursion(key: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [
            (key, NESTED),
            *(pair for inner, item in value.items() for pair in by_recursion(str(inner), item)),
        ]
    if isinstance(value, list):
        return [(key, NESTED), *(pair for item in value for pair in by_recursion(key, item))]
    return [(key, value)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=3), CONFIGS, max_size=4))
def test_walking_is_what_recursion_gives(config: dict[str, Any]) -> None:
    expected = [pair for key, value in config.items() for pair in by_recursion(key, value)]
    assert sorted(map(repr, walk(config))) == sorted(map(repr, expected))


def test_a_configuration_may_be_nested_more_deeply_than_python_recurses() -> None:
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"a": deep}
    assert len([*walk(deep)]) == 20_000
