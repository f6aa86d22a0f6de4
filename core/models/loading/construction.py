"""Locks for what threads must not do with transformers at once: import, construct, initialise."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

from core.maths.seeding import GLOBAL_GENERATOR
from core.models.files import checkpoints, layout

_IMPORTING = threading.Lock()

DTYPE = "float32"
"""Replaces the type of numbers in a configuration; the caller that loads a model chooses it."""

MAKING_A_MODEL = GLOBAL_GENERATOR
"""Held while a transformers model is made or its weights are read.

transformers replaces its functions for initial weights and for tied weights while it makes a
model, and puts back what it found. Two threads that overlap put back each other's replacements:
from then on no model in the process has tied weights or fresh ones. The draw of a random control
also needs torch's global generator for itself.
"""


def import_transformers() -> Any:
    """Import transformers under a lock, because its lazy import breaks with two threads.

    No bars and no advice on the terminal: what the user must know is an error or a notice of ours.
    """
    with _IMPORTING:
        import transformers
        from transformers.utils import logging

        for name in ("AutoConfig", "AutoModel", "AutoTokenizer"):
            getattr(transformers, name)
        logging.set_verbosity_error()
        logging.disable_progress_bar()
    return transformers


def open_config(folder: Path) -> Any:
    """Open a folder's configuration with transformers; of a model of images and text, its language
    model's. How numbers are computed, as it may ask (type, kernels, chunks), is left out."""
    config = _read_config(folder)
    config._attn_implementation = config._experts_implementation = None
    config.chunk_size_feed_forward = 0
    return config


def _read_config(folder: Path) -> Any:
    configs = import_transformers().AutoConfig
    if says_type(folder):
        return configs.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, dtype=DTYPE
        )
    settings = checkpoints.read_config(folder)
    inferred = configs.for_model(settings["model_type"])
    path = folder / layout.CONFIG
    if path.is_file() and not checkpoints.is_whole(checkpoints.read_json(path)):
        return type(inferred).from_pretrained(folder, local_files_only=True, dtype=DTYPE)
    return type(inferred).from_dict({**settings, "dtype": DTYPE, "torch_dtype": DTYPE})


def says_type(folder: Path) -> bool:
    """Whether transformers can read the configuration alone: it has the type of what is read
    here."""
    path = folder / layout.CONFIG
    if checkpoints.layout_of(folder).config != layout.CONFIG:
        return False
    config = checkpoints.read_json(path)
    return config.get("model_type") is not None and not checkpoints.is_whole(config)


def maker(factory: Any) -> Any:
    """Find the function that makes a model from a configuration."""
    return factory.from_config if hasattr(factory, "from_config") else factory._from_config


def make_empty(factory: Any, config: Any, *, dtype: Any = None, **options: Any) -> Any:
    """Make a model without memory for its weights, and tables in single precision. The type of
    numbers is that of all new tensors of the process while transformers makes a model, so weights
    get theirs afterwards."""
    import torch

    with MAKING_A_MODEL, torch.device("meta"):
        model = maker(factory)(config, **options, dtype=torch.float32)
    if dtype not in (None, torch.float32):
        single = [pattern.replace("*", ".*") for pattern in model._get_dtype_plan(dtype)]
        for name, weight in model.named_parameters():
            if not any(re.search(pattern, name) for pattern in single):
                weight.data = weight.data.to(dtype)
        model.config.dtype = dtype
    return model
