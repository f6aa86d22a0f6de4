"""EuroBERT and Nomic BERT: encoders with Llama's matrices."""

from __future__ import annotations

from dataclasses import replace

from core.models.architectures.decoders.llama import LLAMA

EUROBERT = replace(LLAMA, types=("eurobert",), family="encoder")
NOMIC_BERT = replace(
    EUROBERT,
    types=("nomic_bert",),
    embedding="embeddings.word_embeddings",
    norm="",
    head="cls",
    cls=True,
)

FAMILY = (EUROBERT, NOMIC_BERT)
