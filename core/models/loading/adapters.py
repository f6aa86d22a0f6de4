"""LoRA adapters as models with their head: factors and head merged into the base.

An adapter's folder says what head it trained in the `config.json` beside it, which is that of the
merged model. The merged model is written as a folder of its own and loaded as any other, under the
same policy.

Reference: Hu et al. 2022, ICLR. Deviations: none.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from core.errors import ModelError
from core.models.describing import adapter_folder, locate
from core.models.files.adapters import ADAPTER_WEIGHTS, FACTOR, WRAPPER
from core.models.files.checkpoints import CONFIG, SAFETENSORS, TOKENIZER_FILES, read_config
from core.models.loading.heads import load_task_model
from core.models.loading.model import load_tokenizer
from core.models.loading.task_models import TaskModel, describe_head
from core.models.weights.adapters import Adapter, match_adapter, read_factors
from core.models.weights.sources import open_adapter
from core.models.weights.tensors import open_folder


def load_adapted(ref: str, base: str) -> TaskModel:
    """Load the base with an adapter's factors merged into it, and with the adapter's head.

    Args:
        ref: An adapter in a folder.
        base: The model that it was trained on.

    Raises:
        ModelError: If either cannot be read, or the adapter does not fit the base or has no head.
    """
    head = describe_head(ref)
    with tempfile.TemporaryDirectory() as place:
        _write_merged(ref, base, Path(place))
        model = load_task_model(Path(place))
    return TaskModel(ref, head, model, load_tokenizer(base))


def merge_adapter(ref: str, base: str, target: Path) -> int:
    """Write an adapter merged into its base as a model that every page reads, with the base's
    tokenizer.

    Args:
        ref: An adapter in a folder.
        base: The model that it was trained on.
        target: A folder that does not exist yet.

    Returns:
        Tensors written, in float32.

    Raises:
        ModelError: If either cannot be read, the adapter does not fit the base or has no
            configuration of the merged model beside it, or the target is there.
    """
    if target.exists():
        raise ModelError(f"{target} is there already: name another folder with --out.")
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        count = _write_merged(ref, base, partial)
        for name in TOKENIZER_FILES:
            if (locate(base) / name).is_file():
                shutil.copyfile(locate(base) / name, partial / name)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count


def _write_merged(ref: str, base: str, target: Path) -> int:
    """Write configuration and weights of the merged model; return the number of tensors."""
    folder, adapter = adapter_folder(ref), open_adapter(ref, "")
    if folder is None or adapter is None:
        raise ModelError(f"{ref} is no adapter in a folder; choose one.")
    if not (folder / CONFIG).is_file():
        raise ModelError(
            f"{ref} does not say what model it makes: put the config.json of the merged model "
            "beside it."
        )
    tensors = _merged(adapter, folder, base)
    shutil.copyfile(folder / CONFIG, target / CONFIG)
    save_file(tensors, target / SAFETENSORS, metadata={"format": "pt"})
    return len(tensors)


def _merged(adapter: Adapter, folder: Path, base: str) -> dict[str, Any]:
    """The base's tensors with the adapter's products added, and the tensors that it holds whole."""
    origin = locate(base)
    checkpoint = open_folder(base, origin, read_config(origin))
    pair = match_adapter(checkpoint, adapter)
    tensors = {name: np.array(checkpoint.read(name)) for name in checkpoint.entries}
    for delta in read_factors(pair):
        slot, _ = pair.slots[delta.index]
        slot.add(tensors[slot.tensor], delta.matrix)
    with safe_open(folder / ADAPTER_WEIGHTS, framework="np") as handle:
        whole = [name for name in handle.keys() if not FACTOR.fullmatch(name)]  # noqa: SIM118
        tensors |= {
            name.removeprefix(WRAPPER): handle.get_tensor(name).astype(np.float32) for name in whole
        }
    return tensors
