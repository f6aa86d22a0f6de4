"""The included models: their folder, their manifest, and whether every file is intact.

Adapters stand beside the models, in a list of their own: they have an update and no weights, so
that no page but that of weights reads them, and none by default. Nothing here imports torch or
transformers but `open_model`, which the check of the models needs.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.models.files.adapters import ADAPTER_WEIGHTS, is_adapter, read_adapter
from core.models.files.memory import remembered

MANIFEST = "manifest.json"
MODELS, ADAPTERS = "models", "adapters"  # the manifest's lists
BESIDE = Path(__file__).resolve().parents[2] / "zoo"


@dataclass(frozen=True)
class Problem:
    """A model that differs from the manifest: `sentence` names the file and how to restore it."""

    ref: str
    sentence: str


def zoo_folder() -> Path:
    """Folder of the included models: `PALIMPSEST_ZOO`, or `zoo/` beside `core/`."""
    return Path(os.environ.get("PALIMPSEST_ZOO") or BESIDE)


def read_manifest(folder: Path | None = None) -> list[dict[str, Any]]:
    """Read the entries of the manifest, one per model, in its order; [] if there is no manifest.

    Raises:
        ModelError: If the manifest exists and cannot be read.
    """
    return _read(folder, MODELS)


def read_adapters(folder: Path | None = None) -> list[dict[str, Any]]:
    """Read the manifest's entries of LoRA adapters, as `read_manifest` those of models.

    Raises:
        ModelError: As `read_manifest`.
    """
    return _read(folder, ADAPTERS)


def _read(folder: Path | None, kind: str) -> list[dict[str, Any]]:
    path = (folder or zoo_folder()) / MANIFEST
    if not path.is_file():
        return []
    try:
        return [dict(entry) for entry in _entries(path)[kind]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read ({error}). {_restore(path)}") from error


@remembered
def _entries(path: Path) -> dict[str, list[dict[str, Any]]]:
    content = json.loads(path.read_text(encoding="utf8"))
    return {MODELS: content[MODELS], ADAPTERS: content.get(ADAPTERS, [])}


def second_run(ref: str) -> str:
    """Find the included model that is a second run of another's recipe with the same seed; "" if
    there is none."""
    again = (entry for entry in read_manifest() if entry.get("second_run_of") == ref)
    return next((str(entry["ref"]) for entry in again), "")


def not_included(name: str, folder: Path) -> str:
    """Say that no included model has this name, with the nearest name or how to restore it."""
    there = sorted(path.name for path in folder.glob("*") if path.is_dir())
    if not there:
        return (
            f"The included models are missing, so there is no model {name!r}: restore them with "
            "`git checkout -- zoo`."
        )
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"; the nearest name is {near[0]}" if near else ""
    return (
        f"Among the included models there is no model {name!r}{hint}. "
        f"`python -m core zoo list` shows all {len(there)}."
    )


def find_problems(
    folder: Path, entries: list[dict[str, Any]], tick: Callable[[str], None] = lambda ref: None
) -> list[Problem]:
    """Check every file's sha256 and open every model; return an empty list if all are intact.

    An adapter is opened with the base that its entry names.

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


def file_digest(path: Path) -> str:
    """Calculate the sha256 of a file's content, in hex."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


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


def open_adapter(folder: Path, base: Path) -> int:
    """Match an adapter's factors with its base's matrices; return its number of parameters.

    Raises:
        ModelError: If it is damaged, or the factors are not those of this base.
    """
    from core.models.files.checkpoints import read_config
    from core.models.files.safetensors import LocalFile
    from core.models.weights.adapters import Adapter, match_adapter
    from core.models.weights.tensors import open_checkpoint, open_folder

    factors = open_checkpoint(folder.name, {}, [LocalFile(folder / ADAPTER_WEIGHTS)])
    match_adapter(
        open_folder(base.name, base, read_config(base)), Adapter(read_adapter(folder), factors)
    )
    return sum(math.prod(entry.shape) for entry in factors.entries.values())


def _check_file(path: Path, digest: str) -> str | None:
    if not path.is_file():
        return f"{path} is missing. {_restore(path)}"
    try:
        actual = file_digest(path)
    except OSError as error:
        return f"{path} cannot be read ({error}). {_restore(path)}"
    damaged = f"{path} is damaged: its sha256 is not that of the manifest. {_restore(path)}"
    return None if actual == digest else damaged


def _check_opens(models: Path, entry: dict[str, Any]) -> str | None:
    folder, parameters = models / str(entry["name"]), int(entry["parameters"])
    try:
        if is_adapter(folder):
            counted = open_adapter(folder, models / str(entry["base"]).partition(":")[2])
        else:
            counted = open_model(folder)
    except (ModelError, OSError, ValueError, RuntimeError) as error:
        return f"{folder} cannot be opened ({error}). {_restore(folder)}"
    if counted != parameters:
        return (
            f"{folder} has {counted} parameters, but the manifest says {parameters}. "
            f"{_restore(folder)}"
        )
    return None


def _restore(path: Path) -> str:
    return f"Restore it with `git checkout -- {path}`, or make it again with `make zoo`."
