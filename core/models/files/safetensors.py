"""Safetensors files from untrusted sources: a checked header, then single tensors.

A file is anything that reads a range of bytes: a local file or a file on a hub. Neither torch nor
the safetensors library is imported, which would take longer than the reading.

Reference: the safetensors format. Deviations: of headers, which the format bounds by 100 MB alone,
those are read that take no more bytes and memory than `core.runs.process.parsing` allows, about
43,000 tensors; bfloat16 is widened, as numpy has no such type.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol, TypeGuard

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files.layout import CONFIG, SAFETENSORS
from core.runs.process.parsing import MOST_BYTES as MOST_HEADER
from core.runs.process.parsing import TooLargeError, parse

FORMAT_HEADER = 100_000_000  # bytes that the format allows a header
LONGEST_NAME = 500  # characters of a tensor's name; what lists names pads them to the longest
MOST_BYTES = 2**48  # of one file; larger numbers are certainly wrong
BYTES_PER_NUMBER = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
COMPLEX = ("C64", "C128")
NUMBERS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""Types that are read, and how numpy calls their bytes."""
WIDE = "F32"
ALIGNED = 8  # bytes, to which a written header is filled up
CODES = {"I8": "i1", "U8": "u1", "I16": "<i2", "I32": "<i4", "I64": "<i8"} | dict.fromkeys(
    ("F8_E4M3", "F8_E5M2"), "u1"
)
"""Types that hold quantised numbers."""


class ByteFile(Protocol):
    """A file of which ranges of bytes can be read."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes from `start` up to `stop`; fewer at the end of the file."""
        ...


class Stored(Protocol):
    """A tensor that can be read as numbers, in whatever format a file holds it."""

    @property
    def dtype(self) -> str:
        """Type or quantisation in which it is stored."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape when read."""
        ...

    def read(self) -> Float[ndarray, "*shape"]:
        """Read it in float32 (float64 if stored so)."""
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
        """Read the bytes from `start` up to `stop`; fewer at the end of the file. Raises ModelError
        if it cannot be read."""
        try:
            with self.path.open("rb") as handle:
                handle.seek(start)
                return handle.read(stop - start)
        except OSError as error:
            raise ModelError(
                f"{self.name} cannot be read ({error.strerror}): "
                "get the model again, or choose another."
            ) from error

    @cached_property
    def mapped(self) -> ndarray:
        """Its bytes, which are read when they are used; writing to them changes memory alone."""
        return np.memmap(self.path, mode="c")


@dataclass(frozen=True)
class Entry:
    """A tensor's place: its file, type, shape and byte range."""

    file: ByteFile
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    def read(self) -> Float[ndarray, "*shape"]:
        """Read the tensor in float32 (float64 if stored so). Raises ModelError if its bytes cannot
        be read or end before they should."""
        numbers = np.frombuffer(self._bytes(), dtype=NUMBERS[self.dtype])
        if self.dtype == "BF16":  # the upper half of a float32
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        wide = numbers.astype(np.float32) if self.dtype == "F16" else numbers
        return wide.reshape(self.shape)

    def read_mapped(self) -> Float[ndarray, "*shape"]:
        """Read the tensor as `read` does, from a local file only when its numbers are used, if they
        are stored as they are read; writing to it changes memory alone."""
        if self.dtype not in ("F32", "F64") or not isinstance(self.file, LocalFile):
            return self.read()
        raw = self.file.mapped[self.start : self.stop]
        return raw.view(NUMBERS[self.dtype]).reshape(self.shape)

    def read_rows(self, rows: Iterable[int]) -> Float[ndarray, "rows ..."]:
        """Read some rows of the tensor in float32, and nothing else of it."""
        return np.concatenate([self.read_block(row, row + 1) for row in rows])

    def read_block(self, first: int, last: int) -> Float[ndarray, "rows ..."]:
        """Read the rows from `first` up to `last` in float32, and nothing else of the tensor.
        Raises ModelError as `read` does."""
        size = self._size // self.shape[0]
        shape, start = (last - first, *self.shape[1:]), self.start + first * size
        return replace(self, shape=shape, start=start, stop=self.start + last * size).read()

    def read_codes(self) -> ndarray:
        """Read the tensor as it is stored: integers, 8-bit floats as bytes, and floats as `read`.
        Raises ModelError also if its type is not known, or it does not fill its bytes."""
        if self.dtype in NUMBERS:
            return self.read()
        kind = np.dtype(CODES.get(self.dtype, "V1"))
        if self.dtype not in CODES or math.prod(self.shape) * kind.itemsize != self._size:
            raise damaged(self.file.name, f"a tensor of {self.dtype} that does not fill its place")
        return np.frombuffer(self._bytes(), dtype=kind).reshape(self.shape)

    @property
    def _size(self) -> int:
        return self.stop - self.start

    def _bytes(self) -> bytes:
        data = self.file.read(self.start, self.stop)
        if len(data) != self._size:
            raise damaged(self.file.name, "truncated: it ends within a tensor")
        return data


def parse_header(raw: bytes, file: ByteFile) -> dict[str, Entry]:
    """Parse the tensors of a file that its header describes: the JSON after the eight bytes of its
    length. Raises TooLargeError if it would take more memory than the header of any model;
    ValueError if it is anything but a header."""
    entries = parse(raw)
    if not isinstance(entries, dict):
        raise ValueError("not a JSON object")
    begin = 8 + len(raw)
    return {
        name: _entry(name, entry, file, begin)
        for name, entry in entries.items()
        if name != "__metadata__"
    }


