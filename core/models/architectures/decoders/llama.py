"""Llama and the decoders that name their matrices as it does: rotary positions and a gate."""

from core.models.architecture import Architecture, name_tensors

ATTENTION_NAMES = {
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
}
LLAMA = Architecture(
    types=(
        *("llama", "mistral", "qwen2", "qwen3", "gemma"),
        *("gemma2", "gemma3_text", "olmo", "olmo2", "olmo3", "smollm3", "granite"),
    ),
    family="decoder",
    matrices=name_tensors(
        "layers.#.",
        {**ATTENTION_NAMES, "gate": "mlp.gate_proj", "ff1": "mlp.up_proj", "ff2": "mlp.down_proj"},
    ),
    stack="layers",
    embedding="embed_tokens",
    norm="norm",
    absolute=False,
)

FAMILY = (LLAMA,)
