"""BLOOM and Falcon: query, key and value in one tensor, in an order that the configuration sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.models.architecture import (
    ATTENTION,
    Architecture,
    by_head,
    count,
    fuse,
    name_tensors,
)

_FUSED = "h.#.self_attention.query_key_value"
_REST = name_tensors(
    "h.#.",
    {"output": "self_attention.dense", "ff1": "mlp.dense_h_to_4h", "ff2": "mlp.dense_4h_to_h"},
)


def falcon_rows(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give Falcon's order of rows: grouped queries, one key for all, or one per head."""
    heads = count(config, "num_attention_heads|n_head")
    if config.get("new_decoder_architecture"):
        groups = count(config, "num_kv_heads|n_head_kv", heads)
        return (heads // groups, 1, 1), groups
    if config.get("multi_query", True):
        return (heads, 1, 1), 1
    return by_head(config)


BLOOM = Architecture(
    types=("bloom",),
    family="decoder",
    matrices=(*_REST, fuse(_FUSED, ATTENTION, by_head)),
    stack="h",
    embedding="word_embeddings",
    norm="ln_f",
    layers="n_layer|num_hidden_layers",
    width="hidden_size|n_embed",
    heads="n_head|num_attention_heads",
    positions="",
    absolute=False,
)
FALCON = replace(
    BLOOM,
    types=("falcon",),
    matrices=(*_REST, fuse(_FUSED, ATTENTION, falcon_rows)),
    layers="num_hidden_layers|n_layer",
    heads="num_attention_heads|n_head",
)

FAMILY = (BLOOM, FALCON)
