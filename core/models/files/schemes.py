"""Quantised safetensors: which tensors make one matrix, read as numbers one matrix at a time.

A quantised matrix is stored as codes with scales beside them, under the matrix's name and endings
of the scheme's own. Here they become one entry again, under the matrix's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files import packed
from core.models.files.safetensors import NUMBERS, Entry, Stored
from core.runs.process.parsing import parse

QUANTISATION = "quantization_config"  # in config.json
METHODS = ("bitsandbytes", "gptq", "awq", "fp8", "fbgemm_fp8", "mxfp4")
"""`quant_method` in config.json, of those that are read."""
GPTQ_BITS = (2, 4, 8)
FLOAT8 = ("F8_E4M3", "F8_E5M2")  # safetensors' names, with the bits of the exponent
FP8_BLOCK = (128, 128)
GROUPED = ("qweight", "qzeros", "scales")  # parts of a matrix of GPTQ or AWQ
MOST_STATE = 100_000  # bytes of a state of bitsandbytes
SCALE = re.compile(r"(?i)(?:^|[._])(?:scales?|scb|absmax)(?:$|[._])")  # in the name of scales
STATE = ".quant_state.bitsandbytes__"
Parts = Mapping[str, ndarray]


@dataclass(frozen=True)
class Quantised:
    """A matrix that is dequantised when it is read.

    Attributes:
        dtype: Its scheme, such as "NF4".
        shape: Of the matrix.
        parts: Tensors that hold it, by role.
        decode: What they hold, by role -> the matrix.
    """

    dtype: str
    shape: tuple[int, ...]
    parts: Mapping[str, Entry]
    decode: Callable[[Parts], Float[ndarray, "*shape"]]

    def read(self) -> Float[ndarray, "*shape"]:
        """Read and dequantise the matrix, float32. Raises ModelError if a tensor cannot be read, or
        they do not fit together."""
        try:
            values = self.decode({role: part.read_codes() for role, part in self.parts.items()})
            return values.reshape(self.shape).astype(np.float32, copy=False)
        except (ValueError, IndexError, TypeError) as error:
            name = next(iter(self.parts.values())).file.name
            raise ModelError(
                f"{name} is damaged (a matrix in {self.dtype} whose tensors do not fit: "
                f"{str(error)[:100]}): get it again."
            ) from error


def check_method(settings: object, source: object) -> None:
    """Refuse quantised weights in a scheme that is not read, by a ModelError that names `source`
    and those that are."""
    quantisation = settings if isinstance(settings, dict) else {}
    method, bits = quantisation.get("quant_method"), quantisation.get("bits", 4)
    version = str(quantisation.get("version", "gemm")).lower()
    is_read = method in METHODS
    if method == "gptq":
        is_read = quantisation.get("bits") in GPTQ_BITS
    elif method == "awq":
        is_read = bits == 4 and version == "gemm"
    if not is_read:
        kind = f"{method!s:.40}, {bits!s:.10} bits, {version:.20}"
        raise ModelError(
            f"{source} holds quantised weights that are not read here ({kind}): "
            "choose the same model in float16, bfloat16 or float32, as GGUF, "
            f"or quantised by one of {', '.join(METHODS)}."
        )


def dequantised(entries: Mapping[str, Entry], config: Mapping[str, Any]) -> dict[str, Stored]:
    """Put quantised matrices in the place of the tensors that hold them, as the checked config.json
    says. Raises ModelError if a part of a matrix is missing or cannot be read."""
    settings = config.get(QUANTISATION)
    if not isinstance(settings, dict):
        _refuse_codes(entries)
        return {name: _plain_float8(entry) for name, entry in entries.items()}
    wrappers = {"bitsandbytes": _bitsandbytes, "gptq": _gptq, "awq": _awq, "mxfp4": _mxfp4}
    wrap = wrappers.get(str(settings.get("quant_method")), _float8)
    tensors = _Tensors(entries)
    try:
        matrices = dict(wrap(tensors, settings))
    except (ValueError, IndexError) as error:  # a tensor with another number of axes
        some = next(iter(entries.values())).file.name
        raise ModelError(
            f"{some} is damaged (quantised matrices of a wrong shape): get it again."
        ) from error
    plain = {name: entry for name, entry in entries.items() if name not in tensors.taken}
    return {**plain, **matrices}


def _plain_float8(entry: Entry) -> Stored:
    """Read a tensor that was cast to 8-bit floats, without scales; any other as it is."""
    if entry.dtype not in FLOAT8:
        return entry
    bits = int(entry.dtype[4])
    parts = {"codes": entry}
    return Quantised("FP8", entry.shape, parts, lambda read: packed.float8(read["codes"], bits))


def _refuse_codes(entries: Mapping[str, Entry]) -> None:
    """Refuse, by a ModelError, matrices in codes whose configuration does not say how they are
    read: as numbers they are wrong by their scales."""
    scaled = {name.rpartition(".")[0] for name in entries if SCALE.search(name)}
    for name, entry in entries.items():
        module, _, last = name.rpartition(".")
        is_code = entry.dtype not in NUMBERS and last == "weight" and len(entry.shape) > 1
        if is_code and (module in scaled or not entry.dtype.startswith("F8")):
            raise ModelError(
                f"{entry.file.name} stores {name} as {entry.dtype}, quantised, "
                "and config.json has no quantization_config that says how it is read: choose the "
                "same model in float16, bfloat16 or float32, or the config.json that belongs to it."
            )


class _Tensors:
    """Tensors by name, which remember which were taken."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = entries
        self.taken: set[str] = set()

    def ending(self, ending: str) -> list[str]:
        """Names with this ending, without it."""
        return [name.removesuffix(ending) for name in self.entries if name.endswith(ending)]

    def take(self, name: str) -> Entry:
        """Take a tensor; raises ModelError if it is not there."""
        if name not in self.entries:
            some = next(iter(self.entries.values())).file.name
            raise ModelError(f"{some} lacks {name}, a part of a quantised matrix: get it again.")
        self.taken.add(name)
        return self.entries[name]