def read_header(file: ByteFile) -> dict[str, Entry]:
    """Read the places of the tensors of a safetensors file, by name. Raises ModelError if the file
    cannot be read, ends within its header, or is not safetensors."""
    prefix = file.read(0, 8)
    if len(prefix) < 8:
        raise damaged(file.name, "truncated: it ends before its header")
    size = int.from_bytes(prefix, "little")
    if not 2 <= size <= FORMAT_HEADER:
        raise damaged(file.name, "not a safetensors file")
    if size > MOST_HEADER:
        raise _too_large(file, f"{size / 2**20:,.0f} MB")
    raw = file.read(8, 8 + size)
    if len(raw) < size:
        raise damaged(file.name, "truncated: it ends within its header")
    try:
        entries = parse_header(raw, file)
    except TooLargeError as error:
        raise _too_large(file, str(error)) from error
    except ValueError as error:
        raise damaged(file.name, "its header is not one") from error
    refuse_empty({name: entry.shape for name, entry in entries.items()}, file.name)
    for name, entry in entries.items():
        if entry.dtype in COMPLEX:
            raise complex_numbers(file.name, name)
    return entries


def read_whole_header(path: Path) -> dict[str, Entry]:
    """Read the header of a local file. Raises ModelError also if the tensors leave bytes of the
    file out or share some, or one does not fill its bytes."""
    entries = read_header(LocalFile(path))
    header = 8 + int.from_bytes(LocalFile(path).read(0, 8), "little")
    places = sorted((entry.start, entry.stop) for entry in entries.values())
    starts, stops = [start for start, _ in places], [stop for _, stop in places]
    gapless = [*starts, path.stat().st_size] == [header, *stops]
    if not gapless or not all(map(fills_its_place, entries.values())):
        raise damaged(path, "not a whole safetensors file")
    return entries


def _entry(name: str, entry: object, file: ByteFile, begin: int) -> Entry:
    """Parse a tensor's place, which a header counts from its own end, `begin`."""
    if not isinstance(entry, dict) or len(name) > LONGEST_NAME:
        raise ValueError(f"{name[:100]} is no tensor")
    dtype, shape, place = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if (
        not isinstance(dtype, str)
        or not _sizes(shape)
        or not _sizes(place)
        or len(place) != 2
        or place[0] > place[1]
    ):
        raise ValueError(f"{name[:100]} has no type, shape and place")
    return Entry(file, dtype, tuple(shape), begin + place[0], begin + place[1])


def sides(shape: Iterable[int]) -> str:
    """A shape in words, such as "8 x 16"."""
    return " x ".join(map(str, shape)) or "one number"


def fills_its_place(entry: Entry) -> bool:
    """Whether a tensor has as many bytes as its type and shape need."""
    width = BYTES_PER_NUMBER.get(entry.dtype)
    return width is None or math.prod(entry.shape) * width == entry.stop - entry.start


def refuse_empty(shapes: Mapping[str, tuple[int, ...]], source: object) -> None:
    """Refuse weights without numbers, which training leaves where its processes share them out.
    Raises ModelError with the first of them."""
    empty = [name for name, shape in shapes.items() if 0 in shape and name.endswith(".weight")]
    if empty:
        raise not_gathered(empty[0][:100], source)


def not_gathered(name: str, source: object) -> ModelError:
    """Make the error of a file whose weights have no numbers."""
    return ModelError(
        f"{source} holds {name} without its numbers, as DeepSpeed ZeRO-3 and FSDP leave weights "
        "that were not gathered: save the gathered model, with DeepSpeed by its zero_to_fp32.py."
    )


def damaged(name: object, reason: str) -> ModelError:
    """Make the error of a file that is not whole."""
    return ModelError(f"{name} is damaged ({reason}): delete it and get it again.")


def complex_numbers(file: object, tensor: str) -> ModelError:
    """Make the error of a tensor of complex numbers, of which a reader of floats drops a half."""
    return ModelError(
        f"{file} holds {tensor[:80]} in complex numbers, which no model that is read here has: "
        "choose another model."
    )


def _too_large(file: ByteFile, size: str) -> ModelError:
    return ModelError(
        f"The header of {file.name} is too large ({size}), which no model's is: "
        "choose another model."
    )


def _sizes(value: object) -> TypeGuard[list[int]]:
    """Whether this is a list of whole numbers that a file could have."""
    return (
        isinstance(value, list)
        and len(value) <= 64
        and all(type(item) is int and 0 <= item <= MOST_BYTES for item in value)
    )


@contextmanager
def writing(target: Path, prefix: str = "") -> Iterator[Path]:
    """Give an empty folder to write a model in, which becomes the target at the end of the block;
    if the block fails, nothing stays. `prefix` begins the name of the folder around it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix or f"{target.name}.")
    with beside as partial:
        written = Path(partial) / target.name
        written.mkdir()
        yield written
        written.rename(target)


def write_model(folder: Path, entries: Mapping[str, Stored], config: Mapping[str, Any]) -> None:
    """Write a model's weights, in one file, and its configuration into a folder."""
    with (folder / SAFETENSORS).open("wb") as file:
        _write_tensors(file, entries)
    (folder / CONFIG).write_text(json.dumps(config, indent=2), encoding="utf8")


def _write_tensors(file: IO[bytes], entries: Mapping[str, Stored]) -> None:
    """Write a safetensors file: its header, then one tensor after the other.

    Numbers in a type that is not read as it is stored become float32.
    """
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
        file.write(_as_stored(entry.read(), header[name]["dtype"]).tobytes())


def _as_stored(values: ndarray, dtype: str) -> ndarray:
    """Turn numbers into those of a type that they were widened from, without rounding."""
    if dtype == "BF16":
        return (np.ascontiguousarray(values, dtype="<f4").view("<u4") >> 16).astype("<u2")
    return np.ascontiguousarray(values, dtype=NUMBERS[dtype])
