"""ESM-2, which reads proteins: BERT's names, rotary positions, a norm after the last layer."""

from __future__ import annotations

from dataclasses import replace

from core.models.architectures.encoders.bert import ROBERTA

ESM = replace(
    ROBERTA,
    types=("esm",),
    norm="encoder.emb_layer_norm_after",
    absolute=False,
    caveats=("ESM was trained on proteins: its vectors of English words are those of a foreign text.",),
)

FAMILY = (ESM,)
