"""Phi 1 and 2, and Phi 3, which fuses queries, keys and values, and its gate."""

from dataclasses import replace

from core.models.architecture import ATTENTION, fuse, grouped, name_tensors
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

PHI = replace(
    LLAMA,
    types=("phi",),
    matrices=name_tensors(
        "layers.#.",
        {**ATTENTION_NAMES, "output": "self_attn.dense", "ff1": "mlp.fc1", "ff2": "mlp.fc2"},
    ),
    norm="final_layernorm",
)
PHI3 = replace(
    LLAMA,
    types=("phi3",),
    matrices=(
        *name_tensors("layers.#.", {"output": "self_attn.o_proj", "ff2": "mlp.down_proj"}),
        fuse("layers.#.self_attn.qkv_proj", ATTENTION, grouped),
        fuse("layers.#.mlp.gate_up_proj", ("gate", "ff1")),
    ),
)

FAMILY = (PHI, PHI3)
