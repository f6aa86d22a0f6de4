"""GPT-OSS: Llama's attention with a sink, and experts that are stored (input, output).

Rows of an expert's gate and first matrix alternate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.models.architecture import Tensor, count, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA


def alternating(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give the order of rows in which each row of the gate is followed by one of ff1."""
    return (1, 1), count(config, "intermediate_size")


GPT_OSS = replace(
    LLAMA,
    types=("gpt_oss",),
    matrices=(
        *name_tensors("layers.#.", ATTENTION_NAMES),
        Tensor("layers.#.mlp.router.weight", ("router",)),
        *experts.in_one("layers.#.mlp.experts.", "num_local_experts", alternating, transposed=True),
    ),
    caveats=experts.CAVEATS,
)

FAMILY = (GPT_OSS,)
