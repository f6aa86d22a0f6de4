"""DeBERTa, whose first version fuses query, key and value by attention head."""

from dataclasses import replace

from core.models.architecture import ATTENTION, Architecture, by_head, fuse, name_tensors

_REST = {"output": "attention.output.dense", "ff1": "intermediate.dense", "ff2": "output.dense"}
_ATTENTION = {
    "query": "attention.self.query_proj",
    "key": "attention.self.key_proj",
    "value": "attention.self.value_proj",
}

DEBERTA_V2 = Architecture(
    types=("deberta-v2",),
    family="encoder",
    matrices=name_tensors("encoder.layer.#.", _ATTENTION | _REST),
    stack="encoder.layer",
    embedding="embeddings.word_embeddings",
    head="cls",
    cls=True,
    absolute_if=("position_biased_input", True),
)
DEBERTA = replace(
    DEBERTA_V2,
    types=("deberta",),
    matrices=(
        *name_tensors("encoder.layer.#.", _REST),
        fuse("encoder.layer.#.attention.self.in_proj", ATTENTION, by_head),
    ),
)

FAMILY = (DEBERTA_V2, DEBERTA)
