"""Tensors of a checkpoint, read one at a time; shards count as one file.

No model is instantiated and nothing but the tensor asked for is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files.checkpoints import (
    GGUF,
    PICKLED,
    PICKLED_INDEX,
    SAFETENSORS,
    shard_names,
)
from core.models.files.checkpoints import SAFETENSORS_INDEX as INDEX
from core.models.files.opening import open_files, open_weights
from core.models.files.safetensors import (
    NUMBERS,
    ByteFile,
    Entry,
    LocalFile,
    Stored,
    fills_its_place,
)
from core.runs.process.parsing import parse_json


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

    def read(self, name: str) -> Float[ndarray, "*shape"]:
        """Read one tensor in float32 (float64 if stored so).

        Raises:
            ModelError: If it is missing, of a type that is no float, cut short, or holds a number
                that is not finite.
        """
        if name not in self.entries:
            raise ModelError(f"{self.ref} holds no tensor {name}.")
        entry = self.entries[name]
        if isinstance(entry, Entry) and entry.dtype not in NUMBERS:
            text = (
                f"{self.ref} stores {name} as {entry.dtype}: quantized weights have no exact delta"
            )
            raise ModelError(f"{text}; use the model in 16 or 32 bits.")
        if isinstance(entry, Entry) and not fills_its_place(entry):
            raise ModelError(
                f"{entry.file.name} is damaged: {name} has {entry.stop - entry.start} bytes."
            )
        tensor = entry.read()
        if not np.isfinite(tensor).all():
            count = int(np.count_nonzero(~np.isfinite(tensor)))
            text = f"{self.ref}: {count:,} of the {tensor.size:,} numbers in {name} are not finite"
            raise ModelError(f"{text}; the training diverged, or the file is damaged.")
        return tensor


def open_checkpoint(ref: str, config: Mapping[str, Any], files: Sequence[ByteFile]) -> Checkpoint:
    """Read the headers of a checkpoint's files; quantised matrices are dequantised when read.

    Raises:
        ModelError: If a header cannot be read.
    """
    return Checkpoint(ref, config, open_files(files, config))


def open_folder(ref: str, folder: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open a checkpoint in a local folder: safetensors, pickled tensors, or GGUF.

    Args:
        config: Content of its `config.json`.

    Raises:
        ModelError: If a file is missing, damaged or truncated.
    """
    present = [path.name for path in folder.iterdir()]
    if not any(name.endswith(".safetensors") for name in present) and any(
        name in (PICKLED, PICKLED_INDEX) or name.endswith(GGUF) for name in present
    ):
        return Checkpoint(ref, config, open_weights(folder, config))
    names = safetensors_files(ref, present, lambda name: (folder / name).read_bytes())
    return open_checkpoint(ref, config, [LocalFile(folder / name) for name in names])


def safetensors_files(
    ref: str, present: Collection[str], read: Callable[[str], bytes]
) -> list[str]:
    """Choose the files that hold the weights.

    Args:
        ref: What messages call the model.
        present: Names of the files beside `config.json`.
        read: Content of one of them, by name; asked for the index of shards.

    Raises:
        ModelError: If there is none in safetensors, with the reason when it is plain.
    """
    if INDEX in present:
        names = shard_names(parse_json(read(INDEX), f"{ref}/{INDEX}"), f"{ref}/{INDEX}")
        for name in names:
            if name not in present or name.endswith(".bin"):
                raise ModelError(
                    f"{ref} is incomplete: {name} is missing or not in safetensors; choose another "
                    f"model."
                )
        return names
    if SAFETENSORS in present:
        return [SAFETENSORS]
    tensors = [
        name for name in present if name.endswith(".safetensors") and not name.startswith("adapter")
    ]
    if len(tensors) == 1:
        return tensors
    if any(name.startswith("adapter_model") for name in present):
        raise ModelError(
            f"{ref} holds an adapter, not a model; merge it into its base and save that."
        )
    if any(name.endswith((".bin", ".pt", ".pth", ".ckpt")) for name in present):
        text = f"{ref} has pickled weights only, which are never opened here"
        raise ModelError(
            f"{text}; ask for a safetensors version, or convert a copy that you trust."
        )
    raise ModelError(f"{ref} has no safetensors weights ({len(tensors)} candidate files).")
