"""Merges of weights, by the app and by others, of tiny models that numpy draws."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.outside.inputs import Numbers

FACTORS = (0.7, -0.4)
RANK = 3


@cache
def tiny_models() -> dict[str, Path]:
    """Write a tiny Llama, two fine-tunes of it and an adapter for it, for as long as this runs."""
    from safetensors.numpy import load_file

    from tests.core.tiny_models import save_tiny

    folder = Path(tempfile.mkdtemp()).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = {name: save_tiny(folder / name, "llama", head=True) for name in ("base", "a", "b")}
    rng = np.random.default_rng(0)
    base = {
        name: 0.3 * rng.normal(size=each.shape)
        for name, each in sorted(load_file(paths["base"] / "model.safetensors").items())
    }
    for name, path in paths.items():
        change = 0.0 if name == "base" else 0.1
        drawn = {
            key: each + change * rng.normal(size=each.shape) for key, each in sorted(base.items())
        }
        save_single(drawn, path / "model.safetensors")
    paths["adapter"] = folder / "adapter"
    paths["adapter"].mkdir()
    factors = {}
    for key, each in sorted(base.items()):
        if key.endswith(("q_proj.weight", "down_proj.weight")):
            place = f"base_model.model.{key.removesuffix('.weight')}"
            factors[f"{place}.lora_A.weight"] = rng.normal(size=(RANK, each.shape[1]))
            factors[f"{place}.lora_B.weight"] = rng.normal(size=(each.shape[0], RANK))
    save_single(factors, paths["adapter"] / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": 5}
    settings |= {"use_rslora": True, "target_modules": ["q_proj", "down_proj"]}
    settings |= {"base_model_name_or_path": str(paths["base"])}
    (paths["adapter"] / "adapter_config.json").write_text(json.dumps(settings))
    return paths


def written(make: Callable[[dict[str, Path], Path], object]) -> Numbers:
    """Tensors of the model that `make` writes from tiny ones."""
    with tempfile.TemporaryDirectory() as name:
        target = Path(name).resolve() / "made"
        make(tiny_models(), target)
        return read_tensors(target)


def read_tensors(folder: Path) -> Numbers:
    """All tensors of a folder."""
    from safetensors.numpy import load_file

    return {
        name: each
        for path in folder.glob("*.safetensors")
        for name, each in load_file(path).items()
    }


def save_single(tensors: Numbers, path: Path) -> None:
    """Write tensors in single precision."""
    from safetensors.numpy import save_file

    single = {name: each.astype(np.float32) for name, each in tensors.items()}
    save_file(single, path, {"format": "pt"})


def our_sum(small: bool) -> Numbers:
    """What `convert --add` writes."""
    from core.models.loading.conversion import add_vectors

    def make(paths: dict[str, Path], target: Path) -> int:
        factors = {
            f"path:{paths[name]}": factor for name, factor in zip("ab", FACTORS, strict=True)
        }
        return add_vectors(f"path:{paths['base']}", factors, target)

    return written(make)


def sum_in_memory(small: bool) -> Numbers:
    """What `weights arithmetic` scores."""
    from safetensors.torch import load_file

    from core.studies.weights.arithmetic.tasks import add_changes

    paths = tiny_models()
    base, *tuned = (load_file(paths[key] / "model.safetensors") for key in ("base", "a", "b"))
    return {name: each.numpy() for name, each in add_changes(base, tuned, FACTORS).items()}


def merged_by_mergekit(small: bool) -> Numbers:
    from mergekit.config import MergeConfiguration
    from mergekit.merge import MergeOptions, run_merge

    def make(paths: dict[str, Path], target: Path) -> None:
        models = [
            {"model": str(paths[name]), "parameters": {"weight": factor}}
            for name, factor in zip("ab", FACTORS, strict=True)
        ]
        settings = {
            "merge_method": "task_arithmetic",
            "base_model": str(paths["base"]),
            "models": models,
            "dtype": "float32",
            "parameters": {"normalize": False, "lambda": 1.0},
        }
        merged = MergeConfiguration.model_validate(settings)
        run_merge(merged, str(target), MergeOptions(quiet=True))

    return written(make)


def our_adapter(small: bool) -> Numbers:
    """What `convert ADAPTER` writes."""
    from core.models.loading.conversion import merge_adapter

    return written(
        lambda paths, target: merge_adapter(
            f"path:{paths['adapter']}", f"path:{paths['base']}", target
        )
    )


def merged_by_peft(small: bool) -> Numbers:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    def make(paths: dict[str, Path], target: Path) -> None:
        base = AutoModelForCausalLM.from_pretrained(paths["base"], dtype=torch.float32)
        PeftModel.from_pretrained(base, paths["adapter"]).merge_and_unload().save_pretrained(target)

    return written(make)
