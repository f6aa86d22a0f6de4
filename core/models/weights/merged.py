"""Merged models as folders: configuration, weights and tokenizer, kept as long as they are used.

A merged model is written when it is first asked for, into a folder beside the store's values, whose
name is made from the content of the files of adapter and base. Its configuration is the one beside
the adapter, if there is one, else the base's with the head that the adapter's files tell of.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.limits import current_limits
from core.models.architectures import ARCHITECTURES, class_in, stem
from core.models.files.adapters import AdapterConfig
from core.models.files.checkpoints import (
    TEXT_CONFIG,
    checked_config,
    content_hash,
    plain_config,
    read_config,
    read_json,
    tokenizer_files,
)
from core.models.files.layout import CONFIG, SAFETENSORS, TOKENIZER_FILES
from core.models.files.opening import open_weights
from core.models.files.safetensors import write_model, writing
from core.models.weights.matrix_families import find_slots
from core.models.weights.merging import Merge, merge
from core.runs.files import make_private_folder, store_folder
from core.runs.process.remembered import READ_FILES, folder_state, remembered

MERGED = "merged"  # folder beside the store's values
PARTIAL = "partial-"
LATE = 3600.0  # seconds after which what a merge has not finished was left by a process that died
USED = 600.0  # seconds after which a merged model's use is noted again
IN_USE = 3600.0  # seconds after a merged model's use in which a study may still read it
MOST_MERGED = 16 * 2**30  # bytes of merged models kept on a personal computer
WIDEST = 4  # bytes of a merged number, in float32
FORM = 1  # raised when merging gives other numbers
HEADS = {  # PEFT's name of a task -> how transformers calls the classes of models for it
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
}
LABELLING = ("ForSequenceClassification", "ForTokenClassification")


def merged_folder(adapter: Path, base: Path, content: Sequence[str]) -> Path:
    """Find the folder of an adapter merged into its base, both known by `content`; write it if it
    is not there. Raises ModelError as `merge` and `write_merged`, and if there is no room for it or
    it cannot be written."""
    place = store_folder() / MERGED
    parts = [FORM, *content, *_beside(adapter), *_beside(base)]
    target = place / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    if _is_there(target):
        return target
    merging = merge(adapter, base)
    try:
        make_private_folder(place)
        _clear(place)
        _make_room(place, merging)
        with writing(target, PARTIAL) as written:
            write_merged(merging, adapter, base, written)
    except OSError as error:
        if not target.is_dir():  # it is there if another process was quicker
            raise ModelError(
                f"{adapter.name} could not be merged into {base.name} in {place} ({error}): "
                "free some space."
            ) from error
    return target


def write_merged(merging: Merge, adapter: Path, base: Path, target: Path) -> int:
    """Write an adapter merged into its base into an empty folder, read it back and count its
    tensors. Raises ModelError if the adapter's head is not known, or a tensor cannot be read."""
    config = _configure(merging, adapter, base)
    write_model(target, merging.tensors | merging.heads, config)
    for path in _tokenizer(adapter, base):
        shutil.copyfile(path, target / path.name)
    settings = read_config(target)
    written = open_weights(target, settings)
    find_slots(settings["model_type"], written, settings)
    return len(written)


def class_of(adapter: AdapterConfig, base_class: str) -> str:
    """Name the class of the model that an adapter makes of a base with a head of its own; "" if the
    adapter's files do not tell."""
    base = stem(base_class)
    if adapter.task in HEADS and base:
        return base + HEADS[adapter.task]
    return adapter.trained_class


