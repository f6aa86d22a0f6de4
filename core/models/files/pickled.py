"""PyTorch's pickled weights, read as plain tensors and nothing else.

torch's own reader with `weights_only` refuses whatever is no tensor, number or text before it runs.

Reference: none. Deviations: none.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.limits import current_limits
from core.models.files.memory import remembered

MOST_PICKLE = 8 * 2**20  # bytes before the numbers; those of a large model are under one million
LEGACY = 3  # pickles before that of the tensors, where the file is no zip archive
NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}


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


@remembered
def pickled_names(path: Path) -> tuple[str, ...]:
    """List the texts of a pickled file before its numbers, the names of its tensors among them.

    Opcodes are parsed, none is executed, so that a file from anywhere can be asked.

    Raises:
        ModelError: If it cannot be parsed.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                member = min(name for name in archive.namelist() if name.endswith("data.pkl"))
                with archive.open(member) as packed:
                    file, before = io.BytesIO(packed.read(MOST_PICKLE)), 0
        else:
            with path.open("rb") as plain:
                file, before = io.BytesIO(plain.read(MOST_PICKLE)), LEGACY
        for _ in range(before):
            for _ in pickletools.genops(file):
                pass
        return tuple(
            str(value)
            for opcode, value, _ in pickletools.genops(file)
            if "UNICODE" in opcode.name or "STRING" in opcode.name
        )
    except (ValueError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(
            f"{path} is damaged (no pickled tensors: {str(error)[:80]}): get it again."
        ) from error


def pickled_entries(paths: Sequence[Path]) -> dict[str, PickledTensor]:
    """Open pickled weights: the tensors of all files, by name.

    Raises:
        ModelError: If this instance is shared, a file is damaged, or holds anything but tensors.
    """
    if current_limits().shared:
        raise ModelError(
            f"{paths[0]} holds pickled weights, which a shared instance does not open: choose "
            "another model."
        )
    import torch

    entries: dict[str, PickledTensor] = {}
    for path in paths:
        try:
            held = torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
        except Exception as error:  # whatever the unpickler meets: each is this file's fault
            raise ModelError(
                f"{path} does not hold plain tensors ({type(error).__name__}), and nothing else is "
                "opened: choose the model in safetensors."
            ) from error
        if not isinstance(held, dict):
            raise ModelError(f"{path} does not hold tensors by name: choose another model.")
        entries |= {
            str(name): PickledTensor(
                NAMES.get(str(tensor.dtype).removeprefix("torch."), "I64"),
                tuple(tensor.shape),
                tensor,
            )
            for name, tensor in held.items()
            if isinstance(tensor, torch.Tensor)
        }
    return entries
