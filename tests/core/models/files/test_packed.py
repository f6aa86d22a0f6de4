"""Quantised numbers against slow loops and planted codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.models.files import packed
from tests.core import quantised


def slow_float8(code: int, bits: int) -> float:
    """One sign, then so many bits of the exponent, then the mantissa (arXiv 2209.05433, table 1)."""
    sign, places, bias = -1.0 if code > 127 else 1.0, 7 - bits, 2 ** (bits - 1) - 1
    exponent, mantissa = (code & 127) >> places, code & (2**places - 1)
    if bits == 5 and exponent == 31:
        return float("nan") if mantissa else sign * float("inf")
    if bits == 4 and code & 127 == 127:
        return float("nan")
    share = mantissa / 2**places
    size = share * 2.0 ** (1 - bias) if not exponent else (1 + share) * 2.0 ** (exponent - bias)
    return sign * size


@pytest.mark.parametrize("bits", [4, 5])
def test_every_8_bit_float_equals_the_slow_reference(bits: int) -> None:
    codes = np.arange(256, dtype=np.uint8)
    codes.setflags(write=False)  # as bytes of a file are
    expected = np.array([slow_float8(code, bits) for code in range(256)], np.float32)
    np.testing.assert_array_equal(packed.float8(codes, bits), expected)


def test_blocks_at_the_edge_are_cut_off() -> None:
    values, scales = np.ones((5, 7), np.float32), np.arange(6.0).reshape(2, 3)
    scaled = packed.scale_blocks(values, scales, (3, 3))
    for row in range(5):
        for column in range(7):
            assert scaled[row, column] == scales[row // 3, column // 3]
    rows = packed.scale_blocks(values, np.arange(5.0), (3, 3))
    np.testing.assert_array_equal(rows, np.arange(5.0)[:, None] * np.ones(7))
    with pytest.raises(ValueError, match="do not fit"):
        packed.scale_blocks(values, np.ones((4, 3)), (3, 3))


def test_rows_in_8_bits_are_shares_of_their_largest_number() -> None:
    codes = np.array([[127, -127, 0], [64, 1, -2]], np.int8)
    read = packed.int8_rows(codes, np.array([2.0, 254.0], np.float32))
    np.testing.assert_allclose(read, [[2, -2, 0], [128, 2, -4]])


def test_codes_come_upper_half_first_and_the_last_block_may_be_short() -> None:
    levels = np.arange(16.0, dtype=np.float32)
    raw = np.array([0x12, 0x34, 0x5F], np.uint8)
    read = packed.code_book(raw, levels, np.array([1.0, 10.0]), 4)
    assert read.tolist() == [1, 2, 3, 4, 50, 150]


def test_scales_of_scales_are_looked_up_about_their_offset() -> None:
    levels = np.linspace(-1, 1, 256, dtype=np.float32)
    read = packed.nested_scales(
        np.array([0, 255, 255], np.uint8), levels, np.array([2.0, 3.0]), 5.0, 2
    )
    assert read.tolist() == [3, 7, 8]


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_gptq_equals_a_loop_over_its_numbers(bits: int) -> None:
    rng = np.random.default_rng(bits)
    inputs, outputs, groups, each = 32, 32, 4, 32 // bits
    weight = rng.integers(-(2**31), 2**31, (inputs // each, outputs)).astype(np.int32)
    zeros = rng.integers(-(2**31), 2**31, (groups, outputs // each)).astype(np.int32)
    scales = rng.normal(size=(groups, outputs)).astype(np.float16)
    group = rng.integers(0, groups, inputs)
    read = packed.gptq(weight, zeros, scales, group, bits, one_less=True)
    for row in range(inputs):
        for column in range(outputs):
            word = int(weight[row // each, column]) & 0xFFFFFFFF
            low = int(zeros[group[row], column // each]) & 0xFFFFFFFF
            code = (word >> (row % each * bits)) & (2**bits - 1)
            zero = ((low >> (column % each * bits)) & (2**bits - 1)) + 1
            expected = (code - zero) * float(scales[group[row], column])
            assert read[column, row] == pytest.approx(expected, rel=1e-6)
    later = packed.gptq(weight, zeros, scales, group, bits, one_less=False)
    np.testing.assert_allclose(later - read, scales[group].T.astype(np.float32), atol=1e-4)


def test_awq_equals_a_loop_over_its_numbers() -> None:
    rng = np.random.default_rng(0)
    order = [0, 2, 4, 6, 1, 3, 5, 7]  # AutoAWQ's: place in the word -> column
    weight = rng.integers(-(2**31), 2**31, (8, 2)).astype(np.int32)
    zeros = rng.integers(-(2**31), 2**31, (2, 2)).astype(np.int32)
    scales = rng.normal(size=(2, 16)).astype(np.float16)
    read = packed.awq(weight, zeros, scales)
    for row in range(8):
        for word in range(2):
            for place, column in enumerate(order):
                code = (int(weight[row, word]) & 0xFFFFFFFF) >> (4 * place) & 15
                zero = (int(zeros[row // 4, word]) & 0xFFFFFFFF) >> (4 * place) & 15
                expected = (code - zero) * float(scales[row // 4, word * 8 + column])
                assert read[word * 8 + column, row] == pytest.approx(expected, rel=1e-6)


def test_mxfp4_equals_a_loop_over_its_numbers() -> None:
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, (2, 3, 2, 16)).astype(np.uint8)
    exponents = rng.integers(120, 134, (2, 3, 2)).astype(np.uint8)
    steps = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    read = packed.mxfp4(raw, exponents)
    assert read.shape == (2, 3, 64)
    for place in np.ndindex(*raw.shape):
        for half in range(2):
            code = int(raw[place]) >> (4 * half) & 15
            size = steps[code % 8] * 2.0 ** (int(exponents[place[:3]]) - 127)
            number = read[place[0], place[1], place[2] * 32 + place[3] * 2 + half]
            assert number == (-size if code > 7 else size)


WORDS, CODES = np.zeros((2, 16), np.int32), np.zeros((4, 6), np.uint8)


@pytest.mark.parametrize(
    "read",
    [
        lambda: packed.scale_blocks(np.ones((4, 4)), np.ones((100, 1, 1)), (2, 2)),
        lambda: packed.int8_rows(np.ones((1, 4), np.int8), np.ones(100)),
        lambda: packed.int8_rows(np.ones(4, np.int8), np.ones(4)),
        lambda: packed.code_book(CODES, np.ones((16, 100)), np.ones(1), 48),
        lambda: packed.code_book(CODES, np.ones(16), np.ones(3), 48),
        lambda: packed.nested_scales(CODES, np.ones(256), np.ones(1), 0.0, 8),
        lambda: packed.gptq(
            WORDS, WORDS[:1, :2], np.ones((1, 16)), np.zeros((16, 1), int), 4, one_less=True
        ),
        lambda: packed.gptq(
            WORDS, WORDS[:1, :2], np.ones((1, 16)), np.zeros(1, int), 4, one_less=True
        ),
        lambda: packed.awq(WORDS, np.zeros((0, 16), np.int32), np.ones((0, 128))),
        lambda: packed.mxfp4(CODES[None], np.zeros((100, 4), np.uint8)),
    ],
)
def test_parts_that_do_not_fit_are_refused_and_never_spread(read: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"\("):
        read()


def test_a_block_that_is_said_to_be_endless_takes_no_more_memory() -> None:
    assert packed.code_book(CODES, np.ones(16), np.ones(1), 10**15).shape == (48,)


@pytest.mark.parametrize("scheme", ["fp8", "int8", "nf4", "gptq", "awq"])
def test_the_rounding_that_is_said_is_that_of_a_gaussian_matrix(scheme: str) -> None:
    """Within a factor of 2: real groups are longer than the tests', and round more coarsely."""
    from core.models.files.opening import ROUNDING

    said = {"fp8": "FP8", "int8": "INT8", "nf4": "NF4", "gptq": "GPTQ-4", "awq": "AWQ-4"}
    matrix = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)
    parts, exact = quantised.SCHEMES[scheme][0]("a.weight", matrix)
    wanted = matrix
    if scheme == "gptq":  # its inputs are reordered, and their matrix with them
        group = parts["a.g_idx"].numpy()
        assert sorted(group) == sorted(np.arange(128) // 16)
        wanted = matrix[:, np.random.default_rng(0).permutation(128)]
    error = np.linalg.norm(exact - wanted) / np.linalg.norm(wanted)
    assert 0.5 < error / ROUNDING[said[scheme]] < 2
