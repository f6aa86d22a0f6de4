"""Included LoRA adapters merged into their bases: models of their own, which every page runs.

An adapter's folder has the `config.json` of the model that it makes. The merged model is written
when it is first asked for, into a folder beside the store's values, whose name is made from what
adapter and base are known by.

Reference: Hu et al. 2022, ICLR. Deviations: a module's factors change the weight of the same name
in the base, which is stored as (output, input); `core.models.loading.adapters` merges adapters of
every architecture.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from core.errors import ModelError
from core.models.files.adapters import (
    ADAPTER_WEIGHTS,
    FACTOR,
    PART_OF_LORA,
    WRAPPER,
    read_adapter,
)
from core.models.files.layout import CONFIG, SAFETENSORS, TOKENIZER_FILES
from core.runs.files import make_private_folder, store_folder

MERGED = "merged"  # folder beside the store's values
PARTIAL = "partial-"
LATE = 3600.0  # seconds after which what a merge has not finished was left by a process that died


def merged_folder(adapter: Path, base: Path, content: Sequence[str]) -> Path:
    """Find the folder of an adapter merged into its base; write it if it is not there.

    Args:
        adapter: Its folder.
        base: Folder of the model that it was trained on.
        content: What both are known by.

    Raises:
        ModelError: If the adapter does not fit the base, a file of either is damaged, or the folder
            cannot be written.
    """
    place = store_folder() / MERGED
    target = place / hashlib.sha256(json.dumps(list(content)).encode()).hexdigest()[:32]
    if target.is_dir():
        return target
    tensors = merge(adapter, base)
    try:
        make_private_folder(place)
        _clear(place)
        with tempfile.TemporaryDirectory(dir=place, prefix=PARTIAL) as partial:
            made = Path(partial) / target.name
            made.mkdir()
            shutil.copyfile(adapter / CONFIG, made / CONFIG)
            for name in TOKENIZER_FILES:
                if (base / name).is_file():
                    shutil.copyfile(base / name, made / name)
            save_file(tensors, made / SAFETENSORS, metadata={"format": "pt"})
            try:
                made.rename(target)
            except OSError:
                if not target.is_dir():  # it is there if another process was quicker
                    raise
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{adapter.name} could not be merged into {base.name} in {place} ({error}): free some "
            "space."
        ) from error
    return target


def _clear(place: Path) -> None:
    """Remove what interrupted merges left."""
    for partial in place.glob(f"{PARTIAL}*"):
        if time.time() - partial.stat().st_mtime > LATE:
            shutil.rmtree(partial, ignore_errors=True)


def merge(adapter: Path, base: Path) -> dict[str, ndarray]:
    """Add an adapter's products to its base's tensors, with the tensors that it holds whole.

    Args:
        adapter, base: Their folders.

    Returns:
        Tensors by name, float32.

    Raises:
        ModelError: If the adapter does not fit the base, or a file of either is damaged.
    """
    config, factors = read_adapter(adapter), _read(adapter / ADAPTER_WEIGHTS)
    tensors = _read(base / SAFETENSORS)
    modules = {hit["module"]: None for name in factors if (hit := FACTOR.fullmatch(name))}
    for module in modules:
        name, sides = f"{module}.weight", (f"{module}.lora_B.weight", f"{module}.lora_A.weight")
        if name not in tensors or not all(side in factors for side in sides):
            raise _misfit(adapter, base)
        upper, lower = (factors.pop(side).astype(np.float64) for side in sides)
        if (upper.shape[0], lower.shape[1]) != tensors[name].shape:
            raise _misfit(adapter, base)
        tensors[name] += (config.scaling(module) * upper @ lower).astype(np.float32)
    if any(PART_OF_LORA in name for name in factors):
        raise _misfit(adapter, base)
    return tensors | factors


def _misfit(adapter: Path, base: Path) -> ModelError:
    return ModelError(f"{adapter.name} is not an adapter of {base.name}, or is damaged.")


def _read(path: Path) -> dict[str, ndarray]:
    """Read a file's tensors, float32, by their names in the model.

    Raises:
        ModelError: If the file cannot be read.
    """
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be read ({error}): get it again.") from error
    return {
        name.removeprefix(WRAPPER): tensor.astype(np.float32) for name, tensor in stored.items()
    }
