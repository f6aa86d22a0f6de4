"""GPT-Neo and GPT-J."""

from core.models.architecture import Architecture, name_tensors

_NAMES = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}

GPT_NEO = Architecture(
    types=("gpt_neo",),
    family="decoder",
    matrices=(
        *name_tensors("h.#.attn.attention.", _NAMES),
        *name_tensors("h.#.mlp.", {"ff1": "c_fc", "ff2": "c_proj"}),
    ),
    stack="h",
    embedding="wte",
    norm="ln_f",
    layers="num_layers",
    heads="num_heads",
)
GPTJ = Architecture(
    types=("gptj",),
    family="decoder",
    matrices=(
        *name_tensors("h.#.attn.", _NAMES),
        *name_tensors("h.#.mlp.", {"ff1": "fc_in", "ff2": "fc_out"}),
    ),
    stack="h",
    embedding="wte",
    norm="ln_f",
    layers="n_layer",
    width="n_embd",
    heads="n_head",
    positions="n_positions",
    absolute=False,
)

FAMILY = (GPT_NEO, GPTJ)
