"""XLNet, which stores its attention by head: (input, head, size of a head), the output matrix the
other way round."""

from core.models.architecture import Architecture, Tensor, name_tensors

_HEADS = {"query": "q", "key": "k", "value": "v"}

XLNET = Architecture(
    types=("xlnet",),
    family="encoder",
    matrices=(
        *(
            Tensor(f"layer.#.rel_attn.{name}", (role,), transposed=True)
            for role, name in _HEADS.items()
        ),
        Tensor("layer.#.rel_attn.o", ("output",)),
        *name_tensors("layer.#.ff.", {"ff1": "layer_1", "ff2": "layer_2"}),
    ),
    stack="layer",
    embedding="word_embedding",
    head="lm_loss",
    layers="n_layer",
    width="d_model",
    heads="n_head",
    positions="",
    absolute=False,
    inseparable="its layers take two streams of states, subwords before sentences",
)

FAMILY = (XLNET,)
