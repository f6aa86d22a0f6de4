"""DeepSeek-V3: attention through compressed vectors, dense layers below mixtures of experts.

Queries, and keys with values, are first compressed (the latent matrices) and then expanded for each
head. The rows of the compression that make the rotary key, shared by all heads, belong to it.

Reference: the report on DeepSeek-V3, arXiv 2412.19437.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.models.architecture import Tensor, count, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import LLAMA

_ATTENTION = "layers.#.self_attn."


def key_and_value(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give the sizes of a head's key, without its rotary part, and of its value; head by head."""
    sizes = (count(config, "qk_nope_head_dim"), count(config, "v_head_dim"))
    return sizes, count(config, "num_attention_heads")


DEEPSEEK_V3 = replace(
    LLAMA,
    types=("deepseek_v3",),
    matrices=(
        *name_tensors(
            _ATTENTION,
            {
                "latent query": "q_a_proj",
                "latent key-value": "kv_a_proj_with_mqa",
                "query": "q_proj",
                "output": "o_proj",
            },
        ),
        Tensor(f"{_ATTENTION}q_b_proj.weight", ("query",), latent=True),
        Tensor(f"{_ATTENTION}kv_b_proj.weight", ("key", "value"), key_and_value, latent=True),
        *name_tensors("layers.#.mlp.", experts.GATED),
        Tensor("layers.#.mlp.gate.weight", ("router",)),
        *name_tensors("layers.#.mlp.shared_experts.", experts.GATED, "shared expert"),
        *experts.one_by_one("layers.#.mlp.experts.@.", experts.GATED),
        *experts.in_one("layers.#.mlp.experts.", "n_routed_experts|num_local_experts"),
    ),
    mixed=True,
    caveats=experts.CAVEATS,
)

FAMILY = (DEEPSEEK_V3,)
