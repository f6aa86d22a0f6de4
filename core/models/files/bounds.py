"""Bounds for the sizes in a configuration, and keys that would load other files or code.

A config.json of a hundred bytes can ask for any amount of memory: every number in it has a bound,
so that what `making.implied_numbers` builds (on torch's meta device, without memory) is small
enough to be built at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from core.errors import ModelError

MOST_LAYERS = 512
MOST_WIDTH = 65_536
MOST_LABELS = 10_000
MOST_NUMBER = 2**31  # for keys with other names
# keys and list items of a whole configuration; a vocabulary of labels is the longest there is
MOST_ITEMS = 100_000
LONGEST_TEXT = 100_000  # characters of a key or a value
_BOUNDS = {  # by a part of the key's name; the first match counts
    "layers": MOST_LAYERS,
    "n_layer": MOST_LAYERS,
    "vocab": 4_000_000,
    "positions": 16_777_216,
    "position_embeddings": 16_777_216,
    "intermediate": 4 * MOST_WIDTH,
    "ffn": 4 * MOST_WIDTH,
    "d_ff": 4 * MOST_WIDTH,
    "hidden_dim": 4 * MOST_WIDTH,
    "n_inner": 4 * MOST_WIDTH,
    "num_labels": MOST_LABELS,
    "heads": 4_096,
    "buckets": 65_536,
    "embedding_size": MOST_WIDTH,
    "hidden_size": MOST_WIDTH,
    "d_model": MOST_WIDTH,
    "d_kv": MOST_WIDTH,
    "head_dim": MOST_WIDTH,
    "n_embd": MOST_WIDTH,
}
MOST_SINES = 4_000_000  # entries of a table that transformers computes one at a time, in Python
_NAMED = frozenset({"type_vocab_size"})  # a small table, not a vocabulary
_UNSET = frozenset({"max_relative_positions"})  # -1 stands for "as many as there are positions"
_POSITIVE = ("rope_theta", "rotary_emb_base")  # used as a base and as a divisor
_BUILT_IN_ATTENTION = frozenset({None, "eager", "sdpa"})
_REDIRECTING = ("transformers_weights", "fast_tokenizer_files", "gguf_file")


def check_bounds(config: dict[str, Any], source: object) -> None:
    """Refuse numbers that no model has, and fields of a wrong type.

    Raises:
        ModelError: If a number is too large, negative where it is a size, not finite, or no base of
            rotations; if `architectures` is no list of names or `vocab_size` no whole number.
    """
    for key, value in _entries(config, source):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        bound = _bound(key)
        least = -1 if key in _UNSET else 0 if bound < MOST_NUMBER else -bound
        if not least <= value <= bound:  # NaN is neither
            shown = (
                value
                if isinstance(value, float) or abs(value) < 10**15
                else "a number of many digits"
            )
            raise ModelError(
                f"{source} claims {key[:100]} = {shown}, which no model has: get it again."
            )
        if value <= 0 and key.endswith(_POSITIVE):
            raise ModelError(
                f"{source} claims {key[:100]} = {value}; rotations need a base above 0: is it "
                f"damaged?"
            )
    names = config.get("architectures")
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise ModelError(f"{source} gives no names in its architectures: get it again.")
    vocabulary = config.get("vocab_size", 0)
    if isinstance(vocabulary, bool) or not isinstance(vocabulary, int):
        raise ModelError(f"{source} does not say vocab_size in a whole number: get it again.")


def refuse_redirection(settings: dict[str, Any], source: object) -> None:
    """Refuse keys that name other files to load than those that are checked.

    Raises:
        ModelError: With the key.
    """
    for key, value in walk(settings):
        _refuse_redirecting(key, value, source)


def refuse_code(config: dict[str, Any], source: object) -> None:
    """Refuse a configuration that could bring in foreign code or other files.

    Raises:
        ModelError: With the key; also if it has more entries than any configuration.
    """
    for key, value in _entries(config, source):
        _refuse_redirecting(key, value, source)
        if key == "auto_map":
            raise ModelError(
                f"{source} needs its author's own code to run (auto_map), and code from a model is "
                f"never run here: "
                "choose a model that transformers supports itself."
            )
        if "attn_implementation" in key and value not in _BUILT_IN_ATTENTION:
            raise ModelError(
                f"{source} names an attention implementation of its own ({value!r}), which could "
                f"bring in foreign "
                f"code: remove {key} from its config.json or choose another model."
            )


def _refuse_redirecting(key: str, value: object, source: object) -> None:
    if key in _REDIRECTING and value is not None:
        raise ModelError(
            f"{source} names other files to load ({key}), which are not those that are checked "
            "here: remove that line, or choose another model."
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


def _bound(key: str) -> int:
    """Find the largest number that a key of this name may have."""
    if key in _NAMED:
        return MOST_WIDTH
    return next((bound for part, bound in _BOUNDS.items() if part in key), MOST_NUMBER)
