"""Weights in 4 and 8 bits, as quantised safetensors hold them, back to numbers.

All functions take arrays as stored and return float32. Four-bit numbers lie several to an integer;
each scheme has its own order. transformers dequantises whole models while it loads them, most
schemes with a package of their own or a graphics card; here one matrix is read.

References: Micikevicius et al. 2022, arXiv 2209.05433 (FP8); Dettmers et al. 2022, arXiv 2208.07339
(int8); Dettmers et al. 2023, arXiv 2305.14314 (NF4, scales quantised once more); Frantar et al.
2023, arXiv 2210.17323 (GPTQ); Lin et al. 2024, arXiv 2306.00978 (AWQ); the Open Compute Project's
microscaling formats (MXFP4). Deviations: none. Outlier columns, which int8 multiplies in 16 bits,
are stored in 8 bits like the others.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

INT8_RANGE = 127
WORD = 32  # bits of an integer that holds several numbers
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # column of each four bits in a word, lowest first
MXFP4_BIAS = 127
FP4_STEPS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], np.float32)


def float8(raw: Int[ndarray, "*shape"], exponent_bits: int) -> Float[ndarray, "*shape"]:
    """Widen bytes that are 8-bit floats: E4M3 (4 exponent bits), which has no infinity, or E5M2."""
    import torch

    kind = {4: torch.float8_e4m3fn, 5: torch.float8_e5m2}[exponent_bits]
    wide: ndarray = torch.from_numpy(raw.astype(np.uint8)).view(kind).float().numpy()
    return wide


def scale_blocks(
    values: Float[ndarray, "*stack row column"],
    scales: Float[ndarray, "*stack block_row block_column"],
    block: tuple[int, int],
) -> Float[ndarray, "*stack row column"]:
    """Multiply each block of a matrix, of rows and columns, by its scale; the last ones may be cut
    off, and scales may be one, or one for each row. Raises ValueError if there are not as many as
    blocks."""
    if scales.ndim == 1 and values.ndim == 2:
        scales = scales[:, None]
    for axis, side in zip((-2, -1), block, strict=True):
        if scales.ndim < 2 or scales.shape[axis] in (1, values.shape[axis]):
            continue
        if scales.shape[axis] != -(-values.shape[axis] // side):
            raise ValueError(f"scales {scales.shape} do not fit a matrix {values.shape}")
        scales = np.repeat(scales, side, axis=axis)
        scales = np.take(scales, np.arange(values.shape[axis]), axis=axis)
    if np.broadcast_shapes(values.shape, scales.shape) != values.shape:
        raise ValueError(f"scales {scales.shape} do not fit a matrix {values.shape}")
    scaled: ndarray = values * scales.astype(np.float32)
    return scaled


def int8_rows(
    raw: Int[ndarray, "row column"], largest: Float[ndarray, " row"]
) -> Float[ndarray, "row column"]:
    """Widen 8-bit integers whose rows were divided by their largest number. Raises ValueError if
    there are not as many largest numbers as rows."""
    if raw.ndim != 2 or largest.shape != raw.shape[:1]:
        raise ValueError(f"scales {largest.shape} do not fit a matrix {raw.shape}")
    return raw * (largest.astype(np.float32) / INT8_RANGE)[:, None]


def code_book(
    raw: Int[ndarray, " byte"],
    levels: Float[ndarray, " level"],
    scales: Float[ndarray, " block"],
    size: int,
) -> Float[ndarray, " number"]:
    """Look up four-bit codes (of 16 levels), the upper half of a byte first, and scale blocks of
    `size` numbers; the last may be shorter. Raises ValueError if there are not as many scales as
    blocks."""
    return _look_up(_halves(raw.ravel(), upper_first=True), levels, scales, size)


def nested_scales(
    raw: Int[ndarray, " block"],
    levels: Float[ndarray, " level"],
    scales: Float[ndarray, " group"],
    offset: float,
    size: int,
) -> Float[ndarray, " block"]:
    """Look up scales that were quantised once more, in groups of `size`, about `offset`."""
    return _look_up(raw.ravel(), levels, scales, size) + np.float32(offset)


def gptq(
    weight: Int[ndarray, "word output"],
    zeros: Int[ndarray, "group word"],
    scales: Float[ndarray, "group output"],
    group: Int[ndarray, " input"],
    bits: int,
    *,
    one_less: bool,
) -> Float[ndarray, "output input"]:
    """Unpack a GPTQ matrix of 2, 4 or 8 bits: numbers lie along the inputs, zero points along the
    outputs, which the first version of the format stores `one_less`. Raises ValueError for parts of
    different matrices."""
    _check_groups(zeros, scales, weight.shape[1], WORD // bits)
    shifts = np.arange(0, WORD, bits, dtype=np.uint32)
    codes = ((weight.view(np.uint32)[:, None] >> shifts[:, None]) & (2**bits - 1)).reshape(
        -1, weight.shape[1]
    )
    if group.shape != codes.shape[:1]:
        raise ValueError(f"groups {group.shape} of {len(codes)} inputs")
    lowest = ((zeros.view(np.uint32)[..., None] >> shifts) & (2**bits - 1)).reshape(len(zeros), -1)
    zero = lowest.astype(np.float32) + one_less
    centred: ndarray = codes.astype(np.float32) - zero[group]
    centred *= scales.astype(np.float32)[group]
    return centred.T


def awq(
    weight: Int[ndarray, "input word"],
    zeros: Int[ndarray, "group word"],
    scales: Float[ndarray, "group output"],
) -> Float[ndarray, "output input"]:
    """Unpack an AWQ matrix: eight outputs lie in a word, in an order of their own. Raises
    ValueError if the parts are not those of one matrix."""
    _check_groups(zeros, scales, weight.shape[1] * len(AWQ_ORDER), len(AWQ_ORDER))
    codes, zero = (_words(part).astype(np.float32) for part in (weight, zeros))
    size = len(codes) // len(scales)
    centred = codes - np.repeat(zero, size, axis=0)
    return (centred * np.repeat(scales.astype(np.float32), size, axis=0)).T


def mxfp4(
    raw: Int[ndarray, "*stack block byte"], exponents: Int[ndarray, "*stack block"]
) -> Float[ndarray, "*stack number"]:
    """Unpack 4-bit floats in blocks of 32 that share a power of two; the lower half first. Raises
    ValueError if there are not as many exponents as blocks."""
    if exponents.shape != raw.shape[:-1]:
        raise ValueError(f"exponents {exponents.shape} do not fit blocks {raw.shape}")
    codes = _halves(raw, upper_first=False)
    values = np.where(codes > 7, -1, 1).astype(np.float32) * FP4_STEPS[codes & 7]
    scale = np.ldexp(np.float32(1), exponents.astype(np.int32) - MXFP4_BIAS)
    scaled: ndarray = values * scale[..., None]
    return scaled.reshape(*raw.shape[:-2], -1)


def _check_groups(zeros: ndarray, scales: ndarray, outputs: int, each: int) -> None:
    """Refuse zero points, `each` to a word, and scales that are not of one matrix's groups."""
    if scales.ndim != 2 or not len(scales) or zeros.shape != (len(scales), outputs // each):
        raise ValueError(f"zero points {zeros.shape} and scales {scales.shape}")
    if scales.shape[1] != outputs:
        raise ValueError(f"scales {scales.shape} of {outputs} outputs")


def _look_up(codes: ndarray, levels: ndarray, scales: ndarray, size: int) -> ndarray:
    """Look up codes, and scale blocks of `size` of them."""
    if levels.ndim != 1 or scales.size != -(-codes.size // size):
        raise ValueError(f"scales {scales.shape} for {codes.size} codes in blocks of {size}")
    values: ndarray = levels.astype(np.float32)[codes]
    # a block may be said to be longer than all codes
    values *= np.repeat(scales.astype(np.float32), min(size, codes.size))[: codes.size]
    return values


def _halves(raw: ndarray, *, upper_first: bool) -> ndarray:
    """Split the bytes of the last axis into four bits each."""
    parts = (raw >> 4, raw & 15) if upper_first else (raw & 15, raw >> 4)
    return np.stack(parts, axis=-1).reshape(*raw.shape[:-1], -1)


def _words(raw: ndarray) -> ndarray:
    """Unpack AWQ's words along the last axis."""
    parts = (raw.view(np.uint32)[..., None] >> np.arange(0, WORD, 4, dtype=np.uint32)) & 15
    columns = np.empty_like(parts)
    columns[..., AWQ_ORDER] = parts
    return columns.reshape(len(raw), -1)
