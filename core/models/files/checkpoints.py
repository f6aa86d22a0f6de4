"""A model's folder, read without running any of it: configuration, headers, content hashes.

The loading policy lives here. config.json is read as plain JSON before anything else looks at it:
the model type must be on our list, and whatever could bring in foreign code (auto_map, a named
attention kernel) is refused. Of a model of images or sounds and text, the language model inside is
read. Nothing here imports torch or transformers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.architecture import Architecture, setting
from core.models.architectures import ARCHITECTURES, describe_type, infer_type
from core.models.files.bounds import (
    MOST_LAYERS,
    MOST_SINES,
    MOST_WIDTH,
    check_bounds,
    refuse_code,
    refuse_redirection,
)
from core.models.files.gguf import gguf_config
from core.models.files.layout import (
    CONFIG,
    GGUF,
    TOKENIZER_FILES,
    Layout,
    inner_models,
    lay_out,
)
from core.models.files.pickled import pickled_names
from core.models.files.safetensors import read_whole_header
from core.models.files.schemes import QUANTISATION, check_method
from core.models.zoo import file_digest
from core.runs.process.parsing import MOST_BYTES, parse_json
from core.runs.process.remembered import READ_FILES, file_state, remembered

MOST_POINTER = 1_024  # bytes of a file that Git LFS leaves in place of a large one
POINTER = b"version https://git-lfs.github.com/spec/"
TOKENIZER_SETTINGS = "tokenizer_config.json"
HEAD_KEY = "palimpsest_head"
"""Entry of config.json that says which head of ours is in the file: {"kind": "arc", "size": 64}."""
MAX_SUBWORDS = 1024  # a sentence is never longer; keeps long-context decoders within memory
TEXT_CONFIG = "text_config"
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

# Keys that do not affect the model and change when the same weights are saved again.
_INCIDENTAL = frozenset(
    {
        "_name_or_path",
        "name_or_path",
        "transformers_version",
        "_commit_hash",
        "tokenizer_file",
        "special_tokens_map_file",
    }
)


def read_config(folder: Path) -> dict[str, Any]:
    """Read config.json of a folder. Raises ModelError if it is missing or damaged, is of a model
    type that is not described and cannot be inferred, or asks for code or kernels from outside
    transformers."""
    path, layout = folder / CONFIG, layout_of(folder)
    if CONFIG in layout.names:
        config = read_json(path)
    elif layout.config == CONFIG:
        raise _without_config(folder, layout)
    else:
        config = gguf_config(weight_files(folder))
    names = [] if config.get("model_type") is not None else tensor_names(folder)
    config = checked_config(config, names, path)
    settings = tokenizer_settings(folder)
    if "auto_map" in settings:
        raise ModelError(
            f"{folder / TOKENIZER_SETTINGS} needs its author's own code (auto_map), "
            "never run here: use another."
        )
    refuse_redirection(settings, folder / TOKENIZER_SETTINGS)
    return config


def tokenizer_settings(folder: Path) -> dict[str, Any]:
    """Read tokenizer_config.json of a folder; {} without one."""
    path = folder / TOKENIZER_SETTINGS
    return read_json(path) if path.is_file() else {}


def _without_config(folder: Path, layout: Layout) -> ModelError:
    """Make the error of a folder without a configuration, which may be in a folder inside it."""
    inner = inner_models(f"{path.parent.name}/{CONFIG}" for path in folder.glob(f"*/{CONFIG}"))
    if inner:
        return ModelError(
            f"{folder} has no {CONFIG}, and its folder {inner[0]} has one: name that folder, "
            f"{folder / inner[0]}, instead."
        )
    if any(name.endswith(GGUF) for name in layout.names):
        return ModelError(layout.problem)
    return ModelError(f"{folder / CONFIG} is missing: get the model again, or choose another.")


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


def plain_config(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Take the quantisation out of a folder's configuration; a model of images and text keeps that
    of the whole, whose names its tensors have."""
    stored = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    plain = dict(stored if is_whole(stored) else config)
    if isinstance(inner := plain.get(TEXT_CONFIG), dict) and is_whole(plain):
        plain[TEXT_CONFIG] = {key: value for key, value in inner.items() if key != QUANTISATION}
    plain.pop(QUANTISATION, None)
    return plain


def checked_config(config: dict[str, Any], names: list[str], source: object) -> dict[str, Any]:
    """Check a configuration, add the type that the names of tensors tell where it has none, and
    take the language model of one of images and text. Raises ModelError, which names `source`."""
    refuse_code(config, source)
    if config.get("model_type") is None:
        config = {**config, "model_type": infer_type(config, names, source)}
    config = text_part(config)
    if QUANTISATION in config:
        check_method(config[QUANTISATION], source)
    architecture = describe_type(config.get("model_type"), source)
    layers, width, _ = sizes(config, source)
    if layers > MOST_LAYERS or width > MOST_WIDTH:
        raise ModelError(
            f"{source} claims {layers} layers of {width} dimensions, which no model has: "
            "get it again."
        )
    check_bounds(config, source)
    _check_positions(config, architecture, source)
    return config


