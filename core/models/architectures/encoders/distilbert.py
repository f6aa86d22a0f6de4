"""DistilBERT."""

from core.models.architecture import Architecture, name_tensors

DISTILBERT = Architecture(
    types=("distilbert",),
    family="encoder",
    matrices=name_tensors(
        "transformer.layer.#.",
        {
            "query": "attention.q_lin",
            "key": "attention.k_lin",
            "value": "attention.v_lin",
            "output": "attention.out_lin",
            "ff1": "ffn.lin1",
            "ff2": "ffn.lin2",
        },
    ),
    stack="transformer.layer",
    embedding="embeddings.word_embeddings",
    head="vocab_transform",
    layers="n_layers",
    width="dim",
    heads="n_heads",
    cls=True,
    computed_positions=True,
)

FAMILY = (DISTILBERT,)
