"""Bounds for the sizes in a configuration, and keys that would load other files or code.

A config.json of a hundred bytes can ask for any amount of memory and time: every number that sizes
something has a bound, by its key, so that `core.models.trial` can try the model at all.
Numbers with other keys size nothing, and may be anything. A test asks transformers' configurations
for the keys of all numbers that they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from core.errors import ModelError
from core.models.architectures import class_in

MOST_LAYERS = 512
MOST_GROUPED = 16  # layers that one layer consists of
MOST_WIDTH = 65_536
MOST_INNER = 4 * MOST_WIDTH
MOST_HEADS = 4_096
MOST_LABELS = 10_000
MOST_TOKENS = 4_000_000
MOST_POSITIONS = 16_777_216
MOST_WINDOW = 1_024  # subwords that every input is filled up to a multiple of
# keys and list items of a whole configuration; a vocabulary of labels is the longest there is
MOST_ITEMS = 100_000
LONGEST_TEXT = 100_000  # characters of a key or a value
_KEYS = {
    MOST_LAYERS: "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers "
    "num_encoder_layers num_decoder_layers num_mtp_layers "
    "num_nextn_predict_layers num_kv_shared_layers num_hidden_groups",
    MOST_GROUPED: "inner_group_num pretraining_tp",
    MOST_WIDTH: "hidden_size hidden_size_per_layer_input embedding_size pooler_hidden_size d_model "
    "n_embd dim word_embed_proj_dim d_kv d_head head_dim global_head_dim attention_head_size "
    "linear_key_head_dim linear_value_head_dim qk_head_dim qk_nope_head_dim qk_rope_head_dim "
    "v_head_dim q_lora_rank kv_lora_rank rotary_dim type_vocab_size relative_attention_num_buckets "
    "position_buckets conv_kernel_size conv_groups linear_conv_kernel_dim",
    MOST_INNER: "intermediate_size moe_intermediate_size shared_expert_intermediate_size "
    "ffn_hidden_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff d_inner hidden_dim n_inner",
    MOST_HEADS: "num_attention_heads num_key_value_heads num_global_key_value_heads num_heads "
    "num_kv_heads n_head n_heads encoder_attention_heads decoder_attention_heads "
    "linear_num_key_heads linear_num_value_heads num_experts num_local_experts n_routed_experts "
    "n_shared_experts num_experts_per_tok top_k_experts",
    MOST_LABELS: "num_labels",
    MOST_TOKENS: "vocab_size n_token decoder_vocab_size vocab_size_per_layer_input",
    MOST_POSITIONS: "max_position_embeddings n_positions n_ctx seq_length "
    "max_relative_positions mem_len reuse_len",
    MOST_WINDOW: "attention_window",
}
BOUNDS = {key: bound for bound, keys in _KEYS.items() for key in keys.split()}
"""The largest number by key; those of lists and nested settings are bounded by their key, too."""
MOST_SINES = 4_000_000  # entries of a table that transformers computes one at a time, in Python
# -1 stands for "as many as there are positions" and for "none"
_UNSET = frozenset({"max_relative_positions", "position_buckets"})
_POSITIVE = ("rope_theta", "rotary_emb_base")  # used as a base and as a divisor
_KERNELS = ("attn_implementation", "experts_implementation")
_REDIRECTING = ("transformers_weights", "fast_tokenizer_files", "gguf_file")


def check_bounds(config: dict[str, Any], source: object) -> None:
    """Refuse sizes that are too large, negative or not numbers, bases of rotations that are not
    above 0, and fields of a wrong type, by a ModelError."""
    for key, value in _entries(config, source):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = -1 if key in _UNSET else 0
        if key in BOUNDS and not least <= value <= BOUNDS[key]:  # NaN is neither
            shown = (
                value
                if isinstance(value, float) or abs(value) < 10**15
                else "a number of many digits"
            )
            raise ModelError(f"{source} claims {key} = {shown}, which no model has: get it again.")
        if key.endswith(_POSITIVE) and not value > 0:
            raise ModelError(
                f"{source} claims {key} = {value}; rotations need a base above 0: is it damaged?"
            )
    class_in(config, source)
    vocabulary = config.get("vocab_size", 0)
    if isinstance(vocabulary, bool) or not isinstance(vocabulary, int):
        raise ModelError(f"{source} does not say vocab_size in a whole number: get it again.")


def refuse_redirection(settings: dict[str, Any], source: object) -> None:
    """Refuse keys that name other files to load than those that are checked. Raises ModelError with
    the key."""
    for key, value in walk(settings):
        _refuse_redirecting(key, value, source)


def refuse_code(config: dict[str, Any], source: object) -> None:
    """Refuse a configuration that could bring in foreign code or other files, or has more entries
    than any. Raises ModelError with the key."""
    for key, value in _entries(config, source):
        _refuse_redirecting(key, value, source)
        if key == "auto_map":
            raise ModelError(
                f"{source} needs its author's own code to run (auto_map), and code from a model is "
                "never run here: choose a model that transformers supports itself."
            )
    for name in _kernels(config):
        if "/" in name:
            raise ModelError(
                f"{source} asks for a kernel from elsewhere ({name[:100]!r}), "
                "which is foreign code: remove it from its config.json, or choose another model."
            )


def _kernels(config: dict[str, Any]) -> list[str]:
    """List the names of kernels that a configuration asks for; none of them is used."""
    names: list[str] = []
    waiting: list[tuple[Any, bool]] = [(config, False)]
    while waiting:
        value, asked = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(
                (item, asked or any(kind in str(key) for kind in _KERNELS))
                for key, item in value.items()
            )
        elif isinstance(value, list):
            waiting.extend((item, asked) for item in value)
        elif asked and isinstance(value, str):
            names.append(value)
    return names


def _refuse_redirecting(key: str, value: object, source: object) -> None:
    if key in _REDIRECTING and value is not None:
        raise ModelError(
            f"{source} names other files to load ({key}), "
            "which are not those that are checked here: remove that line, or choose another model."
        )


def _entries(config: dict[str, Any], source: object) -> Iterator[tuple[str, Any]]:
    for number, (key, value) in enumerate(walk(config)):
        longest = max(len(key), len(value) if isinstance(value, str) else 0)
        if number == MOST_ITEMS or longest > LONGEST_TEXT:
            raise ModelError(
                f"{source} has more than {MOST_ITEMS:,} entries, or a text of more than "
                f"{LONGEST_TEXT:,} characters, which no configuration has: get it again."
            )
        yield key, value


NESTED = "nested"


def walk(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield all keys and values, nested ones included; a list's items have the list's key."""
    within: list[Iterator[tuple[str, Any]]] = [iter(config.items())]
    while within:
        for key, value in within[-1]:
            inner = isinstance(value, dict | list)
            yield key, NESTED if inner else value
            if inner:
                items = value.items() if isinstance(value, dict) else zip(repeat(key), value)
                within.append(iter(items))
                break
        else:
            within.pop()
