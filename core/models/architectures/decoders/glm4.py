"""GLM-4: Llama's attention, the gate fused to the first feed-forward matrix."""

from dataclasses import replace

from core.models.architecture import fuse, name_tensors
from core.models.architectures.decoders.llama import ATTENTION_NAMES, LLAMA

GLM4 = replace(
    LLAMA,
    types=("glm4",),
    matrices=(
        *name_tensors("layers.#.", {**ATTENTION_NAMES, "ff2": "mlp.down_proj"}),
        fuse("layers.#.mlp.gate_up_proj", ("gate", "ff1")),
    ),
)

FAMILY = (GLM4,)
