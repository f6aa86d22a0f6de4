"""Blocks of GGML's quantised types, back to numbers.

A row is cut into blocks of 32 or 256 numbers, each with its own scale. All functions take bytes
(block, byte) and return float32 (block, number). transformers decodes most types, neither Q5_0 nor
Q5_1; its reader of whole files needs the package gguf.

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


def _q5(raw: Bytes, *, minimum: bool) -> Numbers:
    start = 4 if minimum else 2
    fifth = np.unpackbits(raw[:, start : start + 4], axis=1, bitorder="little")
    rest = raw[:, start + 4 :]
    low = np.concatenate([rest & 15, rest >> 4], axis=1)
    codes: ndarray = (low | fifth << 4).astype(np.float32)
    values: ndarray = codes * _half(raw, 0) if minimum else (codes - 16) * _half(raw, 0)
    return values + _half(raw, 2) if minimum else values


def _by_library(kind: int) -> Callable[[Bytes], Numbers]:
    """Decode blocks of GGML's type of this number with transformers."""

    def decode(raw: Bytes) -> Numbers:
        import torch
        from transformers.integrations.gguf.dequant import dequantize

        values: ndarray = dequantize(torch.from_numpy(raw.copy()).ravel(), kind).numpy()
        return values.reshape(len(raw), -1)

    return decode


TYPES = {
    0: BlockType("F32", 1, 4, _floats("<f4")),
    1: BlockType("F16", 1, 2, _floats("<f2")),
    2: BlockType("Q4_0", 32, 18, _by_library(2)),
    3: BlockType("Q4_1", 32, 20, _by_library(3)),
    6: BlockType("Q5_0", 32, 22, lambda raw: _q5(raw, minimum=False)),
    7: BlockType("Q5_1", 32, 24, lambda raw: _q5(raw, minimum=True)),
    8: BlockType("Q8_0", 32, 34, _by_library(8)),
    10: BlockType("Q2_K", 256, 84, _by_library(10)),
    11: BlockType("Q3_K", 256, 110, _by_library(11)),
    12: BlockType("Q4_K", 256, 144, _by_library(12)),
    13: BlockType("Q5_K", 256, 176, _by_library(13)),
    14: BlockType("Q6_K", 256, 210, _by_library(14)),
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