Matrices = Iterator[tuple[str, Quantised]]


def _float8(tensors: _Tensors, settings: Mapping[str, Any]) -> Matrices:
    size = settings.get("weight_block_size")
    whole = isinstance(size, list) and len(size) == 2 and all(isinstance(s, int) for s in size)
    block = (size[0], size[1]) if isinstance(size, list) and whole and min(size) > 0 else FP8_BLOCK
    for name, entry in tensors.entries.items():
        if entry.dtype not in FLOAT8:
            continue
        ending = "_scale" if f"{name}_scale" in tensors.entries else "_scale_inv"
        parts = {"codes": tensors.take(name), "scales": tensors.take(name + ending)}
        bits = int(entry.dtype[4])

        def decode(read: Parts, bits: int = bits) -> ndarray:
            return packed.scale_blocks(packed.float8(read["codes"], bits), read["scales"], block)

        yield name, Quantised("FP8", entry.shape, parts, decode)


def _bitsandbytes(tensors: _Tensors, settings: Mapping[str, Any]) -> Matrices:
    for module in tensors.ending(".SCB"):
        name = f"{module}.weight"
        parts = {"codes": tensors.take(name), "scales": tensors.take(f"{module}.SCB")}
        if f"{module}.weight_format" in tensors.entries:
            parts["order"] = tensors.take(f"{module}.weight_format")
        yield name, Quantised("INT8", parts["codes"].shape, parts, _int8)
    for name in [name for name in tensors.entries if STATE in name]:
        matrix = name.partition(STATE)[0]
        yield matrix, _code_book(tensors, matrix, name)


