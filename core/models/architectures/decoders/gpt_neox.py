"""GPT-NeoX, which is Pythia's: query, key and value of one attention head, then of the next."""

from core.models.architecture import ATTENTION, Architecture, by_head, fuse, name_tensors

GPT_NEOX = Architecture(
    types=("gpt_neox",),
    family="decoder",
    matrices=(
        *name_tensors(
            "layers.#.",
            {"output": "attention.dense", "ff1": "mlp.dense_h_to_4h", "ff2": "mlp.dense_4h_to_h"},
        ),
        fuse("layers.#.attention.query_key_value", ATTENTION, by_head),
    ),
    stack="layers",
    embedding="embed_in",
    norm="final_layer_norm",
    absolute=False,
)

FAMILY = (GPT_NEOX,)
