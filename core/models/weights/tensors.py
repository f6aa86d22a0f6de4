"""Tensors of a safetensors checkpoint, one at a time: the header first, then only the bytes asked for.

A file is anything that reads a range of bytes: a local file or a file on a hub. Sharded checkpoints are one
dictionary of tensors. No model is instantiated and nothing but the tensor asked for is in memory.

Reference: the safetensors format. Deviations: bfloat16 is widened here, numpy has no such type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files.headers import MAX_HEADER_BYTES, parse_header

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
# Relative size of the rounding error of a number stored in this type, root mean square.
ROUNDING = {"F64": 1e-16, "F32": 3e-8, "F16": 2.1e-4, "BF16": 1.7e-3}


class ByteFile(Protocol):
    """A file of which a range of bytes can be read."""

    @property
    def name(self) -> str:
        """What a message calls it."""
        ...

    def read(self, start: int, stop: int) -> bytes:
        """Bytes from `start` up to `stop`; fewer where the file ends."""
        ...


@dataclass(frozen=True)
class LocalFile:
    """A file on this machine."""

    path: Path

    @property
    def name(self) -> str:
        """Folder and file name, without the rest of the path."""
        return f"{self.path.parent.name}/{self.path.name}"

    def read(self, start: int, stop: int) -> bytes:
        """Bytes from `start` up to `stop`; fewer where the file ends.

        Raises:
            ModelError: If the file cannot be read.
        """
        try:
            with self.path.open("rb") as handle:
                handle.seek(start)
                return handle.read(stop - start)
        except OSError as error:
            raise ModelError(f"{self.name} cannot be read ({error.strerror}).") from error


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies: its file, type, shape and byte range in the file."""

    file: ByteFile
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and its tensors, none of them read yet.

    Attributes:
        ref: What messages call it.
        config: Content of `config.json`.
        entries: Place of each tensor by name.
    """

    ref: str
    config: Mapping[str, Any]
    entries: Mapping[str, Entry]

    @property
    def model_type(self) -> str:
        """`model_type` of the configuration, or ""."""
        return str(self.config.get("model_type", ""))

    def read(self, name: str) -> Float[ndarray, "*shape"]:
        """One tensor, in float32 (float64 where stored so).

        Raises:
            ModelError: If it is missing, of a type that is no float, cut short, or holds a number that is not finite.
        """
        if name not in self.entries:
            raise ModelError(f"{self.ref} holds no tensor {name}.")
        entry = self.entries[name]
        if entry.dtype not in WIDTHS:
            text = f"{self.ref} stores {name} as {entry.dtype}: quantized weights have no exact delta"
            raise ModelError(f"{text}; use the model in 16 or 32 bits.")
        if entry.stop - entry.start != WIDTHS[entry.dtype] * int(np.prod(entry.shape)):
            raise ModelError(f"{entry.file.name} is damaged: {name} has {entry.stop - entry.start} bytes.")
        data = entry.file.read(entry.start, entry.stop)
        if len(data) != entry.stop - entry.start:
            raise ModelError(f"{entry.file.name} is truncated: {name} ends after the file does; fetch it again.")
        tensor = _decode(data, entry.dtype).reshape(entry.shape)
        if not np.isfinite(tensor).all():
            count = int(np.count_nonzero(~np.isfinite(tensor)))
            text = f"{self.ref}: {count:,} of the {tensor.size:,} numbers in {name} are not finite"
            raise ModelError(f"{text}; the training diverged, or the file is damaged.")
        return tensor


def open_checkpoint(ref: str, config: Mapping[str, Any], files: Sequence[ByteFile]) -> Checkpoint:
    """Read the headers of a checkpoint's files.

    Raises:
        ModelError: If a header cannot be read.
    """
    entries: dict[str, Entry] = {}
    for file in files:
        entries.update(_read_header(file))
    return Checkpoint(ref, config, entries)


def open_folder(ref: str, folder: Path, config: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint in a local folder that holds one or more safetensors files.

    Args:
        config: Content of its `config.json`.

    Raises:
        ModelError: If a file is missing, damaged or truncated.
    """
    present = sorted(path.name for path in folder.iterdir())
    index = read_index(ref, (folder / INDEX).read_bytes()) if INDEX in present else None
    names = weight_files(ref, present, index)
    for name in names:
        if name not in present:
            raise ModelError(f"{ref} is incomplete: {name} is missing; fetch it again.")
    return open_checkpoint(ref, config, [LocalFile(folder / name) for name in names])


def read_index(ref: str, content: bytes) -> dict[str, Any]:
    """Content of an index of shards.

    Raises:
        ModelError: If it is not a JSON object.
    """
    try:
        index = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{ref} has a damaged {INDEX}; fetch it again.") from error
    if not isinstance(index, dict):
        raise ModelError(f"{ref} has a damaged {INDEX}; fetch it again.")
    return index


def weight_files(ref: str, present: Sequence[str], index: Mapping[str, Any] | None) -> list[str]:
    """Which of the files present hold the weights.

    Args:
        ref: What messages call the model.
        present: Names of the files beside `config.json`.
        index: Content of `model.safetensors.index.json` if there is one: it names the shards.

    Raises:
        ModelError: If there is none in safetensors, with the reason when it is plain.
    """
    if index is not None:
        shards = index.get("weight_map")
        if not isinstance(shards, dict) or not shards or not all(isinstance(name, str) for name in shards.values()):
            raise ModelError(f"{ref} has an {INDEX} that names no files; it is damaged.")
        names = sorted(set(shards.values()))
        for name in names:
            if Path(name).name != name or not name.endswith(".safetensors"):
                raise ModelError(f"{ref} has an {INDEX} that points outside the model: {name!r}.")
        return names
    if WEIGHTS in present:
        return [WEIGHTS]
    tensors = [name for name in present if name.endswith(".safetensors") and not name.startswith("adapter")]
    if len(tensors) == 1:
        return tensors
    if any(name.startswith("adapter_model") for name in present):
        raise ModelError(f"{ref} holds an adapter, not a model; merge it into its base and save that.")
    if any(name.endswith((".bin", ".pt", ".pth", ".ckpt")) for name in present):
        text = f"{ref} has pickled weights only, which are never opened here"
        raise ModelError(f"{text}; ask for a safetensors version, or convert a copy that you trust.")
    raise ModelError(f"{ref} has no safetensors weights ({len(tensors)} candidate files).")


def _read_header(file: ByteFile) -> dict[str, Entry]:
    prefix = file.read(0, 8)
    if len(prefix) < 8:
        raise ModelError(f"{file.name} is truncated: it ends before its header; fetch it again.")
    size = int.from_bytes(prefix, "little")
    if not 2 <= size <= MAX_HEADER_BYTES:
        raise ModelError(f"{file.name} is not a safetensors file.")
    raw = file.read(8, 8 + size)
    if len(raw) < size:
        raise ModelError(f"{file.name} is truncated: it ends within its header; fetch it again.")
    try:
        tensors = parse_header(raw)
    except ValueError as error:
        raise ModelError(f"{file.name} has a damaged header; fetch it again.") from error
    begin = 8 + size
    return {
        name: Entry(file, tensor.dtype, tensor.shape, begin + tensor.start, begin + tensor.stop)
        for name, tensor in tensors.items()
    }


def _decode(data: bytes, dtype: str) -> Float[ndarray, " entry"]:
    if dtype == "BF16":
        return (np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16).view(np.float32)
    if dtype == "F16":
        return np.frombuffer(data, dtype="<f2").astype(np.float32)
    return np.frombuffer(data, dtype="<f4" if dtype == "F32" else "<f8")
