"""Weights in a folder, in whatever format: safetensors, quantised or not, GGUF, pickled."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from core.errors import ModelError, listed
from core.models.files import checkpoints, layout
from core.models.files.gguf import gguf_entries
from core.models.files.pickled import count_pickled, pickled_entries
from core.models.files.safetensors import (
    NUMBERS,
    ByteFile,
    Stored,
    read_header,
    read_whole_header,
)
from core.models.files.schemes import QUANTISATION, dequantised
from core.runs.process.remembered import READ_FILES, folder_state, remembered

# Relative size of the rounding error of a number stored in this type, root mean square. Of the
# quantised ones that of a Gaussian matrix: a step over the root of 12, where a block's range, in
# standard deviations, is cut into steps.
ROUNDING = {"F64": 1e-16, "F32": 3e-8, "F16": 2.1e-4, "BF16": 1.7e-3}
ROUNDING |= {"FP8": 0.027, "INT8": 0.008, "NF4": 0.095, "FP4": 0.13, "MXFP4": 0.12}
ROUNDING |= {"GPTQ-2": 0.5, "GPTQ-4": 0.1, "GPTQ-8": 0.006, "AWQ-4": 0.1}
ROUNDING |= {"Q4_0": 0.08, "Q4_1": 0.08, "Q5_0": 0.04, "Q5_1": 0.04, "Q8_0": 0.005}
ROUNDING |= {"Q2_K": 0.35, "Q3_K": 0.13, "Q4_K": 0.08, "Q5_K": 0.04, "Q6_K": 0.017}
# what torch.compile and FSDP put into names, and DistributedDataParallel before all of them
WRAPPER = re.compile(r"(^|\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.)+")
PARALLEL = "module."
T = TypeVar("T")


def open_files(files: Iterable[ByteFile], config: Mapping[str, Any]) -> dict[str, Stored]:
    """List the tensors of safetensors files; quantised matrices count as one tensor each. Raises
    ModelError if a file is damaged, or a part of a quantised matrix is missing."""
    entries = _together((file.name, read_header(file)) for file in files)
    return dequantised(_plainly_named(entries), config)


def open_weights(folder: Path, config: Mapping[str, Any]) -> dict[str, Stored]:
    """List the tensors of a folder's weights, by name, with its checked configuration. Raises
    ModelError if there are none, or a file is damaged or not read here."""
    files = checkpoints.weight_files(folder)
    if files[0].suffix == layout.GGUF:
        return dict(gguf_entries(files))
    if checkpoints.is_pickled(files):
        if QUANTISATION in config:
            raise ModelError(
                f"{files[0]} holds quantised weights in PyTorch's format, "
                "which are read from safetensors alone: choose the model in safetensors."
            )
        pickled = _together((path.name, pickled_entries(path)) for path in files)
        return dict(_plainly_named(pickled))
    entries = _together((path.name, read_whole_header(path)) for path in files)
    return dequantised(_plainly_named(entries), config)


def _together(files: Iterable[tuple[str, Mapping[str, T]]]) -> dict[str, T]:
    """Put the tensors of several files together. Raises ModelError if two of them hold one name, of
    which every reader takes another tensor."""
    held: dict[str, T] = {}
    places: dict[str, str] = {}
    for file, tensors in files:
        twice = next((name for name in tensors if name in held), None)
        if twice is not None:
            raise ModelError(
                f"{places[twice]} and {file} both hold {twice[:100]}: "
                "take it out of the file that is out of date, or save the model again."
            )
        held |= tensors
        places |= dict.fromkeys(tensors, file)
    return held


def _plainly_named(entries: Mapping[str, T]) -> dict[str, T]:
    """Name tensors as the model does, without what a wrapper put into their names in training.
    Raises ModelError if two then have the same name."""
    plain = dict(zip(plain_names(entries), entries.values(), strict=True))
    if len(plain) < len(entries):
        raise ModelError(
            "Two tensors of the file differ only in what a wrapper such as torch.compile put into "
            "their names: save the unwrapped model again."
        )
    return plain


def plain_names(names: Iterable[str]) -> list[str]:
    """Take out of tensors' names what torch.compile and distributed training put into them.

    Example:
        >>> plain_names(["module._orig_mod.bert.weight", "module.bert._orig_mod.bias"])
        ['bert.weight', 'bert.bias']
    """
    plain = [WRAPPER.sub(r"\1", name) for name in names]
    wrapped = plain and all(name.startswith(PARALLEL) for name in plain)
    return [name.removeprefix(PARALLEL) for name in plain] if wrapped else plain


def is_quantised(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether the weights are stored in codes, which are dequantised as they are read here.
    Raises ModelError if there are no weights."""
    if QUANTISATION in config:
        return True
    return checkpoints.weight_files(folder)[0].suffix == layout.GGUF


def count_parameters(folder: Path, config: Mapping[str, Any]) -> int:
    """Count the parameters, without tables of whole numbers; shared ones once, which a pickled file
    names twice. Raises ModelError as `open_weights` does."""
    files = checkpoints.weight_files(folder)
    if checkpoints.is_pickled(files) and QUANTISATION not in config:
        return sum(map(count_pickled, files))
    return _count(folder)


def numbers_of(entries: Mapping[str, Stored]) -> dict[str, Stored]:
    """Leave out tables of whole numbers, which a model computes for itself."""
    return {name: entry for name, entry in entries.items() if entry.dtype in ROUNDING}


@remembered(READ_FILES, state=folder_state)
def _count(folder: Path) -> int:
    stored = numbers_of(open_weights(folder, checkpoints.read_config(folder)))
    return sum(math.prod(entry.shape) for entry in stored.values())


def quantisation_notice(ref: str, entries: Mapping[str, Stored]) -> str:
    """Say that a model's weights are quantised, and in what; "" if they are not."""
    quantised = ROUNDING.keys() - NUMBERS.keys()
    matrices = (entry.dtype for entry in entries.values() if len(entry.shape) > 1)
    counts = Counter(dtype for dtype in matrices if dtype in quantised)
    if not counts:
        return ""
    schemes = listed([scheme for scheme, _ in counts.most_common()])
    return (
        f"The weights of {ref} are quantised ({schemes}). They are dequantised matrix by matrix as "
        "they are read, so every number includes the rounding of the quantisation."
    )
