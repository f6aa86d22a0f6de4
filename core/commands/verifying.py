"""Whether every included model and adapter is intact: its hashes, and whether it opens."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.files.adapters import ADAPTER_WEIGHTS, is_adapter, read_adapter
from core.models.files.checkpoints import read_config
from core.models.files.safetensors import LocalFile
from core.models.zoo import file_digest, how_to_restore_file


@dataclass(frozen=True)
class Problem:
    """A model that differs from the manifest: `sentence` names the file and how to restore it."""

    ref: str
    sentence: str


def find_problems(
    folder: Path, entries: list[dict[str, Any]], tick: Callable[[str], None] = lambda ref: None
) -> list[Problem]:
    """Check every file's sha256 and open every model; return an empty list if all are intact.

    An adapter is opened with the base that its entry names, where that is included.

    Args:
        folder: Folder of the included models.
        entries: Entries of its manifest, of models and of adapters.
        tick: Called with each model's reference after its check.
    """
    problems = []
    for entry in entries:
        damaged = [
            Problem(str(entry["ref"]), sentence)
            for name, digest in sorted(entry["files"].items())
            if (sentence := _check_file(folder / "models" / str(entry["name"]) / name, str(digest)))
        ]
        if not damaged:
            sentence = _check_opens(folder / "models", entry)
            damaged = [Problem(str(entry["ref"]), sentence)] if sentence else []
        problems += damaged
        tick(str(entry["ref"]))
    return problems


def open_model(folder: Path) -> int:
    """Open a model without and with its head; return its number of parameters.

    Raises:
        ModelError: If weights are missing or the head is unknown; other errors are transformers'
            own.
    """
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    from core.models.loading.construction import MAKING_A_MODEL
    from core.models.loading.heads import load_task_model

    level = logging.get_verbosity()
    logging.set_verbosity_error()  # it would report every weight of the head
    logging.disable_progress_bar()
    try:
        options = {"use_safetensors": True, "trust_remote_code": False}
        AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        with MAKING_A_MODEL:
            _, loading_info = AutoModel.from_pretrained(folder, output_loading_info=True, **options)
        if loading_info["missing_keys"]:
            raise ModelError(f"weights are missing: {sorted(loading_info['missing_keys'])[0]}")
        model = load_task_model(folder)
    finally:
        logging.set_verbosity(level)
    return sum(parameter.numel() for parameter in model.parameters())


def open_adapter(folder: Path, base: Path | None) -> int:
    """Match an adapter's factors with its base's matrices; return its number of parameters.

    Args:
        base: Folder of the base; None for one that is not included, whose matrices are not read.

    Raises:
        ModelError: If it is damaged, or the factors are not those of this base.
    """
    from core.models.weights.adapters import Adapter, match_adapter
    from core.models.weights.tensors import open_checkpoint, open_folder

    factors = open_checkpoint(folder.name, {}, [LocalFile(folder / ADAPTER_WEIGHTS)])
    adapter = Adapter(read_adapter(folder), factors)
    if base is not None:
        match_adapter(open_folder(base.name, base, read_config(base)), adapter)
    return sum(math.prod(entry.shape) for entry in factors.entries.values())


def _check_file(path: Path, digest: str) -> str | None:
    if not path.is_file():
        return f"{path} is missing. {how_to_restore_file(path)}"
    try:
        actual = file_digest(path)
    except OSError as error:
        return f"{path} cannot be read ({error}). {how_to_restore_file(path)}"
    damaged = (
        f"{path} is damaged: its sha256 is not that of the manifest. {how_to_restore_file(path)}"
    )
    return None if actual == digest else damaged


def _check_opens(models: Path, entry: dict[str, Any]) -> str | None:
    folder, parameters = models / str(entry["name"]), int(entry["parameters"])
    try:
        if is_adapter(folder):
            kind, _, base = str(entry["base"]).partition(":")
            counted = open_adapter(folder, models / base if kind == "zoo" else None)
        else:
            counted = open_model(folder)
    except (ModelError, OSError, ValueError, RuntimeError) as error:
        return f"{folder} cannot be opened ({error}). {how_to_restore_file(folder)}"
    if counted != parameters:
        return (
            f"{folder} has {counted} parameters, but the manifest says {parameters}. "
            f"{how_to_restore_file(folder)}"
        )
    return None
