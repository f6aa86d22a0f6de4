"""Qwen 3 with experts, Qwen3-Next and Qwen 3.5.

The last two mix layers of attention, whose output passes a gate, with layers of linear attention
(gated delta rule). The convolution over time of the latter is no matrix of the layer's states and
is left out.

Reference: Yang et al. 2025, arXiv 2412.06464 (gated delta networks).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.models.architecture import Tensor, count, fuse, interleaved, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

_LINEAR = "layers.#.linear_attn."


def _linear_sizes(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Heads of keys, and the sizes of one key and of the values that go with it."""
    heads = count(config, "linear_num_key_heads")
    values = count(config, "linear_num_value_heads") // heads
    return (
        heads,
        count(config, "linear_key_head_dim"),
        values * count(config, "linear_value_head_dim"),
    )


def by_key_head(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give Qwen3-Next's order: query, key, values and gates of one key head, then of the next."""
    heads, key, value = _linear_sizes(config)
    return (key, key, value, value), heads


def one_after_another(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give Qwen 3.5's order: all queries, all keys, all values."""
    _, key, value = _linear_sizes(config)
    return (key, key, value), 1


_ATTENTION = (
    *name_tensors("layers.#.", {k: v for k, v in ATTENTION_NAMES.items() if k != "query"}),
    fuse(
        "layers.#.self_attn.q_proj",
        ("query", "output-gate"),
        interleaved("num_attention_heads", 2),
    ),
    *name_tensors(_LINEAR, {"output": "out_proj"}, "linear"),
)
_NEXT = (
    *_ATTENTION,
    fuse(
        f"{_LINEAR}in_proj_qkvz",
        ("linear query", "linear key", "linear value", "linear output-gate"),
        by_key_head,
    ),
    fuse(
        f"{_LINEAR}in_proj_ba",
        ("linear beta", "linear decay"),
        interleaved("linear_num_key_heads", 2),
    ),
)
_QWEN3_5 = (
    *_ATTENTION,
    fuse(
        f"{_LINEAR}in_proj_qkv", ("linear query", "linear key", "linear value"), one_after_another
    ),
    *name_tensors(
        _LINEAR,
        {"output-gate": "in_proj_z", "beta": "in_proj_b", "decay": "in_proj_a"},
        "linear",
    ),
)
_DENSE = name_tensors("layers.#.mlp.", experts.GATED)
_EXPERTS = (
    *_DENSE,
    Tensor("layers.#.mlp.gate.weight", ("router",)),
    *name_tensors("layers.#.mlp.shared_expert.", experts.GATED, "shared expert"),
    *experts.one_by_one("layers.#.mlp.experts.@.", experts.GATED),
    *experts.in_one("layers.#.mlp.experts.", "num_experts|num_local_experts"),
)

QWEN3_MOE = replace(
    LLAMA,
    types=("qwen3_moe",),
    matrices=(*name_tensors("layers.#.", ATTENTION_NAMES), *_EXPERTS),
    mixed=True,
    caveats=experts.CAVEATS,
)
QWEN3_NEXT = replace(QWEN3_MOE, types=("qwen3_next",), matrices=(*_NEXT, *_EXPERTS))
QWEN3_5 = replace(LLAMA, types=("qwen3_5_text",), matrices=(*_QWEN3_5, *_DENSE), mixed=True)
QWEN3_5_MOE = replace(QWEN3_MOE, types=("qwen3_5_moe_text",), matrices=(*_QWEN3_5, *_EXPERTS))

FAMILY = (QWEN3_MOE, QWEN3_NEXT, QWEN3_5, QWEN3_5_MOE)
