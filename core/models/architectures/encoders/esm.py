"""ESM, which reads proteins: BERT's names, a norm after the last layer, ESM-2 rotary positions."""

from dataclasses import replace

from core.models.architectures.encoders.bert import ROBERTA

ESM = replace(
    ROBERTA,
    types=("esm",),
    norm="encoder.emb_layer_norm_after",
    absolute_if=("position_embedding_type", "absolute"),
    caveats=(
        "ESM was trained on proteins, "
        "so its vectors of English words carry no linguistic knowledge.",
    ),
)

FAMILY = (ESM,)
