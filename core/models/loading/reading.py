"""Weights into a transformers model, from whatever format the folder has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

import core.models.files.checkpoints as checkpoints
from core.models.files.opening import ROUNDING, is_quantised, open_weights
from core.models.files.text_part import NAMES, QUANTISATION, is_whole


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
    if _is_inside(folder):
        options["key_mapping"] = NAMES
    if is_quantised(folder, settings):
        if hasattr(config, QUANTISATION):
            delattr(config, QUANTISATION)
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
    """Read all weights of a folder as tensors of one type; tables of whole numbers, which a model
    computes for itself, are left out."""
    import torch

    return {
        name: torch.from_numpy(np.require(entry.read(), requirements=("C", "W"))).to(dtype)
        for name, entry in open_weights(folder, settings).items()
        if entry.dtype in ROUNDING
    }


def _class_of(factory: Any, config: Any) -> Any:
    """Find the class that a chooser of classes takes for a configuration."""
    mapping = getattr(factory, "_model_mapping", None)
    return factory if mapping is None else mapping[type(config)]


def _is_inside(folder: Path) -> bool:
    """Whether the model is the language model inside one of images and text."""
    path = folder / checkpoints.CONFIG
    return path.is_file() and is_whole(checkpoints.read_json(path))
