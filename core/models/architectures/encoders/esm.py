"""ESM-2, which reads proteins: BERT's names, rotary positions, a norm after the last layer."""

from __future__ import annotations

from dataclasses import replace

from core.models.architectures.encoders.bert import ROBERTA

ESM = replace(
    ROBERTA,
    types=("esm",),
    norm="encoder.emb_layer_norm_after",
    absolute=False,
    caveats=(
        "ESM was trained on proteins, so its vectors of English words carry no linguistic "
        "knowledge.",
    ),
)

FAMILY = (ESM,)
