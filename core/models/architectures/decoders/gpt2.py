"""GPT-2, which stores its matrices (input, output)."""

from core.models.architecture import ATTENTION, Architecture, fuse, name_tensors

GPT2 = Architecture(
    types=("gpt2",),
    family="decoder",
    matrices=(
        *name_tensors(
            "h.#.",
            {"output": "attn.c_proj", "ff1": "mlp.c_fc", "ff2": "mlp.c_proj"},
            transposed=True,
        ),
        fuse("h.#.attn.c_attn", ATTENTION, transposed=True),
    ),
    stack="h",
    embedding="wte",
    norm="ln_f",
    layers="n_layer",
    width="n_embd",
    heads="n_head",
    positions="n_positions",
)

FAMILY = (GPT2,)
