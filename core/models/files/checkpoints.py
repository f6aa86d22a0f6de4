"""A model's folder, read without running any of it: configuration, headers, content hashes.

The loading policy lives here. config.json is read as plain JSON before anything else looks at it:
the model type must be on our list, and whatever could bring in foreign code (auto_map, a named
attention kernel) is refused. Nothing here imports torch or transformers.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.architecture import Architecture
from core.models.architectures import ARCHITECTURES, describe_type
from core.models.architectures.inference import infer_type
from core.models.files.bounds import (
    MOST_LAYERS,
    MOST_SINES,
    MOST_WIDTH,
    check_bounds,
    refuse_code,
    refuse_redirection,
)
from core.models.files.gguf import gguf_config
from core.models.files.memory import remembered
from core.models.files.pickled import pickled_names
from core.models.files.safetensors import read_whole_header
from core.models.files.schemes import check_method
from core.models.files.text_part import QUANTISATION, text_part

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
SAFETENSORS_INDEX = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"
PICKLED_INDEX = "pytorch_model.bin.index.json"
ADAPTER = "adapter_config.json"
GGUF = ".gguf"
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "spm.model",
)
BESIDE_TOKENIZER = 4  # of these files, read even with tokenizer.json
SHARD_NAME = re.compile(r"[A-Za-z0-9._-]+\.(safetensors|bin)")
MOST_JSON = 8 * 2**20  # bytes of a JSON file; reading takes twenty times as much memory
MAX_SUBWORDS = 1024  # a sentence is never longer; keeps long-context decoders within memory

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
    """Read config.json of a folder and check it against the loading policy.

    Raises:
        ModelError: If it is missing or damaged, is of a model type that is not described and cannot
            be inferred, or asks for code or kernels that are not in the transformers library
            itself.
    """
    path = folder / CONFIG
    config = (
        read_json(path) if path.is_file() or not _gguf(folder) else gguf_config(_gguf(folder)[0])
    )
    names = [] if config.get("model_type") is not None else _tensor_names(folder)
    config = with_type(config, names, path)
    check_config(config, path)
    tokenizer = folder / "tokenizer_config.json"
    if tokenizer.is_file():
        settings = read_json(tokenizer)
        if "auto_map" in settings:
            raise ModelError(
                f"{tokenizer} needs its author's own code (auto_map), never run here: use another."
            )
        refuse_redirection(settings, tokenizer)
    return config


def with_type(config: dict[str, Any], names: list[str], source: object) -> dict[str, Any]:
    """Add the inferred model type to a configuration that has none; take the language model of
    one of images and text.

    Args:
        names: Of the tensors, as far as they are known.
        source: Names the configuration in a message.

    Raises:
        ModelError: As `infer_type`.
    """
    if config.get("model_type") is not None:
        refuse_code(config, source)
        return text_part(config)
    return {**config, "model_type": infer_type(config, names, source)}


def check_config(config: dict[str, Any], source: object) -> None:
    """Refuse a configuration that the policy forbids; `source` names it in messages.

    Raises:
        ModelError: With the reason and what would be accepted.
    """
    refuse_code(config, source)
    if QUANTISATION in config:
        check_method(config[QUANTISATION], source)
    architecture = describe_type(config.get("model_type"), source)
    sizes = [_size(config, name, source) for name in _size_names(architecture)]
    if sizes[0] > MOST_LAYERS or sizes[1] > MOST_WIDTH:
        raise ModelError(
            f"{source} claims {sizes[0]} layers of {sizes[1]} dimensions, which no model has: get "
            "it again."
        )
    check_bounds(config, source)
    _check_positions(config, architecture, source)


def sizes(config: dict[str, Any]) -> tuple[int, int, int]:
    """Read (layers, d_model, heads) from a checked configuration."""
    layers, width, heads = (
        _size(config, name, CONFIG) for name in _size_names(ARCHITECTURES[config["model_type"]])
    )
    return layers, width, heads


def depth(config: dict[str, Any], side: str) -> int:
    """Read the number of layers on one side: encoder and decoder may differ."""
    name = ARCHITECTURES[config["model_type"]].decoder_layers
    return (
        int(config.get(name) or sizes(config)[0])
        if name and side == "decoder"
        else sizes(config)[0]
    )


def longest_input(config: dict[str, Any]) -> int:
    """Read how many subwords an input may have, special tokens included."""
    kind = ARCHITECTURES[config["model_type"]]
    positions = config.get(kind.positions) if kind.positions else None
    return (
        min(MAX_SUBWORDS, positions - kind.offset) if isinstance(positions, int) else MAX_SUBWORDS
    )


def weight_files(folder: Path) -> list[Path]:
    """List the files of weights in loading order: safetensors, else PyTorch's format, else GGUF.

    Raises:
        ModelError: If there are none, or a listed one is missing or lies outside the folder.
    """
    for single, index in ((SAFETENSORS, SAFETENSORS_INDEX), (PICKLED, PICKLED_INDEX)):
        if (folder / single).is_file():
            return [folder / single]
        if (folder / index).is_file():
            return [
                _present(folder / name)
                for name in shard_names(read_json(folder / index), folder / index)
            ]
    if files := _gguf(folder):
        return files[:1]
    raise ModelError(
        f"{folder / SAFETENSORS} is missing, and so are other weights that can be read: save the "
        "model there with save_pretrained, or choose another."
    )


def _gguf(folder: Path) -> list[Path]:
    """List the GGUF file of a folder without other weights.

    Raises:
        ModelError: If there are several.
    """
    files = sorted(folder.glob(f"*{GGUF}")) if folder.is_dir() else []
    if len(files) > 1:
        raise ModelError(
            f"{folder} holds {len(files)} GGUF files: keep one of them there, as a model of its "
            "own."
        )
    return files


def shard_names(index: dict[str, Any], source: object) -> list[str]:
    """List the file names in a sharded model's index, sorted; plain names only."""
    listed = index.get("weight_map")
    names = list(listed.values()) if isinstance(listed, dict) else []
    if not names or not all(isinstance(name, str) and SHARD_NAME.fullmatch(name) for name in names):
        raise ModelError(
            f"{source} does not list plain file names of weights: it is damaged or unsafe, choose "
            f"another."
        )
    return sorted(set(names))


