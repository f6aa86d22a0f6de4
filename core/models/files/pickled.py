"""PyTorch's pickled weights, read as plain tensors and nothing else.

torch's own reader with `weights_only` refuses whatever is no tensor, number or text before it runs.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.limits import current_limits
from core.models.files.safetensors import complex_numbers, not_gathered, refuse_empty
from core.runs.process.remembered import READ_FILES, file_state, remembered

MOST_PICKLE = 8 * 2**20  # bytes before the numbers; those of a large model are under one million
MOST_OPCODES = 2**21  # a large model's file has a tenth of them, and these take seconds
LEGACY = 3  # pickles before that of the tensors, where the file is no zip archive
STORAGE_FIELDS = 8  # values that may name one storage
FLOATING = (
    *(f"torch {kind}Storage" for kind in ("Float", "Double", "Half", "BFloat16")),
    "torch.storage UntypedStorage",  # of 8-bit numbers, counted in bytes
)
COMPLEX = "torch Complex"
NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
NAMES |= dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), "FP8")


@dataclass(frozen=True)
class PickledTensor:
    """A tensor of a pickled file, on disk until it is read where the file allows it.

    Attributes:
        dtype: Its type, as safetensors call it.
        shape: Its shape.
        tensor: torch's; its strides may be any.
    """

    dtype: str
    shape: tuple[int, ...]
    tensor: Any

    def read(self) -> Float[ndarray, "*shape"]:
        """Read the tensor in float32 (float64 if stored so)."""
        wide = self.tensor if self.dtype == "F64" else self.tensor.float()
        return np.ascontiguousarray(wide.detach().numpy())

    def read_part(self, start: int, count: int) -> Float[ndarray, " number"]:
        """Read consecutive numbers of a matrix, counted row by row, and of its rows only those."""
        columns = self.shape[1]
        first, last = start // columns, -(-(start + count) // columns)
        rows = replace(self, shape=(last - first, columns), tensor=self.tensor[first:last]).read()
        return rows.ravel()[start - first * columns :][:count]


@remembered(READ_FILES, state=file_state)
def pickled_names(path: Path) -> tuple[str, ...]:
    """List the texts of a pickled file before its numbers, the names of its tensors among them.
    Raises ModelError if it cannot be parsed."""
    return tuple(
        str(value) for name, value in _opcodes(path) if "UNICODE" in name or "STRING" in name
    )


@remembered(READ_FILES, state=file_state)
def count_pickled(path: Path) -> int:
    """Count the numbers that a pickled file stores, without whole numbers; shared ones count once.
    A storage is persistent: "storage", its type, its key, where it was and how many numbers it has.
    Raises ModelError if there is none."""
    last: deque[Any] = deque(maxlen=STORAGE_FIELDS)
    memo: dict[int, Any] = {}
    sizes: dict[str, int] = {}
    for name, value in _opcodes(path):
        if "PUT" in name or name == "MEMOIZE":
            memo[len(memo) if value is None else value] = last[-1] if last else None
        elif "GET" in name:
            last.append(memo.get(value))
        elif name == "STACK_GLOBAL" and len(last) > 1:
            kind = last.pop()
            last.append(f"{last.pop()} {kind}")
        elif name == "BINPERSID":
            match _after_last(list(last), "storage"):
                case [kind, *_] if str(kind).startswith(COMPLEX):
                    raise complex_numbers(path, "a tensor")
                case [kind, key, _, int(count), *_]:
                    sizes[str(key)] = count if kind in FLOATING else 0
        elif value is not None and name not in ("PROTO", "FRAME"):
            last.append(value)
    if not sizes:
        raise ModelError(f"{path} is damaged (no pickled tensors): get it again.")
    if not any(sizes.values()):
        raise not_gathered("every tensor", path)
    return sum(max(size, 0) for size in sizes.values())


def _after_last(values: list[Any], mark: str) -> list[Any]:
    """The values after the last one that equals `mark`; none if none does."""
    places = [place for place, value in enumerate(values) if value == mark]
    return values[places[-1] + 1 :] if places else []


def _opcodes(path: Path) -> Iterator[tuple[str, Any]]:
    """Parse the opcodes of a pickled file before its numbers, with their arguments. None is
    executed, so that a file from anywhere can be asked. Raises ModelError if it cannot be
    parsed."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                pickles = [each for each in archive.infolist() if each.filename.endswith(".pkl")]
                if len(pickles) != 1 or pickles[0].file_size > MOST_PICKLE:
                    raise ValueError(f"not one data.pkl of at most {MOST_PICKLE:,} bytes")
                file, before = io.BytesIO(archive.read(pickles[0])), 0
        else:
            with path.open("rb") as plain:
                file, before = io.BytesIO(plain.read(MOST_PICKLE)), LEGACY
        for _ in range(before):
            for _ in pickletools.genops(file):
                pass
        for number, (opcode, value, _) in enumerate(pickletools.genops(file)):
            if number == MOST_OPCODES:
                raise ValueError(f"over {MOST_OPCODES:,} instructions")
            yield opcode.name, value
    except (ValueError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"{path} is damaged (no pickled tensors: {str(error)[:80]}): get it again."
        ) from error


def pickled_entries(path: Path) -> dict[str, PickledTensor]:
    """Open a file of pickled weights: its tensors, by name. Raises ModelError if this instance is
    shared, the file is damaged, or holds anything but tensors."""
    if current_limits().shared:
        raise ModelError(
            f"{path} holds pickled weights, which a shared instance does not open: "
            "choose another model."
        )
    import torch

    count_pickled(path)  # what torch is to execute is bounded
    try:
        held = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except Exception as error:  # whatever the unpickler meets: each is this file's fault
        raise not_plain(path, error) from error
    if not isinstance(held, dict):
        raise ModelError(f"{path} does not hold tensors by name: choose another model.")
    entries = {
        str(name): PickledTensor(
            NAMES.get(str(tensor.dtype).removeprefix("torch."), "I64"),
            tuple(tensor.shape),
            tensor,
        )
        for name, tensor in held.items()
        if isinstance(tensor, torch.Tensor)
    }
    refuse_empty({name: entry.shape for name, entry in entries.items()}, path)
    return entries


def not_plain(source: object, error: Exception) -> ModelError:
    """Make the error of a file that torch does not open as plain tensors."""
    return ModelError(
        f"{source} does not hold plain tensors ({type(error).__name__}), "
        "and nothing else is opened: choose the model in safetensors."
    )
