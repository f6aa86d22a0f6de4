"""Mixtral: Llama's attention, with a router and several experts as feed-forward layer.

Checkpoints hold a tensor for each expert; a model in memory holds all experts in one, gate and
first matrix together.
"""

from __future__ import annotations

from dataclasses import replace

from core.models.architecture import Tensor, name_tensors
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

_EXPERT = {"expert @ gate": "w1", "expert @ ff1": "w3", "expert @ ff2": "w2"}
_MEMORY = "layers.#.mlp.experts."

MIXTRAL = replace(
    LLAMA,
    types=("mixtral",),
    matrices=(
        *name_tensors("layers.#.", ATTENTION_NAMES),
        Tensor("layers.#.(?:block_sparse_moe|mlp).gate.weight", ("router",)),
        *name_tensors("layers.#.block_sparse_moe.experts.@.", _EXPERT),
        Tensor(
            f"{_MEMORY}gate_up_proj",
            ("expert @ gate", "expert @ ff1"),
            row_axes=2,
            experts="num_local_experts",
        ),
        Tensor(f"{_MEMORY}down_proj", ("expert @ ff2",), row_axes=2, experts="num_local_experts"),
    ),
    caveats=(
        "A mixture of experts routes each token to a few experts; a small difference between two "
        "models can change the routing, and with it their states.",
    ),
)

FAMILY = (MIXTRAL,)
