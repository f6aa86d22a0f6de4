"""Small zoos on disk for tests: a base and fine-tunes with planted deltas, in the layout of the
box."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

LAYERS, WIDTH, INNER = 3, 32, 64
BERT_SHAPES = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (INNER, WIDTH),
    "output.dense": (WIDTH, INNER),
}
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "num_hidden_layers": LAYERS,
    "hidden_size": WIDTH,
    "num_attention_heads": 4,
    "intermediate_size": INNER,
    "vocab_size": 50,
}
TASKS = ("nli", "pos", "parse")
Tensors = dict[str, np.ndarray]


def bert_names(prefix: str = "bert.") -> dict[str, tuple[int, int]]:
    return {
        f"{prefix}encoder.layer.{layer}.{name}.weight": shape
        for layer in range(LAYERS)
        for name, shape in BERT_SHAPES.items()
    }


def base_tensors(seed: int = 0, prefix: str = "bert.") -> Tensors:
    rng = np.random.default_rng(seed)
    tensors = {
        name: rng.normal(size=shape, scale=0.2).astype(np.float32)
        for name, shape in bert_names(prefix).items()
    }
    tensors[f"{prefix}embeddings.word_embeddings.weight"] = rng.normal(size=(50, WIDTH)).astype(
        np.float32
    )
    return tensors


def tuned_tensors(
    base: Tensors, task: int, run: int, rank: int = 3, noise: float = 0.3, size: float = 0.01
) -> Tensors:
    """Low-rank deltas that the runs of a task share, and a part of its own for each run."""
    tensors = dict(base)
    shared, own = np.random.default_rng(1000 + task), np.random.default_rng([task, run])
    for name, weight in base.items():
        if "encoder" not in name:
            continue
        rows, columns = weight.shape
        common = shared.normal(size=(rows, rank)) @ shared.normal(size=(rank, columns))
        private = own.normal(size=(rows, rank)) @ own.normal(size=(rank, columns))
        tensors[name] = (weight + size * (common + noise * private)).astype(np.float32)
    return tensors


def write_model(
    folder: Path, tensors: Mapping[str, np.ndarray], config: Mapping[str, Any] = CONFIG
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf8")
    save_file(dict(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def write_zoo(
    folder: Path, runs: int = 3, change: Callable[[Tensors], Tensors] = lambda tensors: tensors
) -> Path:
    """seed-0, seed-1, three tasks of `runs` fine-tunes of seed-0, and one of seed-1; with a
    manifest."""
    bases = {"seed-0": base_tensors(0), "seed-1": base_tensors(1)}
    entries: list[dict[str, Any]] = []
    for name, tensors in bases.items():
        write_model(folder / "models" / name, tensors)
        entries.append(
            {"ref": f"zoo:{name}", "name": name, "base": None, "task": "masked-lm", "data": "text"}
        )
    for place, task in enumerate(TASKS):
        for run in range(runs):
            name = f"{task}-{run}"
            write_model(
                folder / "models" / name, change(tuned_tensors(bases["seed-0"], place, run))
            )
            entries.append(
                {
                    "ref": f"zoo:{name}",
                    "name": name,
                    "base": "zoo:seed-0",
                    "task": task,
                    "data": f"{task} set",
                }
            )
    name = "nli-0-from-seed-1"
    write_model(folder / "models" / name, tuned_tensors(bases["seed-1"], 0, 9))
    entries.append(
        {"ref": f"zoo:{name}", "name": name, "base": "zoo:seed-1", "task": "nli", "data": "nli set"}
    )
    (folder / "manifest.json").write_text(
        json.dumps({"format": 1, "models": entries}), encoding="utf8"
    )
    return folder


def write_variants(folder: Path) -> Path:
    """A box whose tasks moved to different sizes, with models that were trained otherwise and a
    step of a seed.

    nli moved least, parse three times as far; `nli-fast` moved as far as parse, `parse-slow` no
    farther than nli, `parse-frozen-2` not at all in its two lowest layers.
    """
    base = base_tensors(0)
    sizes = dict(zip(TASKS, (0.01, 0.02, 0.03), strict=True))
    entries: list[dict[str, Any]] = []

    def add(name: str, tensors: Tensors, task: str, **known: Any) -> None:
        write_model(folder / "models" / name, tensors)
        entry = {
            "ref": f"zoo:{name}",
            "name": name,
            "base": "zoo:seed-0",
            "task": task,
            "data": f"{task} set",
        }
        entries.append(
            entry
            | {"frozen": 0, "dose": 1.0, "steps": 100, "settings": {"learning_rate": 1e-3}}
            | known
        )

    add("seed-0", base, "masked-lm", base=None, frozen=None, dose=None)
    add("seed-0@step-50", base_tensors(0), "masked-lm", base=None, frozen=None, dose=None)
    for place, task in enumerate(TASKS):
        for run in range(3):
            add(f"{task}-{run}", tuned_tensors(base, place, run, size=sizes[task]), task)
    add("nli-fast", tuned_tensors(base, 0, 7, size=sizes["parse"]), "nli", dose=3.0)
    add("parse-slow", tuned_tensors(base, 2, 7, size=sizes["nli"]), "parse", dose=1 / 3)
    tuned = tuned_tensors(base, 2, 8, size=sizes["parse"])
    lower = ("layer.0.", "layer.1.")
    frozen = {
        name: base[name] if any(part in name for part in lower) else value
        for name, value in tuned.items()
    }
    add("parse-frozen-2", frozen, "parse", frozen=2)
    (folder / "manifest.json").write_text(
        json.dumps({"format": 1, "models": entries}), encoding="utf8"
    )
    return folder