def _configure(merging: Merge, adapter: Path, base: Path) -> dict[str, Any]:
    """Make the configuration of a merged model. Raises ModelError if the adapter has a head, and
    its files do not tell for what, or if the configuration beside it is damaged or forbidden."""
    path = adapter / CONFIG
    beside = path.is_file()
    if beside:
        config = plain_config(adapter, read_json(path))
        checked_config(config, [*merging.tensors, *merging.heads], path)
    else:
        config = plain_config(base, merging.base.config)
    sizes = config[TEXT_CONFIG] if isinstance(config.get(TEXT_CONFIG), dict) else config
    if merging.vocabulary:
        sizes["vocab_size"] = merging.vocabulary
    if merging.untied:
        sizes["tie_word_embeddings"] = config["tie_word_embeddings"] = False
    if beside or not (merging.labels or merging.heads) or merging.untied:
        return config
    name = class_of(merging.config, class_in(config))
    if not name:
        raise ModelError(
            f"{adapter.name} does not say what its head predicts: "
            f"put the {CONFIG} of the merged model beside it, with its architecture and id2label."
        )
    if merging.heads:
        _name_alike(merging)
    config["architectures"] = [name]
    count = min(merging.labels, default=0)
    if name.endswith(LABELLING) and len(config.get("id2label") or ()) != count:
        config["id2label"] = {str(number): f"LABEL_{number}" for number in range(count)}
        config["label2id"] = {f"LABEL_{number}": number for number in range(count)}
        config.pop("num_labels", None)
    return config


def _name_alike(merging: Merge) -> None:
    """Give the base's tensors the adapter's names where there is a new head, and leave out
    those of the head that it replaces."""
    path = f"{ARCHITECTURES[merging.base.model_type].embedding}.weight"
    body = merging.prefix + merging.embedding.removesuffix(path)
    named = {merging.prefix + name: tensor for name, tensor in merging.tensors.items()}
    merging.tensors = {name: tensor for name, tensor in named.items() if name.startswith(body)}


def _tokenizer(adapter: Path, base: Path) -> list[Path]:
    """List the files of the tokenizer: the adapter's, where one lies beside it, or the base's."""
    try:
        return tokenizer_files(adapter)
    except ModelError:
        return [base / name for name in TOKENIZER_FILES if (base / name).is_file()]


@remembered(READ_FILES, state=folder_state)
def _beside(folder: Path) -> tuple[str, ...]:
    """Hash what a merged model takes from a folder beside its tensors."""
    names = (CONFIG, *TOKENIZER_FILES)
    return tuple(content_hash(folder / name) for name in names if (folder / name).is_file())


def _is_there(target: Path) -> bool:
    """Whether a merged model is there; its use is noted, so that it stays."""
    try:
        old = time.time() - target.stat().st_mtime > USED
        if old:
            os.utime(target)
    except FileNotFoundError:
        return False
    except OSError:
        return target.is_dir()  # of a file system that cannot be written
    return True


def _clear(place: Path) -> None:
    """Remove what interrupted merges left."""
    for partial in place.glob(f"{PARTIAL}*"):
        if _unused(partial) > LATE:
            shutil.rmtree(partial, ignore_errors=True)


def _make_room(place: Path, merging: Merge) -> None:
    """Remove the merged models that were used longest ago until there is room for another. Raises
    ModelError if those in use, which stay, leave none on a shared instance."""
    most = current_limits().max_download_bytes
    sizes = {folder: _size(folder / SAFETENSORS) for folder in place.iterdir()}
    ages = {folder: _unused(folder) for folder in sizes}
    tensors = (merging.tensors | merging.heads).values()
    total = sum(sizes.values()) + WIDEST * sum(math.prod(each.shape) for each in tensors)
    for folder in sorted(ages, key=lambda folder: -ages[folder]):
        if total <= min(MOST_MERGED, most) or ages[folder] < IN_USE:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= sizes[folder]
    if total > most:
        raise ModelError(
            "There is no room for another merged model, because those used within the last hour "
            f"fill the {most / 2**30:.2g} GB of this instance: try again in an hour, or choose an "
            "included model."
        )


# What is listed may be gone at the next step: another merge has finished or cleared it away.


def _unused(path: Path) -> float:
    """Seconds since a folder was last used; 0 of one that is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    """Bytes of a file; 0 of one that is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
