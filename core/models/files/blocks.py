"""Blocks of GGML's quantised types, back to numbers.

A row is cut into blocks of 32 or 256 numbers, each with its own scale. The K types scale groups of
a block once more, with scales in 4 or 6 bits. All functions take bytes (block, byte) and return
float32 (block, number). transformers reads GGUF as a whole model, with the package gguf.

Reference: the structs and loops of ggml-quants (`block_q4_0` to `block_q6_K`). Deviations: none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from core.models.files.safetensors import LocalFile, damaged

Bytes = Int[ndarray, "block byte"]
Numbers = Float[ndarray, "block number"]


@dataclass(frozen=True)
class BlockType:
    """A type of block.

    Attributes:
        name: GGML's.
        numbers: In a block.
        size: Bytes of a block.
        decode: Bytes of blocks -> their numbers.
    """

    name: str
    numbers: int
    size: int
    decode: Callable[[Bytes], Numbers]


def _half(raw: Bytes, start: int) -> ndarray:
    """Read a 16-bit float of each block, shape (block, 1)."""
    values: ndarray = np.ascontiguousarray(raw[:, start : start + 2]).view("<f2").astype(np.float32)
    return values


def _fields(raw: Bytes, bits: int) -> ndarray:
    """Split bytes into fields: all lowest ones, then all second ones, shape (block, field)."""
    parts = [(raw >> shift) & (2**bits - 1) for shift in range(0, 8, bits)]
    return np.concatenate(parts, axis=1)


def _in_runs(raw: Bytes, bits: int, run: int) -> ndarray:
    """Split each run of bytes into fields as `_fields` does, one run after the other."""
    split = _fields(raw.reshape(-1, run), bits)
    return split.reshape(len(raw), -1)


def _floats(kind: str) -> Callable[[Bytes], Numbers]:
    def decode(raw: Bytes) -> Numbers:
        values: ndarray = np.ascontiguousarray(raw).view(kind).astype(np.float32)
        return values

    return decode


def _bfloat16(raw: Bytes) -> Numbers:
    """Widen the upper halves of float32."""
    upper = np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16
    values: ndarray = upper.view(np.float32)
    return values


def _q4(raw: Bytes, *, minimum: bool) -> Numbers:
    codes: ndarray = _fields(raw[:, 4 if minimum else 2 :], 4).astype(np.float32)
    values: ndarray = codes * _half(raw, 0) if minimum else (codes - 8) * _half(raw, 0)
    return values + _half(raw, 2) if minimum else values


def _q5(raw: Bytes, *, minimum: bool) -> Numbers:
    start = 4 if minimum else 2
    fifth = np.unpackbits(raw[:, start : start + 4], axis=1, bitorder="little")
    codes: ndarray = (_fields(raw[:, start + 4 :], 4) | fifth << 4).astype(np.float32)
    values: ndarray = codes * _half(raw, 0) if minimum else (codes - 16) * _half(raw, 0)
    return values + _half(raw, 2) if minimum else values


def _q8_0(raw: Bytes) -> Numbers:
    return _half(raw, 0) * np.ascontiguousarray(raw[:, 2:]).view(np.int8)


def _six_bits(raw: Bytes) -> tuple[ndarray, ndarray]:
    """Unpack eight scales and eight minima of six bits from twelve bytes."""
    low, high, rest = raw[:, :4], raw[:, 4:8], raw[:, 8:]
    scales = np.concatenate([low & 63, (rest & 15) | (low >> 6) << 4], axis=1)
    minima = np.concatenate([high & 63, (rest >> 4) | (high >> 6) << 4], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def _grouped(codes: ndarray, scales: ndarray, minima: ndarray | float = 0.0) -> Numbers:
    """Scale groups of equal size of each block, and subtract their minima."""
    groups: ndarray = codes.reshape(*scales.shape, -1).astype(np.float32)
    lowest = minima if isinstance(minima, float) else minima[..., None]
    values: ndarray = groups * scales[..., None] - lowest
    return values.reshape(len(codes), -1)


def _q2_k(raw: Bytes) -> Numbers:
    scales, minima = raw[:, :16] & 15, raw[:, :16] >> 4
    codes = _in_runs(raw[:, 16:80], 2, 32)
    return _grouped(codes, scales * _half(raw, 80), minima * _half(raw, 82))


def _q3_k(raw: Bytes) -> Numbers:
    packed = raw[:, 96:108]
    low, high = _fields(packed[:, :8], 4), _fields(packed[:, 8:], 2)
    scales = (low | high << 4).astype(np.float32) - 32
    above = np.concatenate([(raw[:, :32] >> bit) & 1 for bit in range(8)], axis=1)
    codes = _in_runs(raw[:, 32:96], 2, 32).astype(np.float32) - 4 * (1 - above.astype(np.float32))
    return _grouped(codes, scales * _half(raw, 108))


def _q4_k(raw: Bytes) -> Numbers:
    scales, minima = _six_bits(raw[:, 4:16])
    codes = _in_runs(raw[:, 16:], 4, 32)
    return _grouped(codes, scales * _half(raw, 0), minima * _half(raw, 2))


def _q5_k(raw: Bytes) -> Numbers:
    scales, minima = _six_bits(raw[:, 4:16])
    fifth = np.concatenate([(raw[:, 16:48] >> bit) & 1 for bit in range(8)], axis=1)
    codes = _in_runs(raw[:, 48:], 4, 32) | fifth << 4
    return _grouped(codes, scales * _half(raw, 0), minima * _half(raw, 2))


def _q6_k(raw: Bytes) -> Numbers:
    low, high = _in_runs(raw[:, :128], 4, 64), _in_runs(raw[:, 128:192], 2, 32)
    codes = (low | high << 4).astype(np.float32) - 32
    scales = np.ascontiguousarray(raw[:, 192:208]).view(np.int8).astype(np.float32)
    return _grouped(codes, scales * _half(raw, 208))


TYPES = {
    0: BlockType("F32", 1, 4, _floats("<f4")),
    1: BlockType("F16", 1, 2, _floats("<f2")),
    2: BlockType("Q4_0", 32, 18, lambda raw: _q4(raw, minimum=False)),
    3: BlockType("Q4_1", 32, 20, lambda raw: _q4(raw, minimum=True)),
    6: BlockType("Q5_0", 32, 22, lambda raw: _q5(raw, minimum=False)),
    7: BlockType("Q5_1", 32, 24, lambda raw: _q5(raw, minimum=True)),
    8: BlockType("Q8_0", 32, 34, _q8_0),
    10: BlockType("Q2_K", 256, 84, _q2_k),
    11: BlockType("Q3_K", 256, 110, _q3_k),
    12: BlockType("Q4_K", 256, 144, _q4_k),
    13: BlockType("Q5_K", 256, 176, _q5_k),
    14: BlockType("Q6_K", 256, 210, _q6_k),
    30: BlockType("BF16", 1, 2, _bfloat16),
}
"""Types that are read, by GGML's number."""


