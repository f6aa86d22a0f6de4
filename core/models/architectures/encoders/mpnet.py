"""MPNet: BERT with the names of its attention shortened."""

from dataclasses import replace

from core.models.architecture import name_tensors
from core.models.architectures.encoders.bert import ROBERTA

MPNET = replace(
    ROBERTA,
    types=("mpnet",),
    matrices=name_tensors(
        "encoder.layer.#.",
        {
            "query": "attention.attn.q",
            "key": "attention.attn.k",
            "value": "attention.attn.v",
            "output": "attention.attn.o",
            "ff1": "intermediate.dense",
            "ff2": "output.dense",
        },
    ),
)

FAMILY = (MPNET,)
