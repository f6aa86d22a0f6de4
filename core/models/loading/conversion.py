"""Weights written as safetensors, one tensor at a time: of any format that is read here, the sum of
a base and the task vectors of its fine-tunes, or an adapter merged into its base.

Quantised weights become float32, which is what every study computes with, so that the converted
model gives the same numbers; pickled ones keep their type.

Reference: Ilharco et al. 2023 (task vectors). Deviations: tied tensors that a pickled file names
twice are written twice; a sum has the head of the first fine-tune.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from core.errors import ModelError
from core.models.architectures import class_in
from core.models.describing import locate
from core.models.files.checkpoints import (
    plain_config,
    read_config,
    tokenizer_files,
    weight_files,
)
from core.models.files.layout import GGUF, TOKENIZER_FILES, refuse_gguf
from core.models.files.opening import is_quantised, numbers_of, open_weights
from core.models.files.safetensors import write_model, writing
from core.models.loading.construction import import_transformers, make_empty, open_config
from core.models.loading.model import check_complete, class_with_head
from core.models.loading.reading import loading_settings, put_tensors, refuse_misfits
from core.models.loading.tokenizing import first_line, read_gguf_tokenizer
from core.models.weights.deltas import match, read_deltas
from core.models.weights.merged import write_merged
from core.models.weights.merging import Merged, merge
from core.models.weights.origins import folder_of_adapter, whole_base
from core.models.weights.tensors import Checkpoint, Names, open_folder


def convert(folder: Path, target: Path) -> int:
    """Write a model's weights as safetensors to a new folder, with configuration and tokenizer,
    which a GGUF file gives too, and count its tensors. Raises ModelError if it cannot be read, or
    is in plain safetensors already."""
    refuse_existing(target)
    config = read_config(folder)
    files = weight_files(folder)
    if files[0].suffix == ".safetensors" and not is_quantised(folder, config):
        raise ModelError(f"{folder} is in safetensors already, so there is nothing to convert.")
    entries = numbers_of(open_weights(folder, config))
    with writing(target) as written:
        write_model(written, entries, plain_config(folder, config))
        for name in TOKENIZER_FILES:
            if (folder / name).is_file():
                shutil.copy(folder / name, written / name)
        if files[0].suffix == GGUF and not (written / "tokenizer.json").is_file():
            read_gguf_tokenizer(files[0]).save_pretrained(written)
        read_back(written)
    return len(entries)


def add_vectors(base: str, factors: Mapping[str, float], target: Path) -> int:
    """Write a base plus the changes of fine-tunes, each times its factor, with all else of the
    first one, and count the tensors. Raises ModelError if one cannot be read, or is no fine-tune of
    the base's shape."""
    refuse_existing(target)
    folders = [locate(ref) for ref in (base, *factors)]
    origin, *tuned = (
        open_folder(ref, folder, read_config(folder))
        for ref, folder in zip((base, *factors), folders, strict=True)
    )
    for checkpoint in tuned:
        next(read_deltas(match(origin, checkpoint)))  # refuses what comes from another base
    refuse_gguf(tuned[0].ref, folders[1])
    tensors = _sums(origin, tuned, list(factors.values()))
    with writing(target) as written:
        write_model(written, tensors, plain_config(folders[1], tuned[0].config))
        for path in tokenizer_files(folders[1]):
            shutil.copy(path, written / path.name)
        read_back(written)
    return len(tensors)


def merge_adapter(ref: str, base: str, target: Path) -> int:
    """Write an adapter merged into its base to a new folder, with the tokenizer, read it back and
    count its tensors. Raises ModelError if either cannot be read, they do not fit, or the target is
    there."""
    refuse_existing(target)
    adapter, origin = folder_of_adapter(ref), whole_base(base, ref)
    with writing(target) as written:
        count = write_merged(merge(adapter, origin), adapter, origin, written)
        read_back(written)
    return count


def _sums(
    origin: Checkpoint, tuned: Sequence[Checkpoint], factors: Sequence[float]
) -> dict[str, Merged]:
    """Describe the tensors of the sum; those that the base has none of are the first fine-tune's.
    Raises ModelError if shapes differ."""
    names = [Names(checkpoint.entries) for checkpoint in (origin, *tuned)]
    tensors: dict[str, Merged] = {}
    for name, entry in numbers_of(tuned[0].entries).items():
        place = names[0].find(name)
        if not place:
            tensors[name] = Merged(entry.shape, partial(tuned[0].read, name))
            continue
        parts = [
            (checkpoint, factor, there)
            for checkpoint, factor, each in zip(tuned, factors, names[1:], strict=True)
            if (there := each.find(place))
        ]
        for checkpoint, _, there in parts:
            if checkpoint.entries[there].shape != origin.entries[place].shape:
                raise ModelError(
                    f"{there} of {checkpoint.ref} has another shape than in {origin.ref}, so their "
                    "weights cannot be added: choose fine-tunes with the base's vocabulary."
                )
        tensors[name] = Merged(entry.shape, partial(_add, origin, place, parts))
    return tensors


def _add(
    origin: Checkpoint, place: str, parts: Sequence[tuple[Checkpoint, float, str]]
) -> np.ndarray:
    """Add to a tensor of the base what fine-tunes changed of it, in float64."""
    start = origin.read(place).astype(np.float64)
    total = start.copy()
    for checkpoint, factor, there in parts:
        total += factor * (checkpoint.read(there) - start)
    return total


def refuse_existing(target: Path) -> None:
    """Refuse to write where something is. Raises ModelError if it is there."""
    if target.exists():
        raise ModelError(f"{target} is there already: name another folder with --out.")


def read_back(folder: Path) -> None:
    """Put the tensors of a written model in their places without memory for them. Raises ModelError
    if it lacks a weight of the class that its configuration names, or one has another shape."""
    import torch

    settings = read_config(folder)
    factory = class_with_head(class_in(settings)) or import_transformers().AutoModel
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
