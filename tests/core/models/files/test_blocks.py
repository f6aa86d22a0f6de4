"""GGML's blocks against loops written from the comments and loops of ggml-quants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.models.files.blocks import TYPES


def half(raw: bytes, start: int) -> float:
    return float(np.frombuffer(raw[start : start + 2], "<f2")[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def q4(raw: bytes, minimum: bool) -> list[float]:
    start = 4 if minimum else 2
    low = [raw[start + j] & 15 for j in range(16)] + [raw[start + j] >> 4 for j in range(16)]
    if minimum:
        return [code * half(raw, 0) + half(raw, 2) for code in low]
    return [(code - 8) * half(raw, 0) for code in low]


def q5(raw: bytes, minimum: bool) -> list[float]:
    start = 4 if minimum else 2
    fifth = int.from_bytes(raw[start : start + 4], "little")
    low = [raw[start + 4 + j % 16] >> (4 * (j // 16)) & 15 for j in range(32)]
    codes = [code + 16 * (fifth >> j & 1) for j, code in enumerate(low)]
    if minimum:
        return [code * half(raw, 0) + half(raw, 2) for code in codes]
    return [(code - 16) * half(raw, 0) for code in codes]


def q8_0(raw: bytes) -> list[float]:
    return [half(raw, 0) * signed(byte) for byte in raw[2:]]


def scale_min(j: int, q: bytes) -> tuple[int, int]:
    """`get_scale_min_k4`."""
    if j < 4:
        return q[j] & 63, q[j + 4] & 63
    return (q[j + 4] & 15) | (q[j - 4] >> 6) << 4, (q[j + 4] >> 4) | (q[j] >> 6) << 4


def q4_k(raw: bytes) -> list[float]:
    numbers = []
    for group in range(8):
        scale, minimum = scale_min(group, raw[4:16])
        for j in range(32):
            code = raw[16 + group // 2 * 32 + j] >> (4 * (group % 2)) & 15
            numbers.append(half(raw, 0) * scale * code - half(raw, 2) * minimum)
    return numbers


def q5_k(raw: bytes) -> list[float]:
    numbers = []
    for group in range(8):
        scale, minimum = scale_min(group, raw[4:16])
        for j in range(32):
            code = raw[48 + group // 2 * 32 + j] >> (4 * (group % 2)) & 15
            code += 16 * (raw[16 + j] >> group & 1)
            numbers.append(half(raw, 0) * scale * code - half(raw, 2) * minimum)
    return numbers


def q6_k(raw: bytes) -> list[float]:
    numbers = [0.0] * 256
    for part in range(2):
        low, high, scales = raw[64 * part :], raw[128 + 32 * part :], raw[192 + 8 * part :]
        for j in range(32):
            codes = (
                (low[j] & 15) | (high[j] & 3) << 4,
                (low[j + 32] & 15) | (high[j] >> 2 & 3) << 4,
                (low[j] >> 4) | (high[j] >> 4 & 3) << 4,
                (low[j + 32] >> 4) | (high[j] >> 6 & 3) << 4,
            )
            for place, code in enumerate(codes):
                scale = signed(scales[j // 16 + 2 * place])
                numbers[128 * part + 32 * place + j] = half(raw, 208) * scale * (code - 32)
    return numbers


def q2_k(raw: bytes) -> list[float]:
    numbers = []
    for group in range(16):
        part, shift, side = group // 8, group % 8 // 2 * 2, group % 2
        scale, minimum = raw[group] & 15, raw[group] >> 4
        for j in range(16):
            code = raw[16 + 32 * part + 16 * side + j] >> shift & 3
            numbers.append(half(raw, 80) * scale * code - half(raw, 82) * minimum)
    return numbers


def q3_k(raw: bytes) -> list[float]:
    numbers = []
    for group in range(16):
        part, shift, side = group // 8, group % 8 // 2, group % 2
        low = raw[96 + group % 8] >> (4 * (group // 8)) & 15
        scale = low + 16 * (raw[104 + group % 4] >> (2 * (group // 4)) & 3) - 32
        for j in range(16):
            code = raw[32 + 32 * part + 16 * side + j] >> (2 * shift) & 3
            code -= 0 if raw[16 * side + j] >> (4 * part + shift) & 1 else 4
            numbers.append(half(raw, 108) * scale * code)
    return numbers


SLOW: dict[str, Callable[[bytes], list[float]]] = {
    "Q4_0": lambda raw: q4(raw, False),
    "Q4_1": lambda raw: q4(raw, True),
    "Q5_0": lambda raw: q5(raw, False),
    "Q5_1": lambda raw: q5(raw, True),
    "Q8_0": q8_0,
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
}
PLAIN = {"F32": "<f4", "F16": "<f2"}
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,)}  # places of 16-bit floats; else 0, 2


def test_every_type_has_a_reference() -> None:
    assert {block.name for block in TYPES.values()} == {*SLOW, *PLAIN, "BF16"}


@pytest.mark.parametrize("number", TYPES)
def test_blocks_equal_the_slow_reference(number: int) -> None:
    block = TYPES[number]
    rng = np.random.default_rng(number)
    raw = rng.integers(0, 256, (40, block.size)).astype(np.uint8)
    if block.name in PLAIN:
        values = rng.normal(size=(40, 1)).astype(PLAIN[block.name])
        raw = values.view(np.uint8)
        np.testing.assert_array_equal(block.decode(raw), values.astype(np.float32))
        return
    if block.name == "BF16":
        wide = rng.normal(size=40).astype(np.float32).view(np.uint32) & 0xFFFF0000
        raw = (wide >> 16).astype("<u2").view(np.uint8).reshape(40, 2)
        np.testing.assert_array_equal(block.decode(raw)[:, 0], wide.view(np.float32))
        return
    for start in HALVES.get(block.name, (0, 2) if block.name[-1] in "1K" else (0,)):
        scales = rng.normal(size=40).astype("<f2").view(np.uint8).reshape(40, 2)
        raw[:, start : start + 2] = scales
    read = block.decode(raw)
    assert read.shape == (40, block.numbers)
    expected = np.array([SLOW[block.name](bytes(row)) for row in raw])
    np.testing.assert_allclose(read, expected, rtol=1e-5, atol=1e-4)
