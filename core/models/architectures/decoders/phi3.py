"""Phi-3: Llama with fused queries, keys and values, and a fused gate."""

from __future__ import annotations

from dataclasses import replace

from core.models.architecture import ATTENTION, fuse, grouped, name_tensors
from core.models.architectures.decoders.llama import LLAMA

PHI3 = replace(
    LLAMA,
    types=("phi3",),
    matrices=(
        *name_tensors("layers.#.", {"output": "self_attn.o_proj", "ff2": "mlp.down_proj"}),
        fuse("layers.#.self_attn.qkv_proj", ATTENTION, grouped),
        fuse("layers.#.mlp.gate_up_proj", ("gate", "ff1")),
    ),
)

FAMILY = (PHI3,)
