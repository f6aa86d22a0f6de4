"""Tiny models whose weights are quantised, in every format that is read, and their exact matrices.

The encoders round to the nearest code; what a matrix then holds is computed here, number by number,
from the description of each format.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from safetensors.torch import load_file, save_file

NF4 = np.array(
    [
        *(-1.0, -0.6961928, -0.5250731, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0),
        *(0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0),
    ],
    np.float32,
)
BLOCK = 16  # numbers of a block or a group, so that a tiny matrix has several
Parts = dict[str, torch.Tensor]
Encoder = Callable[[str, ndarray], tuple[Parts, ndarray]]


def fp8(name: str, matrix: ndarray) -> tuple[Parts, ndarray]:
    """8-bit floats in blocks of 16 x 16, as DeepSeek-V3's."""
    rows, columns = (-(-side // BLOCK) for side in matrix.shape)
    scales = np.zeros((rows, columns), np.float32)
    codes = torch.zeros(matrix.shape, dtype=torch.float8_e4m3fn)
    exact = np.zeros_like(matrix)
    for row in range(rows):
        for column in range(columns):
            at = np.s_[
                row * BLOCK : (row + 1) * BLOCK,
                column * BLOCK : (column + 1) * BLOCK,
            ]
            scales[row, column] = np.abs(matrix[at]).max() / 448
            part = torch.from_numpy(matrix[at] / scales[row, column]).to(torch.float8_e4m3fn)
            codes[at] = part
            exact[at] = part.float().numpy() * scales[row, column]
    return {name: codes, f"{name}_scale_inv": torch.from_numpy(scales)}, exact


def int8(name: str, matrix: ndarray) -> tuple[Parts, ndarray]:
    """8-bit integers by row, as LLM.int8()."""
    largest = np.abs(matrix).max(1)
    codes = np.rint(matrix / largest[:, None] * 127).astype(np.int8)
    parts = {name: torch.from_numpy(codes)}
    parts[name.replace(".weight", ".SCB")] = torch.from_numpy(largest)
    parts[name.replace(".weight", ".weight_format")] = torch.tensor(0, dtype=torch.uint8)
    return parts, codes.astype(np.float32) * largest[:, None] / 127


def nf4(name: str, matrix: ndarray, nested: bool = True) -> tuple[Parts, ndarray]:
    """Four-bit normal floats, whose scales are quantised once more in groups of four."""
    flat = matrix.reshape(-1, BLOCK)
    scales = np.abs(flat).max(1)
    levels = np.linspace(-1, 1, 256, dtype=np.float32)
    state: dict[str, Any] = {"quant_type": "nf4", "blocksize": BLOCK, "shape": list(matrix.shape)}
    parts: Parts = {}
    if nested:
        offset = float(scales.mean())
        grouped = (scales - offset).reshape(-1, 4)
        outer = np.abs(grouped).max(1)
        inner = np.abs(levels - (grouped / outer[:, None])[..., None]).argmin(-1)
        scales = (levels[inner] * outer[:, None]).ravel() + np.float32(offset)
        parts[f"{name}.absmax"] = torch.from_numpy(inner.ravel().astype(np.uint8))
        parts[f"{name}.nested_absmax"] = torch.from_numpy(outer.astype(np.float32))
        parts[f"{name}.nested_quant_map"] = torch.from_numpy(levels)
        state |= {"nested_blocksize": 4, "nested_offset": offset}
    else:
        parts[f"{name}.absmax"] = torch.from_numpy(scales)
    codes = np.abs(NF4 - (flat / scales[:, None])[..., None]).argmin(-1)
    pairs = codes.reshape(-1, 2)
    packed = (pairs[:, 0] * 16 + pairs[:, 1]).astype(np.uint8)[:, None]
    said = np.frombuffer(json.dumps(state).encode(), np.uint8).copy()
    parts |= {name: torch.from_numpy(packed), f"{name}.quant_map": torch.from_numpy(NF4)}
    parts[f"{name}.quant_state.bitsandbytes__nf4"] = torch.from_numpy(said)
    return parts, (NF4[codes] * scales[:, None]).reshape(matrix.shape)


def _in_groups(matrix: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Codes (input, output), zero points and scales (group, output), and the matrix they make."""
    inputs = matrix.T.reshape(-1, BLOCK, len(matrix))
    low, high = inputs.min(1), inputs.max(1)
    scales = ((high - low) / 15).astype(np.float16)
    wide = scales.astype(np.float32)
    zeros = np.clip(np.rint(-low / wide), 1, 15).astype(np.int64)
    codes = np.clip(np.rint(inputs / wide[:, None]) + zeros[:, None], 0, 15).astype(np.int64)
    exact = ((codes - zeros[:, None]) * wide[:, None]).reshape(-1, len(matrix)).T
    return codes.reshape(-1, len(matrix)), zeros, scales, exact.astype(np.float32)


def _packed(rows: ndarray, order: tuple[int, ...] = tuple(range(8))) -> torch.Tensor:
    """Eight numbers along the last axis to a 32-bit word, `order` from the lowest bits up."""
    words = np.zeros((len(rows), rows.shape[1] // 8), np.uint32)
    for place, column in enumerate(order):
        words |= rows[:, column::8].astype(np.uint32) << (4 * place)
    return torch.from_numpy(words.view(np.int32))


def gptq(name: str, matrix: ndarray) -> tuple[Parts, ndarray]:
    """GPTQ's words, with inputs in an order of activations."""
    codes, zeros, scales, exact = _in_groups(matrix)
    shuffled = np.random.default_rng(0).permutation(len(codes))
    module = name.removesuffix(".weight")
    return {
        f"{module}.qweight": _packed(codes[shuffled].T).T.contiguous(),
        f"{module}.qzeros": _packed(zeros - 1),
        f"{module}.scales": torch.from_numpy(scales),
        f"{module}.g_idx": torch.from_numpy((shuffled // BLOCK).astype(np.int32)),
    }, exact[:, shuffled]


def awq(name: str, matrix: ndarray) -> tuple[Parts, ndarray]:
    """AWQ's words, whose bits hold the columns in an order of their own."""
    codes, zeros, scales, exact = _in_groups(matrix)
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    module = name.removesuffix(".weight")
    return {
        f"{module}.qweight": _packed(codes, order),
        f"{module}.qzeros": _packed(zeros, order),
        f"{module}.scales": torch.from_numpy(scales),
    }, exact


SCHEMES: dict[str, tuple[Encoder, dict[str, Any]]] = {
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}),
    "int8": (int8, {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": BLOCK}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": BLOCK, "version": "gemm"}),
}


def quantise(source: Path, target: Path, scheme: str) -> dict[str, ndarray]:
    """Write a copy of a model with the matrices of its layers quantised; return all its tensors."""
    encode, settings = SCHEMES[scheme]
    shutil.copytree(source, target)
    tensors = load_file(source / "model.safetensors")
    kept: Parts = {}
    exact = {}
    for name, tensor in tensors.items():
        exact[name] = tensor.numpy()
        if "layers." in name and tensor.ndim == 2:
            parts, exact[name] = encode(name, tensor.numpy())
            kept |= parts
        else:
            kept[name] = tensor
    whole = {name: tensor.clone().contiguous() for name, tensor in kept.items()}
    save_file(whole, target / "model.safetensors", metadata={"format": "pt"})
    path = target / "config.json"
    config = json.loads(path.read_text()) | {"quantization_config": settings}
    path.write_text(json.dumps(config))
    return exact


def q8_0(matrix: ndarray) -> tuple[bytes, ndarray]:
    """GGML's blocks of 32 in 8 bits."""
    flat = matrix.reshape(-1, 32)
    scales = (np.abs(flat).max(1) / 127).astype("<f2")
    wide = scales.astype(np.float32)
    codes = np.rint(flat / np.where(wide > 0, wide, 1)[:, None]).astype(np.int8)
    raw = b"".join(
        scale.tobytes() + code.tobytes() for scale, code in zip(scales, codes, strict=True)
    )
    return raw, (codes * wide[:, None]).reshape(matrix.shape)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _setting(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _text(name) + struct.pack("<I", 8) + _text(value)
    if isinstance(value, float):
        return _text(name) + struct.pack("<If", 6, value)
    if isinstance(value, list):
        kind = 8 if isinstance(value[0], str) else 5
        items = b"".join(_text(x) if kind == 8 else struct.pack("<i", x) for x in value)
        return _text(name) + struct.pack("<IIQ", 9, kind, len(value)) + items
    return _text(name) + struct.pack("<Ii", 5, value)


def gguf_file(settings: dict[str, Any], tensors: dict[str, tuple[int, ndarray, bytes]]) -> bytes:
    """A GGUF file: settings, and tensors as (GGML's type, array of its shape, its bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(settings))
    head += b"".join(_setting(name, value) for name, value in settings.items())
    data = b""
    for name, (kind, array, raw) in tensors.items():
        sides = array.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sides)}Q", len(sides), *sides)
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    return head + bytes(-len(head) % 32) + data


def gguf_llama(
    source: Path, target: Path, *, tokens: list[str] | None = None, parts: int = 1
) -> dict[str, ndarray]:
    """Write a tiny Llama as GGUF: matrices in Q8_0, norms in float32; return all its tensors.

    Rows of queries and keys are reordered as llama.cpp has them. Of several parts the first has the
    settings and no tensor, as llama-gguf-split can be told to write them.
    """
    from core.models.files.gguf import MODULES, OUTSIDE_LAYERS

    config = json.loads((source / "config.json").read_text())
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    names = {f"layers.{{}}.{module}": short for short, module in MODULES.items()}
    whole = {new.removeprefix("model."): old for old, new in OUTSIDE_LAYERS.items()}
    tensors: dict[str, tuple[int, ndarray, bytes]] = {}
    exact: dict[str, ndarray] = {}
    for name, tensor in load_file(source / "model.safetensors").items():
        values = tensor.float().numpy()
        if name in whole:
            old, short = whole[name], ""
        else:
            _, layer, rest = name.split(".", 2)
            module, _, kind = rest.rpartition(".")
            short = names[f"layers.{{}}.{module}"]
            old = f"blk.{layer}.{short}.{kind}"
        if values.ndim == 1:
            tensors[old] = (0, values, values.astype("<f4").tobytes())
            exact[name] = values
            continue
        _, exact[name] = q8_0(values)  # by rows, so that their order does not matter
        if short in heads:
            halves = values.reshape(heads[short], 2, -1, values.shape[1])
            values = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(values.shape))
        tensors[old] = (8, values, q8_0(values)[0])
    settings: dict[str, Any] = {
        "general.architecture": "llama",
        "llama.block_count": config["num_hidden_layers"],
        "llama.embedding_length": config["hidden_size"],
        "llama.feed_forward_length": config["intermediate_size"],
        "llama.attention.head_count": heads["attn_q"],
        "llama.attention.head_count_kv": heads["attn_k"],
        "llama.attention.key_length": config["head_dim"],
        "llama.attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "llama.context_length": config["max_position_embeddings"],
        "tokenizer.ggml.bos_token_id": 1,
    }
    if tokens:
        settings |= {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.merges": ["t h", "th e"],
            "tokenizer.ggml.token_type": [1] * len(tokens),
        }
    target.mkdir(parents=True, exist_ok=True)
    if parts == 1:
        (target / "model.gguf").write_bytes(gguf_file(settings, tensors))
        return exact
    for number in range(parts):
        said = {"split.no": number, "split.count": parts} | ({} if number else settings)
        share = list(tensors)[number - 1 :: parts - 1] if number else []
        name = f"model-{number + 1:05d}-of-{parts:05d}.gguf"
        (target / name).write_bytes(gguf_file(said, {name: tensors[name] for name in share}))
    return exact
