"""T5, whose gated form has two first feed-forward matrices."""

from core.models.architecture import Architecture, name_tensors

_ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
_FEED_FORWARD = {"ff1": "wi(?:_1)?", "gate": "wi_0", "ff2": "wo"}

T5 = Architecture(
    types=("t5", "mt5"),
    family="encoder-decoder",
    matrices=(
        *name_tensors("encoder.block.#.layer.0.SelfAttention.", _ATTENTION, "encoder"),
        *name_tensors("encoder.block.#.layer.1.DenseReluDense.", _FEED_FORWARD, "encoder"),
        *name_tensors("decoder.block.#.layer.0.SelfAttention.", _ATTENTION, "decoder"),
        *name_tensors("decoder.block.#.layer.2.DenseReluDense.", _FEED_FORWARD, "decoder"),
        *name_tensors("decoder.block.#.layer.1.EncDecAttention.", _ATTENTION, "cross"),
    ),
    stack="encoder.block",
    embedding="shared",
    norm="encoder.final_layer_norm",
    layers="num_layers",
    width="d_model",
    heads="num_heads",
    decoder_layers="num_decoder_layers",
    positions="",
    absolute=False,
    inseparable="its lowest layer computes the position biases that all the others use",
)

FAMILY = (T5,)
