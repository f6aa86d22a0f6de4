"""ALBERT: one set of matrices for all layers."""

from core.models.architecture import Architecture, name_tensors

ALBERT = Architecture(
    types=("albert",),
    family="encoder",
    matrices=name_tensors(
        "encoder.albert_layer_groups.#.albert_layers.0.",
        {
            "query": "attention.query",
            "key": "attention.key",
            "value": "attention.value",
            "output": "attention.dense",
            "ff1": "ffn",
            "ff2": "ffn_output",
        },
    ),
    stack="encoder.albert_layer_groups",
    embedding="embeddings.word_embeddings",
    head="predictions",
    cls=True,
    shared=True,
    inseparable="one set of weights serves all its layers",
)

FAMILY = (ALBERT,)
