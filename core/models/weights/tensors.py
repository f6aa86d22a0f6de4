"""Tensors of a checkpoint, read one at a time; shards count as one file.

No model is instantiated and nothing but the tensor asked for is in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files.opening import open_files, open_weights
from core.models.files.safetensors import (
    NUMBERS,
    ByteFile,
    Entry,
    Stored,
    fills_its_place,
)
from core.models.weights.matrix_families import Slot, find_slots

MOST_DROPPED = 7  # parts of a prefix: endings of a name of many parts would fill the memory


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and the places of its tensors.

    Attributes:
        ref: What messages call it.
        config: Content of `config.json`.
        entries: Place of each tensor by name.
    """

    ref: str
    config: Mapping[str, Any]
    entries: Mapping[str, Stored]

    @property
    def model_type(self) -> str:
        """`model_type` of the configuration, or ""."""
        return str(self.config.get("model_type", ""))

    @cached_property
    def slots(self) -> dict[tuple[str, int], Slot]:
        """The matrices of its layers, by family and layer: `find_slots`."""
        slots = find_slots(self.model_type, self.entries, self.config)
        return {(slot.family, slot.layer): slot for slot in slots}

    def read(self, name: str) -> Float[ndarray, "*shape"]:
        """Read one tensor in float32 (float64 if stored so). Raises ModelError if it is missing, of
        a type that is no float, cut short, or holds a number that is not finite."""
        if name not in self.entries:
            raise ModelError(f"{self.ref} holds no tensor {name}.")
        entry = self.entries[name]
        if isinstance(entry, Entry) and entry.dtype not in NUMBERS:
            raise ModelError(
                f"{self.ref} stores {name} as {entry.dtype}: quantized weights have no exact "
                "delta; use the model in 16 or 32 bits."
            )
        if isinstance(entry, Entry) and not fills_its_place(entry):
            raise ModelError(
                f"{entry.file.name} is damaged: {name} has {entry.stop - entry.start} bytes."
            )
        tensor = entry.read()
        if not np.isfinite(tensor).all():
            count = int(np.count_nonzero(~np.isfinite(tensor)))
            raise ModelError(
                f"{self.ref}: {count:,} of the {tensor.size:,} numbers in {name} are not finite; "
                "the training diverged, or the file is damaged."
            )
        return tensor


class Names:
    """Names of tensors, found also where they have a longer or shorter prefix."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names."""
        self._names, self._longer = set(names), dict[str, list[str]]()
        for name in self._names:
            for end in _ends_of(name):
                self._longer.setdefault(end, []).append(name)

    def find(self, name: str) -> str:
        """Find this name, or the only one that has a longer or shorter prefix; "" if there is
        none."""
        if name in self._names:
            return name
        alike = {*self._longer.get(name, ()), *(_ends_of(name) & self._names)}
        return alike.pop() if len(alike) == 1 else ""


def _ends_of(name: str) -> set[str]:
    """What a name ends with, at its first dots."""
    parts = name.split(".", MOST_DROPPED)
    return {".".join(parts[start:]) for start in range(1, len(parts))}


def open_checkpoint(ref: str, config: Mapping[str, Any], files: Sequence[ByteFile]) -> Checkpoint:
    """Read the headers of a checkpoint's files; quantised matrices are dequantised when read."""
    return Checkpoint(ref, config, open_files(files, config))


def open_folder(ref: str, folder: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open a checkpoint in a local folder: safetensors, pickled tensors, or GGUF."""
    return Checkpoint(ref, config, open_weights(folder, config))
