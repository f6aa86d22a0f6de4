"""The manifest: what every finished model's own record says, with hashes and sizes of its files."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

from core.errors import RecipeError
from core.models.files.adapters import ADAPTER_WEIGHTS, is_adapter
from core.models.files.layout import ADAPTER, CONFIG, SAFETENSORS
from core.models.zoo import ADAPTERS, CAUSAL, MANIFEST, MASKED, MODELS, READING, file_digest
from zoo.recipe.checkpoints import TOKENIZER_FILES, read_record, weights_of, write_json
from zoo.recipe.tasks import PRETRAINING_TASKS, REVIEW

HASHED = (SAFETENSORS, ADAPTER_WEIGHTS, ADAPTER, CONFIG, *TOKENIZER_FILES)
ORDER = (
    *(MASKED, "nli", "sentiment", "subjectivity", "question", "pos", "parse"),
    *(READING, CAUSAL, REVIEW),
)


def write_manifest(out: Path) -> list[dict[str, Any]]:
    """Write `out/manifest.json` from the folders that are there; return the entries, of models and
    then of adapters. Raises RecipeError if there is no finished model, or the file cannot be
    written."""
    folders = sorted(
        path for path in (out / "models").glob("*") if path.is_dir() and path.suffix != ".partial"
    )
    records = [
        (folder, record) for folder in folders if (record := read_record(folder)) is not None
    ]
    if not records:
        raise RecipeError(f"There is no finished model in {out / 'models'}; run the recipe first.")
    listed: dict[str, list[dict[str, Any]]] = {MODELS: [], ADAPTERS: []}
    for folder, record in records:
        kind = ADAPTERS if is_adapter(folder) else MODELS
        listed[kind].append(manifest_entry(folder, record))
    listed = {kind: sorted(entries, key=_place) for kind, entries in listed.items()}
    write_json(out / MANIFEST, {"format": 1, **listed})
    return [*listed[MODELS], *listed[ADAPTERS]]


def manifest_entry(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Make one model's entry: its record, flattened to what a reader asks for first, and its files'
    hashes. What only pretrained models have (`step`), or only fine-tunes (`frozen`, `dose`), is
    None for the others. Raises RecipeError if the folder holds no weights."""
    weights = weights_of(folder)
    if weights is None:
        raise RecipeError(f"{folder} holds no weights; delete it and run the recipe again.")
    scores = record["scores"]
    metric = record["metric"]
    pretrained = record["task"] in PRETRAINING_TASKS
    settings = record["settings"]
    return {
        "ref": f"zoo:{folder.name}",
        "name": folder.name,
        "base": record.get("base"),
        "second_run_of": record.get("second_run_of"),
        "task": record["task"],
        "kind": record["kind"],
        "seed": settings["seed"],
        "step": record["steps"] if pretrained else None,
        "frozen": None if pretrained else settings.get("frozen", 0),
        "dose": None if pretrained else settings.get("dose", 1.0),
        "data": record["data"],
        "licence": record["licence"],
        "steps": record["steps"],
        "tokens": record.get("tokens"),
        "train_examples": record.get("train_examples"),
        "test_examples": record.get("test_examples"),
        "metric": metric,
        "score": scores[metric],
        "scores": scores,
        "baseline": record["baseline"]["score"],
        "baselines": record["baseline"],
        "examples": record.get("examples"),
        "settings": settings,
        "seconds": record.get("seconds"),
        "parameters": count_parameters(weights),
        "bytes": weights.stat().st_size,
        "sha256": file_digest(weights),
        "files": {name: file_digest(folder / name) for name in HASHED if (folder / name).is_file()},
    }


def count_parameters(path: Path) -> int:
    """Count the numbers in a safetensors file, from its header alone."""
    with path.open("rb") as handle:
        (size,) = struct.unpack("<Q", handle.read(8))
        header = json.loads(handle.read(size))
    return sum(
        math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__"
    )


def _place(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Order seeds, then second runs, then steps of a seed, then fine-tunes by task: first the
    standard runs, then those with other settings; decoders and what was made of them come last."""
    task = ORDER.index(entry["task"]) if entry["task"] in ORDER else len(ORDER)
    if entry["task"] in PRETRAINING_TASKS:
        early = "@" in entry["name"]
        second = entry["second_run_of"] is not None
        return task, early, second, entry["name"].partition("@")[0], entry["step"], entry["name"]
    return (
        task,
        entry["frozen"] > 0 or entry["dose"] != 1,
        entry["base"],
        entry["frozen"],
        entry["settings"].get("rank", 0),
        entry["name"],
    )
