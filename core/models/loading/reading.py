"""Weights into a transformers model, from whatever format the folder has, and how much of them at
once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import core.models.files.checkpoints as checkpoints
from core.models.architectures import ARCHITECTURES
from core.models.describing import LARGE
from core.models.files.opening import ROUNDING, is_quantised, open_weights
from core.models.files.safetensors import Stored
from core.models.files.text_part import NAMES, QUANTISATION, is_whole
from core.runs.process.memory import free_memory

if TYPE_CHECKING:
    from core.models.describing import ModelInfo


WHOLE = 4 * LARGE  # bytes of weights in float32 up to which a model is read as a whole
HELD = 2**30  # bytes of word vectors computed at once by a model that is read layer by layer


def is_layerwise(
    info: ModelInfo, device: str = "cpu", width: int = 4, *, random: bool = False
) -> bool:
    """Whether a model's layers stay on the disk until they run, where that is asked for.

    It is so where its weights are large or do not fit the free memory, and its layers can be run
    alone.

    Args:
        info: Its description.
        device: "cpu", "cuda" or "mps".
        width: Bytes of a number in memory.
        random: Whether its weights are drawn; their numbers must not depend on the free memory.
    """
    size = width * info.parameters
    architecture = ARCHITECTURES[info.model_type]
    if architecture.family == "encoder-decoder" or architecture.inseparable:
        return False
    if device.startswith("cuda") and not random:
        import torch

        return bool(size > torch.cuda.mem_get_info()[0] / 2)
    return size > WHOLE or (size > free_memory() and not random)


def read_model(
    factory: Any, folder: Path, config: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Make a model and read its weights.

    Quantised weights are dequantised one matrix at a time into numbers of the model's type, so that
    the model runs as any other does.

    Args:
        factory: transformers' class, or its chooser of classes.
        config: As `construction.open_config` returns it.
        options: For `from_pretrained`: dtype, kind of attention.

    Returns:
        The model, and what transformers reports of missing and unexpected weights.

    Raises:
        ModelError: If a weight cannot be read.
        Exception: Whatever transformers raises for weights that do not fit.
    """
    settings = checkpoints.read_config(folder)
    options = {**options, "config": config, "output_loading_info": True}
    if names := renamed(folder):
        options["key_mapping"] = names
    if is_quantised(folder, settings):
        forget_quantisation(config)
        weights = _dequantise(folder, settings, options["dtype"])
        read = _class_of(factory, config).from_pretrained(None, state_dict=weights, **options)
    else:
        pickled = checkpoints.is_pickled(checkpoints.weight_files(folder))
        read = factory.from_pretrained(
            folder,
            use_safetensors=not pickled,
            weights_only=True,
            trust_remote_code=False,
            local_files_only=True,
            **options,
        )
    return cast("tuple[Any, dict[str, Any]]", read)


def _dequantise(folder: Path, settings: dict[str, Any], dtype: Any) -> dict[str, Any]:
    """Read all weights of a folder as tensors of one type."""
    entries = numbers_of(open_weights(folder, settings))
    return {name: as_tensor(entry, dtype) for name, entry in entries.items()}


def numbers_of(entries: Mapping[str, Stored]) -> dict[str, Stored]:
    """Leave out tables of whole numbers, which a model computes for itself."""
    return {name: entry for name, entry in entries.items() if entry.dtype in ROUNDING}


def as_tensor(entry: Stored, dtype: Any) -> Any:
    """Read a stored tensor as torch's, in numbers of one type.

    Raises:
        ModelError: If it cannot be read.
    """
    import torch

    return torch.from_numpy(np.require(entry.read(), requirements=("C", "W"))).to(dtype)


def forget_quantisation(config: Any) -> None:
    """Take the quantisation out of a configuration, as its weights are dequantised on reading."""
    if hasattr(config, QUANTISATION):
        delattr(config, QUANTISATION)


def _class_of(factory: Any, config: Any) -> Any:
    """Find the class that a chooser of classes takes for a configuration."""
    mapping = getattr(factory, "_model_mapping", None)
    return factory if mapping is None else mapping[type(config)]


def renamed(folder: Path) -> Mapping[str, str]:
    """List patterns of names and what stands for them where the model is the language model inside
    one of images and text; empty for others."""
    path = folder / checkpoints.CONFIG
    inside = path.is_file() and is_whole(checkpoints.read_json(path))
    return NAMES if inside else {}
