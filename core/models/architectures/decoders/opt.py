"""OPT."""

from core.models.architecture import Architecture, name_tensors

OPT = Architecture(
    types=("opt",),
    family="decoder",
    matrices=name_tensors(
        "decoder.layers.#.",
        {
            "query": "self_attn.q_proj",
            "key": "self_attn.k_proj",
            "value": "self_attn.v_proj",
            "output": "self_attn.out_proj",
            "ff1": "fc1",
            "ff2": "fc2",
        },
    ),
    stack="decoder.layers",
    embedding="decoder.embed_tokens",
    norm="decoder.final_layer_norm",
)

FAMILY = (OPT,)
