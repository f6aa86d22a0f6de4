"""GPT-OSS: Llama's attention with a sink, and experts that are stored (input, output).

Rows of an expert's gate and first matrix alternate.
"""

from dataclasses import replace

from core.models.architecture import Tensor, interleaved, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

GPT_OSS = replace(
    LLAMA,
    types=("gpt_oss",),
    matrices=(
        *name_tensors("layers.#.", ATTENTION_NAMES),
        Tensor("layers.#.mlp.router.weight", ("router",)),
        *experts.in_one(
            "layers.#.mlp.experts.",
            "num_local_experts",
            interleaved("intermediate_size", 2),
            transposed=True,
        ),
    ),
    caveats=experts.CAVEATS,
)

FAMILY = (GPT_OSS,)
