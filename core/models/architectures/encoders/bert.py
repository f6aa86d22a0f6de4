"""BERT and the encoders that name their matrices as it does."""

from dataclasses import replace

from core.models.architecture import Architecture, name_tensors

BERT = Architecture(
    types=("bert",),
    family="encoder",
    matrices=name_tensors(
        "encoder.layer.#.",
        {
            "query": "attention.self.query",
            "key": "attention.self.key",
            "value": "attention.self.value",
            "output": "attention.output.dense",
            "ff1": "intermediate.dense",
            "ff2": "output.dense",
        },
    ),
    stack="encoder.layer",
    embedding="embeddings.word_embeddings",
    head="cls",
    cls=True,
)
ROBERTA = replace(BERT, types=("roberta", "xlm-roberta", "camembert"), head="lm_head", offset=2)
ELECTRA = replace(BERT, types=("electra",), head="generator_predictions")
ROFORMER = replace(BERT, types=("roformer",), absolute=False, computed_positions=True)

FAMILY = (BERT, ROBERTA, ELECTRA, ROFORMER)
