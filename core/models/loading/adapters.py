"""LoRA adapters as models with their head: factors and head merged into the base.

An adapter's folder says what head it trained in the `config.json` beside it, which is that of the
merged model. The merged model is written as a folder of its own and loaded as any other, under the
same policy.

Reference: Hu et al. 2022, ICLR. Deviations: where the base uses its embeddings as output layer
too, merged embeddings are used for both, as after PEFT's merge.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from core.errors import ModelError
from core.models.describing import adapter_folder, locate
from core.models.files.adapters import BASE_LAYER, EMBEDDING_FACTOR, PART_OF_LORA, WRAPPER
from core.models.files.checkpoints import read_config
from core.models.files.layout import CONFIG, SAFETENSORS, TOKENIZER_FILES
from core.models.files.opening import count_parameters
from core.models.loading.heads import load_task_model
from core.models.loading.model import check_implied, load_tokenizer
from core.models.loading.reading import numbers_of
from core.models.loading.task_models import TaskModel, describe_head
from core.models.references import parse_ref
from core.models.weights.adapters import (
    LONGEST_NAME,
    Adapter,
    match_adapter,
    read_factors,
    sort_factors,
)
from core.models.weights.families import match_names
from core.models.weights.sources import open_adapter
from core.models.weights.tensors import Checkpoint, open_folder


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
        held = count_parameters(Path(place), read_config(Path(place)))
        check_implied(parse_ref(ref), Path(place), "AutoModel", held)
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
    tensors = _merged(adapter, base)
    shutil.copyfile(folder / CONFIG, target / CONFIG)
    save_file(tensors, target / SAFETENSORS, metadata={"format": "pt"})
    return len(tensors)


def _merged(adapter: Adapter, base: str) -> dict[str, Any]:
    """The base's tensors with the adapter's products added, and the tensors that it holds whole.

    Raises:
        ModelError: If a factor is left over: the merged model would not be the adapter's.
    """
    origin = locate(base)
    checkpoint = open_folder(base, origin, read_config(origin))
    linear, others = sort_factors(adapter)
    embedded, _ = sort_factors(adapter, EMBEDDING_FACTOR)
    tensors = {name: np.array(checkpoint.read(name)) for name in numbers_of(checkpoint.entries)}
    for name in others:
        if PART_OF_LORA not in name:
            place = name.removeprefix(WRAPPER)
            if BASE_LAYER in place:
                place = _place_of(place.replace(BASE_LAYER, "."), tensors)
            tensors[place] = adapter.factors.read(name).astype(np.float32)
        elif len(name) > LONGEST_NAME or not EMBEDDING_FACTOR.fullmatch(name):
            raise _left_over(adapter, base, name.removeprefix(WRAPPER)[:LONGEST_NAME])
    in_layers = set[str]()
    if linear or not embedded:
        in_layers = _merge_layers(checkpoint, adapter, tensors, linear)
    for module, sides in linear.items():
        if module not in in_layers:
            _merge_module(adapter, base, tensors, module, sides)
    for module, sides in embedded.items():
        _merge_module(adapter, base, tensors, module, sides, embedding=True)
    return tensors


def _merge_layers(
    checkpoint: Checkpoint, adapter: Adapter, tensors: Mapping[str, Any], modules: Iterable[str]
) -> set[str]:
    """Add the products of matrices of layers, which may be stored fused or transposed; return their
    modules."""
    names = [f"{module}.weight" for module in modules]
    if names and not match_names(checkpoint.model_type, names, checkpoint.config):
        return set()
    pair = match_adapter(checkpoint, adapter)
    for delta in read_factors(pair):
        slot, _ = pair.slots[delta.index]
        slot.add(tensors[slot.tensor], delta.matrix)
    return {target.module for target in pair.targets.values()}


def _merge_module(
    adapter: Adapter,
    base: str,
    tensors: Mapping[str, Any],
    module: str,
    sides: Mapping[str, str],
    *,
    embedding: bool = False,
) -> None:
    """Add the product of a head's or an embedding's factors, B A or its transpose.

    Raises:
        ModelError: If there is no such weight of this shape, or it is tied to another.
    """
    place = _place_of(f"{module}.weight", tensors)
    if place not in tensors or sides.keys() != {"A", "B"}:
        raise _left_over(adapter, base, module)
    weight, config = tensors[place], adapter.config
    rank, shapes = config.rank_of(module), adapter.factors.entries
    expected = weight.shape[::-1] if embedding else weight.shape
    if len(expected) != 2 or (shapes[sides["B"]].shape, shapes[sides["A"]].shape) != (
        (expected[0], rank),
        (rank, expected[1]),
    ):
        raise _left_over(adapter, base, module)
    tied = [
        name
        for name, tensor in tensors.items()
        if name != place and tensor.shape == weight.shape and np.array_equal(tensor, weight)
    ]
    if tied and not embedding:
        raise ModelError(
            f"{adapter.factors.ref} changes {module}, which {base} shares with {tied[0]}: save the "
            "base with weights of its own for each, and choose that."
        )
    upper, lower = (adapter.factors.read(sides[side]).astype(np.float64) for side in "BA")
    product = config.scaling(module) * upper @ lower
    weight += (product.T if embedding else product).astype(weight.dtype)


def _place_of(name: str, tensors: Mapping[str, Any]) -> str:
    """Find a tensor of this name, or the only one whose name has a longer or shorter prefix; the
    name itself if there is none."""
    if name in tensors:
        return name
    alike = [held for held in tensors if held.endswith(f".{name}") or name.endswith(f".{held}")]
    return alike[0] if len(alike) == 1 else name


def _left_over(adapter: Adapter, base: str, name: str) -> ModelError:
    return ModelError(
        f"{adapter.factors.ref} has factors for {name} that fit no weight of {base}: choose its "
        "base, or merge it with PEFT and use the result."
    )
