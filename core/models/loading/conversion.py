"""Weights of any format that is read here, written as safetensors, one tensor at a time.

Quantised weights become float32, which is what every study computes with, so that the converted
model gives the same numbers; pickled ones keep their type.

Reference: none. Deviations: tied tensors that a pickled file names twice are written twice.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy import ndarray

import core.models.files.checkpoints as checkpoints
import core.models.files.layout as layout
from core.errors import ModelError
from core.models.files.opening import ROUNDING, open_weights
from core.models.files.safetensors import BYTES_PER_NUMBER, NUMBERS, Stored
from core.models.files.text_part import QUANTISATION, TEXT_CONFIG, is_whole
from core.models.loading.tokenizing import read_gguf_tokenizer

WIDE = "F32"
ALIGNED = 8  # bytes, to which the header is filled up


def convert(folder: Path, target: Path) -> int:
    """Write a model's weights as safetensors, with its configuration and tokenizer.

    A GGUF file gives its configuration and its tokenizer too.

    Args:
        folder: Holds the model: pickled tensors, GGUF, or quantised safetensors.
        target: A folder that does not exist yet.

    Returns:
        Tensors written.

    Raises:
        ModelError: If the model cannot be read, is in plain safetensors already, or the target is
            there.
    """
    if target.exists():
        raise ModelError(f"{target} is there already: name another folder with --out.")
    config = checkpoints.read_config(folder)
    files = checkpoints.weight_files(folder)
    if files[0].suffix == ".safetensors" and QUANTISATION not in config:
        raise ModelError(f"{folder} is in safetensors already, so there is nothing to convert.")
    entries = {
        name: entry
        for name, entry in open_weights(folder, config).items()
        if entry.dtype in ROUNDING
    }
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        with (partial / layout.SAFETENSORS).open("wb") as file:
            _write_tensors(file, entries)
        plain = _plain_config(folder, config)
        (partial / layout.CONFIG).write_text(json.dumps(plain, indent=2), encoding="utf8")
        for name in layout.TOKENIZER_FILES:
            if (folder / name).is_file():
                shutil.copy(folder / name, partial / name)
        if files[0].suffix == layout.GGUF and not (partial / "tokenizer.json").is_file():
            read_gguf_tokenizer(files[0]).save_pretrained(partial)
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return len(entries)


def _plain_config(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Take the quantisation out of a configuration.

    A model of images and text keeps the configuration of the whole, whose names its tensors have.
    """
    path = folder / layout.CONFIG
    stored = checkpoints.read_json(path) if path.is_file() else {}
    plain = {**stored} if is_whole(stored) else {**config}
    if isinstance(inner := plain.get(TEXT_CONFIG), dict) and is_whole(plain):
        plain[TEXT_CONFIG] = {key: value for key, value in inner.items() if key != QUANTISATION}
    plain.pop(QUANTISATION, None)
    return plain


def _write_tensors(file: IO[bytes], entries: Mapping[str, Stored]) -> None:
    """Write a safetensors file: its header, then one tensor after the other."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, entry in entries.items():
        dtype = entry.dtype if entry.dtype in NUMBERS else WIDE
        stop = place + math.prod(entry.shape) * BYTES_PER_NUMBER[dtype]
        header[name] = {"dtype": dtype, "shape": list(entry.shape), "data_offsets": [place, stop]}
        place = stop
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % ALIGNED)
    file.write(len(raw).to_bytes(8, "little") + raw)
    for name, entry in entries.items():
        file.write(_stored(entry.read(), header[name]["dtype"]).tobytes())


def _stored(values: ndarray, dtype: str) -> ndarray:
    """Turn numbers into those of a type that they were widened from, without rounding."""
    if dtype == "BF16":
        return (np.ascontiguousarray(values, dtype="<f4").view("<u4") >> 16).astype("<u2")
    return np.ascontiguousarray(values, dtype=NUMBERS[dtype])
