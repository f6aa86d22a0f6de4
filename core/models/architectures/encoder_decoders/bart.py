"""BART and the translation and summary models that name their matrices as it does."""

from dataclasses import replace

from core.models.architecture import Architecture, name_tensors

_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
_FEED_FORWARD = {"ff1": "fc1", "ff2": "fc2"}

BART = Architecture(
    types=("bart",),
    family="encoder-decoder",
    matrices=(
        *name_tensors("encoder.layers.#.self_attn.", _ATTENTION, "encoder"),
        *name_tensors("encoder.layers.#.", _FEED_FORWARD, "encoder"),
        *name_tensors("decoder.layers.#.self_attn.", _ATTENTION, "decoder"),
        *name_tensors("decoder.layers.#.", _FEED_FORWARD, "decoder"),
        *name_tensors("decoder.layers.#.encoder_attn.", _ATTENTION, "cross"),
    ),
    stack="encoder.layers",
    embedding="shared",
    layers="encoder_layers",
    width="d_model",
    heads="encoder_attention_heads",
    decoder_layers="decoder_layers",
    cls=True,
)

MBART = replace(BART, types=("mbart",), norm="encoder.layer_norm", cls=False)
PEGASUS = replace(MBART, types=("pegasus",), computed_positions=True)
MARIAN = replace(BART, types=("marian",), cls=False, computed_positions=True)

FAMILY = (BART, MBART, PEGASUS, MARIAN)
