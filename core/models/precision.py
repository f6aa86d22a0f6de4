"""Precision of forward passes: half where a large model is stored so and the machine is fast.

bfloat16 has 8 bits of precision instead of 24. A model that is stored in it loses nothing when its
weights are read so, but each layer's output is rounded. Multiplications take a third of the time on
a processor with instructions for it. Results have the precision in their key, so that those of two
machines are never mixed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import SpecError
from core.maths.devices import fast_half
from core.models.describing import LARGE, describe, locate
from core.models.files import checkpoints
from core.models.files.opening import open_weights
from core.models.references import ModelRef, parse_ref

SINGLE, HALF = "float32", "bfloat16"
VARIABLE = "PALIMPSEST_PRECISION"


def precision_of(ref: str | ModelRef) -> str:
    """Choose the type of a model's hidden states: "bfloat16" for a large one that is stored in it
    where this machine has instructions for it and `PALIMPSEST_PRECISION` is not "float32", else
    "float32". Raises SpecError if the variable is anything else, ModelError if the model cannot be
    read."""
    ref = parse_ref(ref)
    return precision_in(locate(ref), describe(ref).parameters)


def precision_in(folder: Path, parameters: int, *, complete: bool = True) -> str:
    """Choose the precision of the model in a folder, as `precision_of`, without hashing its files;
    the configuration says the type where the weights are not `complete`. Raises ModelError,
    SpecError as `precision_of` does."""
    setting = os.environ.get(VARIABLE, "").strip()
    if setting not in ("", SINGLE):
        raise SpecError(f"{VARIABLE} is {setting!r}: set it to {SINGLE}, or leave it out.")
    if setting or parameters <= LARGE:
        return SINGLE
    config = checkpoints.read_config(folder)
    half = _stored_in_half(folder, config) if complete else type_in(config) == HALF
    return HALF if half and fast_half() else SINGLE


def type_in(config: Mapping[str, Any]) -> str:
    """Read the type of a model's numbers from its configuration; "" where it names none.

    Example:
        >>> type_in({"torch_dtype": "bfloat16"})
        'bfloat16'
    """
    return str(config.get("dtype") or config.get("torch_dtype") or "")


def _stored_in_half(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether nearly all numbers of a folder's weights are bfloat16."""
    sizes = dict.fromkeys((True, False), 0)
    for entry in open_weights(folder, config).values():
        sizes[entry.dtype == "BF16"] += math.prod(entry.shape)
    return sizes[True] > 9 * sizes[False]
