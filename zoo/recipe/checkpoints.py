"""Models in the standard format: a folder with config, fp16 weights and tokenizer.

Weights are rounded to fp16 here, once. Fine-tuning starts from the rounded weights, so that the
difference of two files is exactly its update. The config says float32, so that a plain
`from_pretrained` computes in float32.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from core.errors import RecipeError
from core.models.files.adapters import ADAPTER_WEIGHTS
from core.models.files.layout import SAFETENSORS
from zoo.recipe.objectives import ReplacedTokens
from zoo.recipe.pretrain import Pretraining, new_model
from zoo.recipe.states import read_tensors

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
OTHER_TOKENIZER_FILES = (
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
)
RECORD = "training.json"


def finish_seed(
    checkpoint: Path, tokenizer: Path, out: Path, settings: Pretraining | None = None
) -> dict[str, Any]:
    """Write a checkpoint's model to `out`, one that detects replaced tokens as its encoder alone;
    return its `step` and `settings`. Raises RecipeError as `read_model`, or if it cannot be written
    in fp16."""
    note, model = read_model(checkpoint, settings)
    write_model(model.roformer if isinstance(model, ReplacedTokens) else model, tokenizer, out)
    return note


def read_model(checkpoint: Path, settings: Pretraining | None = None) -> tuple[dict[str, Any], Any]:
    """Read (note, model as `new_model` makes it) from a checkpoint or a snapshot, which may need
    `settings`; averaged weights where it has some. Raises RecipeError if it is missing, damaged, or
    does not say how it was trained."""
    note, state = _read_checkpoint(checkpoint)
    if settings is None:
        if "settings" not in note:
            raise RecipeError(
                f"{checkpoint} does not contain its training settings; pass its settings."
            )
        kept = tuple(note["settings"]["keep_steps"])
        settings = Pretraining(**{**note["settings"], "keep_steps": kept})
    model = new_model(settings)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name not in state:
                raise RecipeError(
                    f"{checkpoint} holds no {name}; delete it to train this seed again."
                )
            parameter.copy_(state[name])
    return note, model


def write_model(
    model: torch.nn.Module,
    tokenizer: Path,
    out: Path,
    record: dict[str, Any] | None = None,
    **config_extra: Any,
) -> None:
    """Write a transformers model (or one with a head of ours), its tokenizer and its training
    record as a folder, whole or not at all; tied parameters are written once. Raises RecipeError if
    a weight is not finite in fp16 or the folder cannot be written."""
    files = {"config.json": config_of(model, **config_extra)}
    files |= {} if record is None else {RECORD: record}
    write_folder(out, SAFETENSORS, rounded(model), files, tokenizer)


def config_of(model: torch.nn.Module, **extra: Any) -> dict[str, Any]:
    """Return what `config.json` says of a model; `extra` replaces or adds entries."""
    config = dict(model.config.to_dict())  # type: ignore[operator,union-attr]
    name = extra.pop("architecture", type(model).__name__)
    config |= {"architectures": [name], "dtype": "float32", **extra}
    config.pop("_name_or_path", None)
    return config


def write_folder(
    out: Path,
    weights: str,
    tensors: dict[str, torch.Tensor],
    files: dict[str, Any],
    tokenizer: Path | None = None,
) -> None:
    """Write a folder of weights and JSON files, by name, with the tokenizer files of another; whole
    or not at all. Raises RecipeError if it cannot be written."""
    partial = out.with_name(out.name + ".partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save_file(tensors, partial / weights, metadata={"format": "pt"})
        (partial / weights).chmod(0o644)  # safetensors makes it private
        for name, content in files.items():
            write_json(partial / name, content)
        for file in (*TOKENIZER_FILES, *OTHER_TOKENIZER_FILES) if tokenizer else ():
            if tokenizer and (tokenizer / file).is_file():
                shutil.copyfile(tokenizer / file, partial / file)
        if out.exists():
            shutil.rmtree(out)
        partial.replace(out)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise RecipeError(
            f"{out} could not be written ({error}); free some space and run again to resume."
        ) from error


def rounded(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return every parameter once, in fp16, by its name. Raises RecipeError if one is not finite
    there."""
    tensors = {}
    for name, parameter in model.named_parameters():
        tensor = parameter.detach().cpu().to(torch.float16).contiguous()
        if not torch.isfinite(tensor).all():
            raise RecipeError(
                f"The weights {name} are not finite in fp16: the training diverged; lower its rate."
            )
        tensors[name] = tensor
    return tensors


def write_json(path: Path, content: Any) -> None:
    """Write canonical, readable JSON with a newline at the end, and move it into place whole.
    Raises RecipeError if it cannot be written."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(
            json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n",
            encoding="utf8",
        )
        partial.replace(path)
    except OSError as error:
        raise RecipeError(
            f"{path} could not be written ({error}); free some space and run again."
        ) from error


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read `training.json` of a finished model folder; None if there is none that can be read."""
    path = folder / RECORD
    if not path.is_file() or weights_of(folder) is None:
        return None
    try:
        record = json.loads(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def weights_of(folder: Path) -> Path | None:
    """Find the weights of a finished folder, a model's or an adapter's; None if there are none."""
    paths = (folder / SAFETENSORS, folder / ADAPTER_WEIGHTS)
    return next((path for path in paths if path.is_file()), None)


def _read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if not path.is_file():
        raise RecipeError(f"No checkpoint at {path}; train the seed first.")
    note, state = read_tensors(path)
    for prefix in ("average.", "model."):  # a snapshot's names have neither
        if any(name.startswith(prefix) for name in state):
            return note, {
                name[len(prefix) :]: value
                for name, value in state.items()
                if name.startswith(prefix)
            }
    return note, state
