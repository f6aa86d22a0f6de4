"""The header of a safetensors file, read as what a stranger wrote: names, types, shapes and byte ranges, all checked.

Reference: the safetensors format. Deviations: none; a header that the format allows is read.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from core.errors import ModelError

MAX_HEADER_BYTES = 100_000_000  # the format's own limit
MOST_BYTES = 2**48  # of one file: beyond it a number is nonsense, and arithmetic with it no longer cheap
BYTES_PER_NUMBER = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}


@dataclass(frozen=True)
class Tensor:
    """One tensor's place: its type, shape and bytes, counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def parse_header(raw: bytes) -> dict[str, Tensor]:
    """The tensors that a header describes.

    Args:
        raw: The JSON after the eight bytes that say how long it is.

    Raises:
        ValueError: If it is anything but a header.
    """
    try:
        entries = json.loads(raw)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(entries, dict):
        raise ValueError("not a JSON object")
    return {name: _tensor(name, entry) for name, entry in entries.items() if name != "__metadata__"}


def read_header(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file by name, without reading them.

    Raises:
        ModelError: If the file cannot be read, is cut short, or is not safetensors.
    """
    damaged = f"{path} is damaged (not a whole safetensors file): delete it and get it again."
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if total < 8 or not 2 <= length <= min(MAX_HEADER_BYTES, total - 8):
                raise ModelError(damaged)
            tensors = parse_header(file.read(length))
    except ValueError as error:
        raise ModelError(damaged) from error
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read ({error.strerror}): get the model again, or choose another."
        ) from error
    end = max((tensor.stop for tensor in tensors.values()), default=0)
    if total != 8 + length + end or not all(map(_fills_its_place, tensors.values())):
        raise ModelError(damaged)
    return tensors


def count_numbers(tensors: dict[str, Tensor]) -> int:
    """Numbers in the tensors; whole-number tables are left out."""
    return sum(math.prod(tensor.shape) for tensor in tensors.values() if tensor.dtype in BYTES_PER_NUMBER)


def _tensor(name: str, entry: object) -> Tensor:
    if not isinstance(entry, dict):
        raise ValueError(f"{name[:100]} is no tensor")
    dtype, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or not _sizes(shape) or not _sizes(place) or len(place) != 2 or place[0] > place[1]:
        raise ValueError(f"{name[:100]} has no type, shape and place")
    return Tensor(dtype, tuple(shape), place[0], place[1])


def _fills_its_place(tensor: Tensor) -> bool:
    width = BYTES_PER_NUMBER.get(tensor.dtype)
    return width is None or math.prod(tensor.shape) * width == tensor.stop - tensor.start


def _sizes(value: object) -> TypeGuard[list[int]]:
    """Whether this is a list of whole numbers that a file could have."""
    return (
        isinstance(value, list)
        and len(value) <= 64
        and all(type(item) is int and 0 <= item <= MOST_BYTES for item in value)
    )