def is_pickled(files: list[Path]) -> bool:
    """Whether weights are in PyTorch's pickled format, read with weights_only alone."""
    return files[0].suffix == ".bin"


def content_hash(path: Path) -> str:
    """Calculate the sha256 hex of a file's content; cached by size and modification time."""
    return _content_hash(_present(path))


@remembered
def _content_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def config_hash(config: dict[str, Any]) -> str:
    """Calculate the sha256 hex of a configuration, without keys about its origin."""
    kept = {key: value for key, value in config.items() if key not in _INCIDENTAL}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def tokenizer_files(folder: Path) -> list[Path]:
    """List a tokenizer's files: tokenizer.json, the vocabulary files, or last the GGUF file.

    Raises:
        ModelError: If the folder has no tokenizer.
    """
    whole = (folder / "tokenizer.json").is_file()
    names = TOKENIZER_FILES[:BESIDE_TOKENIZER] if whole else TOKENIZER_FILES
    present = [folder / name for name in names if (folder / name).is_file()]
    if any(path.name not in TOKENIZER_FILES[1:BESIDE_TOKENIZER] for path in present):
        return present
    if files := _gguf(folder):
        return [*present, *files]
    raise ModelError(
        f"{folder / 'tokenizer.json'} is missing: save the model's tokenizer there as well."
    )


def tokenizer_hash(folder: Path, config: dict[str, Any]) -> str:
    """Calculate the sha256 hex of a tokenizer's files.

    Raises:
        ModelError: As `tokenizer_files`.
    """
    parts = [config["model_type"]]
    for path in tokenizer_files(folder):
        small = path.stat().st_size < 1_000_000
        is_settings = small and path.suffix == ".json" and path.name != "tokenizer.json"
        parts.append(config_hash(read_json(path)) if is_settings else content_hash(path))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _tensor_names(folder: Path) -> list[str]:
    """List the names of tensors in a folder, from headers."""
    if (folder / SAFETENSORS).is_file():
        return [*read_whole_header(folder / SAFETENSORS)]
    for index in (SAFETENSORS_INDEX, PICKLED_INDEX):
        if (folder / index).is_file():
            shards = read_json(folder / index).get("weight_map")
            return [str(name) for name in shards] if isinstance(shards, dict) else []
    return [*pickled_names(folder / PICKLED)] if (folder / PICKLED).is_file() else []


def _size_names(kind: Architecture) -> tuple[str, str, str]:
    return kind.layers, kind.width, kind.heads


def _size(config: dict[str, Any], name: str, source: object) -> int:
    value = next((config[key] for key in name.split("|") if config.get(key) is not None), None)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(
            f"{source} does not say {name.partition('|')[0]}: it is damaged, or not the "
            f"configuration of a Transformer."
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
    if not path.is_file():
        raise ModelError(f"{path} is missing: get the model again, or choose another.")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a model's folder.

    Raises:
        ModelError: If it is missing, too large, cannot be read, or is no JSON object.
    """
    size = _present(path).stat().st_size
    if size > MOST_JSON:
        raise ModelError(
            f"{path} is too large for a file of settings ({size / 2**20:,.0f} MB): choose another "
            f"model."
        )
    try:
        return parse_json(path.read_bytes(), path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): get it again.") from error


def parse_json(raw: bytes, source: object) -> dict[str, Any]:
    """Parse a JSON object; `source` names it in messages.

    Raises:
        ModelError: If it is none.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{source} is damaged (not JSON: {str(error)[:200]}): get it again."
        ) from error
    if not isinstance(value, dict):
        raise ModelError(f"{source} is damaged (not a JSON object): get it again.")
    return value
