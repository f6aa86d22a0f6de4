"""The language model inside a model of images or sounds and text, which is what is read here.

Reference: the configurations of transformers. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT_CONFIG = "text_config"
QUANTISATION = "quantization_config"
TEXT_PARTS: Mapping[str, tuple[str, str, Mapping[str, int]]] = {
    "gemma3": (
        "gemma3_text",
        "Gemma3ForCausalLM",
        {"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262_208},
    ),
    "gemma4": ("gemma4_text", "Gemma4ForCausalLM", {}),
    "qwen3_5": ("qwen3_5_text", "Qwen3_5ForCausalLM", {}),
    "qwen3_5_moe": ("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", {}),
}
"""By model type: type and class of the language model, and sizes that published configurations
leave to the library."""
NAMES = {r"^(?:model\.)?language_model\.(?:model\.)?": "model."}
"""Where the tensors of the language model stand in the whole -> in itself."""


def text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Take the language model's configuration out of that of the whole; others stay as they are."""
    inner = config.get(TEXT_CONFIG)
    if not is_whole(config) or not isinstance(inner, dict):
        return config
    model_type, name, sizes = TEXT_PARTS[config["model_type"]]
    quantisation = {QUANTISATION: config[QUANTISATION]} if QUANTISATION in config else {}
    return {**sizes, **inner, **quantisation, "model_type": model_type, "architectures": [name]}


def is_whole(config: Mapping[str, Any]) -> bool:
    """Whether this is the configuration of a model with a language model inside."""
    model_type = config.get("model_type")
    return isinstance(model_type, str) and model_type in TEXT_PARTS


def plain_config(stored: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Take the quantisation out of a configuration; a model of images and text keeps that of the
    whole, whose names its tensors have."""
    plain = {**stored} if is_whole(stored) else {**config}
    if isinstance(inner := plain.get(TEXT_CONFIG), dict) and is_whole(plain):
        plain[TEXT_CONFIG] = {key: value for key, value in inner.items() if key != QUANTISATION}
    plain.pop(QUANTISATION, None)
    return plain