@dataclass(frozen=True)
class BlockTensor:
    """A tensor of blocks in a GGUF file.

    Attributes:
        file: That holds it.
        kind: GGML's number of its type.
        shape: As transformers has it, outputs first.
        start: Of its bytes in the file.
        heads: Whose rows are reordered; 0 for none.
    """

    file: LocalFile
    kind: int
    shape: tuple[int, ...]
    start: int
    heads: int = 0

    @property
    def dtype(self) -> str:
        """GGML's name of its type."""
        return TYPES[self.kind].name

    def read(self) -> Float[ndarray, "*shape"]:
        """Read and dequantise the tensor, float32. Raises ModelError if the file ends within it."""
        block = TYPES[self.kind]
        count = math.prod(self.shape) // block.numbers
        data = self.file.read(self.start, self.start + count * block.size)
        if len(data) != count * block.size:
            raise damaged(self.file.path, "truncated: it ends within a tensor")
        raw = np.frombuffer(data, dtype=np.uint8).reshape(count, block.size)
        # the callers check that the numbers are finite
        with np.errstate(invalid="ignore", over="ignore"):
            values = block.decode(raw).reshape(self.shape)
        if not self.heads:
            return values
        pairs = values.reshape(self.heads, -1, 2, *self.shape[1:])
        return pairs.swapaxes(1, 2).reshape(self.shape)
