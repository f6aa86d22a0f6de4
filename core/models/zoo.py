"""The included models: their folder and their manifest.

Adapters are listed apart from the models: the weights page reads their update as it is, and every
other page the model that they make with their base. Nothing here imports torch or transformers.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from core import COMMAND, DISTRIBUTION, INSTALLED
from core.errors import ModelError, nearest
from core.maths.progress import tick
from core.runs import precomputed
from core.runs.process.remembered import READ_FILES, file_state, remembered

MANIFEST = "manifest.json"
MODELS, ADAPTERS = "models", "adapters"  # the manifest's lists
MASKED, CAUSAL = "masked-lm", "causal-lm"  # tasks of pretrained models
READING = "qa"  # task of the models that answer questions
LEFT_OUT = {
    "minilm-parse-full": "sentence-transformers/all-MiniLM-L6-v2 with all its weights fine-tuned "
    "on parsing by the recipe of the included models (docs/models.md has the command)"
}  # models of shipped results that are not included, by name, and how they were made
PIECE = 2**20  # bytes of a file that are read at once
BESIDE, zoo_folder = precomputed.BESIDE, precomputed.zoo_folder


def read_manifest(folder: Path | None = None) -> list[dict[str, Any]]:
    """Read the manifest's models in its order; [] without a manifest, ModelError if it is
    damaged."""
    return _read(folder, MODELS)


def read_adapters(folder: Path | None = None) -> list[dict[str, Any]]:
    """Read the manifest's entries of LoRA adapters, as `read_manifest` those of models."""
    return _read(folder, ADAPTERS)


def included_entries() -> dict[str, dict[str, Any]]:
    """Return the manifest's entries of models and adapters, by reference."""
    return {str(entry["ref"]): entry for entry in (*read_manifest(), *read_adapters())}


def _read(folder: Path | None, kind: str) -> list[dict[str, Any]]:
    path = (folder or zoo_folder()) / MANIFEST
    if not path.is_file():
        return []
    try:
        return [dict(entry) for entry in _entries(path)[kind]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be read ({error}). {how_to_restore_file(path)}") from error


@remembered(READ_FILES, state=file_state)
def _entries(path: Path) -> dict[str, list[dict[str, Any]]]:
    content = json.loads(path.read_text(encoding="utf8"))
    return {MODELS: content[MODELS], ADAPTERS: content.get(ADAPTERS, [])}


def adapter_base(ref: str) -> str:
    """Find the model that an included adapter was trained on; "" for anything else."""
    listed = (entry for entry in read_adapters() if entry.get("ref") == ref)
    return next((str(entry.get("base") or "") for entry in listed), "")


def second_run(ref: str) -> str:
    """Find the included model that is a second run of another's recipe with the same seed; "" if
    there is none."""
    again = (entry for entry in read_manifest() if entry.get("second_run_of") == ref)
    return next((str(entry["ref"]) for entry in again), "")


def not_included(name: str, folder: Path) -> str:
    """Say that no included model has this name: with how it was made if a result that is shipped
    reads it, else with the nearest name or how to restore it."""
    there = sorted(path.name for path in folder.glob("*") if path.is_dir())
    if not there:
        return (
            f"The included models are missing, so there is no model {name!r}: "
            f"restore them with {restoring('zoo')}."
        )
    near = nearest(name, there)
    if name in LEFT_OUT:
        such = f", such as zoo:{near}" if near else ""
        return (
            f"zoo:{name} is not included: it is {LEFT_OUT[name]}, and another model can be chosen "
            f"in its place{such}."
        )
    hint = f"; the nearest name is {near}" if near else ""
    return (
        f"Among the included models there is no model {name!r}{hint}. "
        f"The app's first page and `{COMMAND} zoo list` show all {len(there)}."
    )


def file_digest(path: Path) -> str:
    """Calculate the sha256 of a file's content, in hex; raises CancelledError if the run was
    cancelled."""
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as handle:
        while piece := handle.read(PIECE):
            digest.update(piece)
            tick(handle.tell() / max(size, 1), f"reading {path.name}")
    return digest.hexdigest()


def how_to_restore_file(path: Path) -> str:
    """Say how to restore an included file."""
    again = "" if INSTALLED else ", or make it again with `make zoo`"
    return f"Restore it with {restoring(path)}{again}."


def restoring(path: Path | str) -> str:
    """Return the command that brings included files back: git's, or pip's where pip put them."""
    if INSTALLED:
        return f"`pip install --force-reinstall --no-deps {DISTRIBUTION} {DISTRIBUTION}-models`"
    return f"`git checkout -- {path}`"
