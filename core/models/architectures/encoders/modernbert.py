"""ModernBERT."""

from core.models.architecture import ATTENTION, Architecture, fuse, name_tensors

MODERNBERT = Architecture(
    types=("modernbert",),
    family="encoder",
    matrices=(
        *name_tensors("layers.#.", {"output": "attn.Wo", "ff2": "mlp.Wo"}),
        fuse("layers.#.attn.Wqkv", ATTENTION),
        # Its own code calls the second half the gate; the half that the activation bends comes
        # first.
        fuse("layers.#.mlp.Wi", ("gate", "ff1")),
    ),
    stack="layers",
    embedding="embeddings.tok_embeddings",
    norm="final_norm",
    head="head",
    cls=True,
    absolute=False,
)

FAMILY = (MODERNBERT,)
