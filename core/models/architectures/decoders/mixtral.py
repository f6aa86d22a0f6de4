"""Mixtral: Llama's attention, with a router and several experts as feed-forward layer."""

from dataclasses import replace

from core.models.architecture import Tensor, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

MIXTRAL = replace(
    LLAMA,
    types=("mixtral",),
    matrices=(
        *name_tensors("layers.#.", ATTENTION_NAMES),
        Tensor("layers.#.(?:block_sparse_moe|mlp).gate.weight", ("router",)),
        *experts.one_by_one(
            "layers.#.block_sparse_moe.experts.@.", {"gate": "w1", "ff1": "w3", "ff2": "w2"}
        ),
        *experts.in_one("layers.#.mlp.experts.", "num_local_experts"),
    ),
    caveats=experts.CAVEATS,
)

FAMILY = (MIXTRAL,)
