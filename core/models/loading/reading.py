"""Weights into a transformers model, from whatever format the folder has, and how much of them at
once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import ModelError
from core.maths.seeding import seeded
from core.models.architectures import ARCHITECTURES
from core.models.describing import LARGE, RANDOM_SEED
from core.models.files import checkpoints, layout
from core.models.files.opening import numbers_of, open_weights
from core.models.files.safetensors import Entry, Stored, sides
from core.models.files.schemes import QUANTISATION
from core.models.loading.construction import make_empty
from core.runs.process.memory import free_memory

READ_AS_ONE = 4 * LARGE  # bytes of weights in float32 up to which a model is read as a whole
HELD = 2**30  # bytes of word vectors computed at once by a model that is read layer by layer
LOGITS = 2**27  # numbers of logits held at once, of a model that is read layer by layer
PASSED = 2**22  # numbers in a layer's output where each forward pass reads the layers from the disk


def is_always_layerwise(parameters: int, model_type: str) -> bool:
    """Whether a model's layers stay on the disk until they run, whatever memory is free: weights
    are large, and a layer can be run without the others."""
    return _is_separable(model_type) and 4 * parameters > READ_AS_ONE


def _is_separable(model_type: str) -> bool:
    architecture = ARCHITECTURES[model_type]
    return architecture.family != "encoder-decoder" and not architecture.inseparable


def is_layerwise(
    parameters: int,
    model_type: str,
    device: str = "cpu",
    width: int = 4,
    *,
    random: bool = False,
) -> bool:
    """Whether a model's layers stay on the disk until they run: its weights (`width` bytes a
    number) are large or do not fit the free memory; numbers of a random model must not depend on
    that."""
    if not _is_separable(model_type):
        return False
    size = width * parameters
    if device.startswith("cuda") and not random:
        import torch

        return bool(size > torch.cuda.mem_get_info()[0] / 2)
    return is_always_layerwise(parameters, model_type) or (size > free_memory() and not random)


def read_model(
    factory: Any, folder: Path, config: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Make a model and read its weights, dequantised one matrix at a time where they are quantised;
    return it and what transformers reports of missing and unexpected weights. Raises ModelError for
    a weight that cannot be read or has another shape."""
    forget_quantisation(config)
    model = make_empty(factory, config, **options)
    settings = loading_settings(model, folder, options["dtype"], "cpu")
    entries = numbers_of(open_weights(folder, checkpoints.read_config(folder)))
    report = put_tensors(model, read_tensors(entries, options["dtype"], mapped=True), settings)
    with seeded(RANDOM_SEED):
        report = type(model)._finalize_model_loading(model, settings, report)
    refuse_misfits(folder, report.to_dict())
    return model, report.to_dict()


def refuse_misfits(source: object, report: Mapping[str, Any]) -> None:
    """Refuse stored tensors whose shapes are not those that the configuration asks for. Raises
    ModelError with the first of them."""
    misfits = sorted(report.get("mismatched_keys", ()), key=lambda misfit: str(misfit[0]))
    if misfits:
        name, stored, wanted = misfits[0]
        more = f" ({len(misfits)} tensors do not fit)" if len(misfits) > 1 else ""
        raise ModelError(
            f"{source} stores {name} as {sides(stored)}, and its configuration asks for "
            f"{sides(wanted)}{more}: they do not belong together, so get both again."
        )


def loading_settings(model: Any, folder: Path, dtype: Any, device: str) -> Any:
    """Say how transformers' loader puts a folder's tensors into a model, in one type on one
    device."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.modeling_utils import LoadStateDictConfig

    mapping: Any = get_model_conversion_mapping(model, dict(renamed(folder)) or None)
    return LoadStateDictConfig(
        device_map={"": device},
        dtype=dtype,
        dtype_plan=model._get_dtype_plan(dtype),
        ignore_mismatched_sizes=True,  # `refuse_misfits` says it in our words
        weight_mapping=mapping,
    )


def put_tensors(model: Any, tensors: dict[str, Any], settings: Any) -> Any:
    """Put tensors into a model in the places that transformers' loader finds for them. Raises
    ModelError if they cannot be converted to the model's weights."""
    from transformers.core_model_loading import convert_and_load_state_dict_in_model

    report, _ = convert_and_load_state_dict_in_model(model, tensors, settings)
    if report.conversion_errors:
        name, reason = next(iter(report.conversion_errors.items()))
        raise ModelError(f"{name} cannot be made of the stored weights ({reason}): get them again.")
    return report


def read_tensors(
    entries: Mapping[str, Stored], dtype: Any, *, mapped: bool = False
) -> dict[str, Any]:
    """Read stored tensors as torch's, in numbers of one type; vectors, some of which are tables of
    frequencies, in single precision at least. `mapped` ones may stay in their file until they are
    used. Raises ModelError if one cannot be read."""
    import torch

    of_vectors = torch.promote_types(dtype, torch.float32)
    return {
        name: as_tensor(entry, dtype if len(entry.shape) > 1 else of_vectors, mapped=mapped)
        for name, entry in entries.items()
    }


def as_tensor(entry: Stored, dtype: Any, *, mapped: bool = False) -> Any:
    """Read a stored tensor as torch's, in numbers of one type. Raises ModelError if it cannot be
    read."""
    import torch

    values = entry.read_mapped() if mapped and isinstance(entry, Entry) else entry.read()
    return torch.from_numpy(np.require(values, requirements=("C", "A", "W"))).to(dtype)


def forget_quantisation(config: Any) -> None:
    """Take the quantisation out of a configuration, as its weights are dequantised on reading."""
    if hasattr(config, QUANTISATION):
        delattr(config, QUANTISATION)


def renamed(folder: Path) -> Mapping[str, str]:
    """List patterns of names and what stands for them where the model is the language model inside
    one of images and text; empty for others."""
    path = folder / layout.CONFIG
    inside = path.is_file() and checkpoints.is_whole(checkpoints.read_json(path))
    return checkpoints.NAMES if inside else {}