def sizes(config: dict[str, Any], source: object = CONFIG) -> tuple[int, int, int]:
    """Read (layers, d_model, heads) from a configuration whose model type is checked."""
    kind = ARCHITECTURES[config["model_type"]]
    layers, width, heads = (
        _size(config, name, source) for name in (kind.layers, kind.width, kind.heads)
    )
    return layers, width, heads


def longest_input(config: dict[str, Any]) -> int:
    """Read how many subwords an input may have, special tokens included."""
    kind = ARCHITECTURES[config["model_type"]]
    positions = config.get(kind.positions) if kind.positions else None
    return (
        min(MAX_SUBWORDS, positions - kind.offset) if isinstance(positions, int) else MAX_SUBWORDS
    )


def layout_of(folder: Path) -> Layout:
    """List which files of a folder are read."""
    try:
        with os.scandir(folder) as entries:
            return lay_out([entry.name for entry in entries if entry.is_file()], folder)
    except OSError:  # reported when a file of it is needed
        return lay_out([], folder)


def weight_files(folder: Path) -> list[Path]:
    """List the files of weights in loading order. Raises ModelError as `Layout.weight_files` does;
    also if one is no more than a pointer to its content."""
    names = layout_of(folder).weight_files(lambda index: read_json(folder / index))
    return [_present(folder / name) for name in names]


def is_pickled(files: list[Path]) -> bool:
    """Whether weights are in PyTorch's pickled format, read with weights_only alone."""
    return files[0].suffix == ".bin"


def content_hash(path: Path) -> str:
    """Calculate the sha256 hex of a file's content; cached by size and modification time."""
    return _remembered_digest(_present(path))


_remembered_digest = remembered(READ_FILES, state=file_state)(file_digest)


def config_hash(config: dict[str, Any]) -> str:
    """Calculate the sha256 hex of a configuration, without keys about its origin."""
    settings = {key: value for key, value in config.items() if key not in _INCIDENTAL}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def tokenizer_files(folder: Path) -> list[Path]:
    """List a tokenizer's files, see `Layout.tokenizer`. Raises ModelError if there are none, or one
    has no content."""
    if names := layout_of(folder).tokenizer:
        return [_present(folder / name) for name in names]
    raise ModelError(
        f"{folder / TOKENIZER_FILES[0]} is missing: save the model's tokenizer there as well."
    )


def tokenizer_hash(folder: Path, config: dict[str, Any]) -> str:
    """Calculate the sha256 hex of a tokenizer's files. Raises ModelError as `tokenizer_files`
    does."""
    parts = [config["model_type"]]
    for path in tokenizer_files(folder):
        small = path.stat().st_size < 1_000_000
        is_settings = small and path.suffix == ".json" and path.name != "tokenizer.json"
        parts.append(config_hash(read_json(path)) if is_settings else content_hash(path))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def tensor_names(folder: Path) -> list[str]:
    """List the names of tensors as a folder's files have them; none of GGUF. Raises ModelError if a
    file is damaged."""
    files = weight_files(folder)
    if files[0].suffix == GGUF:
        return []
    read = pickled_names if is_pickled(files) else read_whole_header
    return [name for path in files for name in read(path)]


def _size(config: dict[str, Any], name: str, source: object) -> int:
    value = setting(config, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(
            f"{source} does not say {name.partition('|')[0]}: "
            "it is damaged, or not the configuration of a Transformer."
        )
    return value


def _check_positions(config: dict[str, Any], architecture: Architecture, source: object) -> None:
    """Refuse a table of positions that transformers would compute for minutes."""
    positions = config.get(architecture.positions)
    if not architecture.computed_positions or not isinstance(positions, int):
        return
    if positions * _size(config, architecture.width, source) > MOST_SINES:
        raise ModelError(
            f"{source} claims {positions:,} positions, too many for its type: get it again."
        )


def _present(path: Path) -> Path:
    """Return the path of a file that is there. Raises ModelError if it is missing, empty, cannot be
    read, or is what Git LFS leaves in its place."""
    if not path.is_file():
        raise ModelError(f"{path} is missing: get the model again, or choose another.")
    try:
        size = path.stat().st_size
        pointer = size <= MOST_POINTER and path.read_bytes().startswith(POINTER)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): get it again.") from error
    if not size:
        raise ModelError(f"{path} is empty: get the model again, or choose another.")
    if pointer:
        raise ModelError(
            f"{path} is a pointer of Git LFS without the file's content: "
            "run `git lfs pull` in the model's repository."
        )
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model's folder; raises ModelError as `read_small`, or if it is
    none."""
    return parse_json(read_small(path), path)


def read_small(path: Path, source: object = None) -> bytes:
    """Read a file of settings; `source` names it in messages, or its path. Raises ModelError if it
    is missing, larger than `MOST_BYTES`, or cannot be read."""
    size = _present(path).stat().st_size
    if size > MOST_BYTES:
        raise too_large(source or path, size)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): get it again.") from error


def too_large(source: object, size: int) -> ModelError:
    """Make the error of a file of settings of this many bytes."""
    return ModelError(
        f"{source} is too large for a file of settings ({size / 2**20:,.0f} MB): "
        "choose another model."
    )
