"""Weights of any format that is read here, written as safetensors, one tensor at a time.

Quantised weights become float32, which is what every study computes with, so that the converted
model gives the same numbers; pickled ones keep their type.

Reference: none. Deviations: tied tensors that a pickled file names twice are written twice.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import core.models.files.checkpoints as checkpoints
import core.models.files.layout as layout
from core.errors import ModelError
from core.models.files.opening import ROUNDING, open_weights
from core.models.files.safetensors import write_tensors
from core.models.files.text_part import QUANTISATION, plain_config
from core.models.loading.construction import import_transformers, make_empty, open_config
from core.models.loading.model import HEADS, check_complete
from core.models.loading.reading import loading_settings, numbers_of, put_tensors, refuse_misfits
from core.models.loading.tokenizing import first_line, read_gguf_tokenizer


def convert(folder: Path, target: Path) -> int:
    """Write a model's weights as safetensors, with its configuration and tokenizer.

    A GGUF file gives its configuration and its tokenizer too.

    Args:
        folder: Holds the model: pickled tensors, GGUF, or quantised safetensors.
        target: A folder that does not exist yet.

    Returns:
        Tensors written.

    Raises:
        ModelError: If the model cannot be read, is in plain safetensors already, or the target is
            there.
    """
    refuse_existing(target)
    config = checkpoints.read_config(folder)
    files = checkpoints.weight_files(folder)
    if files[0].suffix == ".safetensors" and QUANTISATION not in config:
        raise ModelError(f"{folder} is in safetensors already, so there is nothing to convert.")
    entries = {
        name: entry
        for name, entry in open_weights(folder, config).items()
        if entry.dtype in ROUNDING
    }
    with writing(target) as partial:
        with (partial / layout.SAFETENSORS).open("wb") as file:
            write_tensors(file, entries)
        path = folder / layout.CONFIG
        plain = plain_config(checkpoints.read_json(path) if path.is_file() else {}, config)
        (partial / layout.CONFIG).write_text(json.dumps(plain, indent=2), encoding="utf8")
        for name in layout.TOKENIZER_FILES:
            if (folder / name).is_file():
                shutil.copy(folder / name, partial / name)
        if files[0].suffix == layout.GGUF and not (partial / "tokenizer.json").is_file():
            read_gguf_tokenizer(files[0]).save_pretrained(partial)
        read_back(partial)
    return len(entries)


def refuse_existing(target: Path) -> None:
    """Refuse to write where something is. Raises ModelError if it is there."""
    if target.exists():
        raise ModelError(f"{target} is there already: name another folder with --out.")


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Give an empty folder to write a model in, which becomes the target at the end of the block;
    if the block fails, nothing stays."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_back(folder: Path) -> None:
    """Put the tensors of a written model in their places by name and shape, without memory for
    them.

    Raises:
        ModelError: If it lacks a weight of the class that its configuration names, or one has
            another shape.
    """
    import torch

    transformers = import_transformers()
    settings = checkpoints.read_config(folder)
    name = str((settings.get("architectures") or [""])[0])
    has_head = name.endswith(HEADS) and hasattr(transformers, name)
    factory = getattr(transformers, name) if has_head else transformers.AutoModel
    try:
        model = make_empty(factory, open_config(folder))
        entries = numbers_of(open_weights(folder, settings))
        tensors = {name: torch.empty(entry.shape, device="meta") for name, entry in entries.items()}
        options = loading_settings(model, folder, torch.float32, "meta")
        report = put_tensors(model, tensors, options).to_dict()
        shared = {name for name, origin in model.all_tied_weights_keys.items() if name != origin}
        report["missing_keys"] = {*report["missing_keys"]} - shared
    except ModelError:
        raise
    except Exception as error:  # whatever the library raises for a model that it cannot make
        raise ModelError(
            f"The model that was written cannot be loaded ({first_line(error)}): choose another."
        ) from error
    written = "The model that was written"
    refuse_misfits(written, report)
    check_complete(written, report, type(model).__name__)
