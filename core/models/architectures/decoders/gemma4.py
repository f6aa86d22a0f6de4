"""Gemma 4: Llama's matrices, some of them shared between layers, with vectors of tokens per layer.

Where keys are values too, or a layer uses the keys and values of a lower one, a layer lacks those
matrices. Every layer may read the token's own vector once more (the per-layer matrices), and may
have experts beside its feed-forward layer.
"""

from dataclasses import replace

from core.models.architecture import Tensor, name_tensors
from core.models.architectures.decoders import experts
from core.models.architectures.decoders.llama import LLAMA

GEMMA4 = replace(
    LLAMA,
    types=("gemma4_text",),
    matrices=(
        *LLAMA.matrices,
        *name_tensors(
            "layers.#.",
            {"input-gate": "per_layer_input_gate", "output": "per_layer_projection"},
            "per-layer",
        ),
        Tensor("layers.#.router.proj.weight", ("router",)),
        *experts.one_by_one("layers.#.experts.@.", experts.GATED),
        *experts.in_one("layers.#.experts.", "num_experts"),
    ),
    mixed=True,
    inseparable="each of its layers may read the token itself, and keys and values of a lower one",
)

FAMILY = (GEMMA4,)
