"""What a pretraining run keeps: its state, written whole or not at all, and the running average of
its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from core.errors import RecipeError

AVERAGE_DECAY = 8  # the average covers about 1 / (1 + this) of the additions so far


def weights_of(model: Any) -> dict[str, torch.Tensor]:
    """Return every parameter once, by its name, on the processor."""
    return {name: value.detach().cpu().contiguous() for name, value in model.named_parameters()}


def state_of(
    model: Any, optimizer: torch.optim.Optimizer, average: Mapping[str, torch.Tensor] | None = None
) -> dict[str, torch.Tensor]:
    """Collect all that `resume` needs: `model.NAME`, `average.NAME`, and the optimizer's tensors of
    each parameter."""
    state = {f"model.{name}": value for name, value in weights_of(model).items()}
    state |= {f"average.{name}": value for name, value in (average or {}).items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[
            parameter
        ].items():  # empty where there is no gradient: the rotary table
            state[f"{key}.{name}"] = value.detach().cpu().contiguous()
    return state


def add_to_average(average: dict[str, torch.Tensor], model: Any, count: int) -> None:
    """Add the weights, the `count`-th from 1, to their running average (Shamir & Zhang 2013), in
    place."""
    share = (1 + AVERAGE_DECAY) / (count + AVERAGE_DECAY)
    for name, value in weights_of(model).items():
        average[name] = value.clone() if name not in average else average[name].lerp_(value, share)


def save_tensors(path: Path, tensors: Mapping[str, torch.Tensor], note: dict[str, Any]) -> None:
    """Write tensors beside the file and move them into place, so that it is whole or not there.
    Raises RecipeError if it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        save_file(dict(tensors), partial, metadata={"note": json.dumps(note)})
        partial.replace(path)
    except OSError as error:
        raise RecipeError(
            f"{path} could not be written ({error}); free some space and run again to resume."
        ) from error


def read_tensors(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Read (note, tensors) of a file that `save_tensors` wrote. Raises RecipeError if it is
    damaged."""
    try:
        with safe_open(path, framework="pt") as handle:
            note = json.loads((handle.metadata() or {}).get("note", "{}"))
        return note, load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise RecipeError(
            f"{path} is damaged ({error}); delete it to train this seed again."
        ) from error


def resume(
    path: Path,
    model: Any,
    optimizer: torch.optim.Optimizer,
    settings: Any,
    average: dict[str, torch.Tensor] | None = None,
) -> tuple[int, float]:
    """Fill model, optimizer and average from the checkpoint at `path`, where there is one; return
    steps done and processor seconds spent. Raises RecipeError if it is damaged or of other
    settings."""
    if not path.is_file():
        return 0, 0.0
    note, state = read_tensors(path)
    if "step" not in note or _comparable(note["settings"], settings) != _comparable(
        asdict(settings), settings
    ):
        raise RecipeError(
            f"{path} was made with other settings; delete it or use another work folder."
        )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[f"model.{name}"])
            if average is not None and f"average.{name}" in state:
                average[name] = state[f"average.{name}"]
            if f"step.{name}" in state:
                optimizer.state[parameter] = {
                    key: state[f"{key}.{name}"].to(parameter.device)
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
    return int(note["step"]), float(note.get("processor_seconds", 0.0))


def _comparable(noted: Mapping[str, Any], settings: Any) -> dict[str, Any]:
    """Return the settings without those that may change between two halves of a run; older
    checkpoints lack the newer ones."""
    defaults = {field.name: field.default for field in fields(settings) if field.name != "seed"}
    constant = getattr(settings, "schedule", "") == "constant"
    free = {"keep_steps": None} | ({"steps": None} if constant else {})
    return {**defaults, **noted, **free}