def _int8(read: Parts) -> ndarray:
    if read.get("order", np.zeros(1)).any():
        raise ModelError(
            "The weights were saved in the order in which a graphics card reads them "
            "(weight_format of bitsandbytes), which is not read here: "
            "choose the same model saved before its first use, or in 16 bits."
        )
    return packed.int8_rows(read["codes"], read["scales"])


def _code_book(tensors: _Tensors, name: str, state_name: str) -> Quantised:
    """Describe a matrix of bitsandbytes in four bits; its state, a few bytes, is read."""
    held = tensors.take(state_name)
    codes = tensors.take(name)
    try:
        if math.prod(held.shape) > MOST_STATE:
            raise ValueError("too long")
        state = parse(held.read_codes().tobytes())
        shape = tuple(int(side) for side in state["shape"])
        offset, block = float(state.get("nested_offset", 0)), int(state["blocksize"])
        size = int(state.get("nested_blocksize", 1))
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ModelError(f"{name} has a damaged quantisation state: get it again.") from error
    if min(*shape, size, block) < 1 or -(-math.prod(shape) // 2) != codes.stop - codes.start:
        raise ModelError(f"{name} has a damaged quantisation state: get it again.")
    endings = {"codes": "", "levels": ".quant_map", "scales": ".absmax"}
    nested = f"{name}.nested_absmax" in tensors.entries
    if nested:
        endings |= {"outer": ".nested_absmax", "outer_levels": ".nested_quant_map"}
    parts = {role: tensors.take(name + ending) for role, ending in endings.items()}

    def decode(read: Parts) -> ndarray:
        scales = read["scales"]
        if nested:
            scales = packed.nested_scales(scales, read["outer_levels"], read["outer"], offset, size)
        return packed.code_book(read["codes"], read["levels"], scales, block)[: math.prod(shape)]

    return Quantised(state_name.rpartition("__")[2].upper()[:8], shape, parts, decode)


def _gptq(tensors: _Tensors, settings: Mapping[str, Any]) -> Matrices:
    bits = int(settings["bits"])
    one_less = settings.get("checkpoint_format", "gptq") != "gptq_v2"
    for module in tensors.ending(".qweight"):
        parts = {role: tensors.take(f"{module}.{role}") for role in GROUPED}
        words, outputs = parts["qweight"].shape
        inputs = words * packed.WORD // bits
        if f"{module}.g_idx" in tensors.entries:
            parts["g_idx"] = tensors.take(f"{module}.g_idx")
        size = -(-inputs // max(parts["scales"].shape[0], 1))

        def decode(read: Parts, inputs: int = inputs, size: int = size) -> ndarray:
            group = read.get("g_idx", np.arange(inputs) // size)
            codes = (read["qweight"], read["qzeros"], read["scales"])
            return packed.gptq(*codes, group, bits, one_less=one_less)

        yield f"{module}.weight", Quantised(f"GPTQ-{bits}", (outputs, inputs), parts, decode)


def _awq(tensors: _Tensors, settings: Mapping[str, Any]) -> Matrices:
    for module in tensors.ending(".qweight"):
        parts = {role: tensors.take(f"{module}.{role}") for role in GROUPED}
        inputs, words = parts["qweight"].shape
        yield (
            f"{module}.weight",
            Quantised(
                "AWQ-4",
                (words * 8, inputs),
                parts,
                lambda read: packed.awq(read["qweight"], read["qzeros"], read["scales"]),
            ),
        )


def _mxfp4(tensors: _Tensors, settings: Mapping[str, Any]) -> Matrices:
    """Describe experts of GPT-OSS, stored by output and read (expert, input, output)."""
    for name in tensors.ending("_blocks"):
        parts = {"codes": tensors.take(f"{name}_blocks"), "scales": tensors.take(f"{name}_scales")}
        experts, outputs, blocks, half = parts["codes"].shape
        yield (
            name,
            Quantised(
                "MXFP4",
                (experts, blocks * half * 2, outputs),
                parts,
                lambda read: packed.mxfp4(read["codes"], read["scales"]).swapaxes(1, 2),
            ),
        )
