"""Phi-1, Phi-1.5 and Phi-2."""

from __future__ import annotations

from dataclasses import replace

from core.models.architecture import name_tensors
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

FAMILY = (PHI,)
