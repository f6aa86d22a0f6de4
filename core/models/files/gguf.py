"""GGUF files: a checked header, then tensors one at a time, under the names of transformers.

The metadata stand in for config.json where there is none. llama.cpp reorders the rows of Llama's
queries and keys for its own rotation; here they are put back.

Reference: the GGUF format, versions 2 and 3. Deviations: little-endian files; of lists of
texts, such as the vocabulary, and of long ones, only their length is kept.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.limits import UNLIMITED
from core.models.files.blocks import TYPES, BlockTensor
from core.models.files.safetensors import LocalFile, damaged
from core.runs.process.parsing import MOST_MEMORY
from core.runs.process.remembered import READ_FILES, file_state, remembered

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 100_000  # tensors, and settings
MOST_TEXT = 1_000_000  # characters of a name or a setting, such as a chat template
MOST_AXES = 8
MOST_ITEMS = 2_000_000  # of all lists; a vocabulary of 262,000 pieces and its merges are a third
ENTRY, NUMBER, CHARACTER = 500, 40, 4  # bytes that a name, setting or place takes at most
MOST_KEPT = 1_000  # items of a list of numbers, such as one per layer
ALIGNMENT = 32  # bytes, unless the file says otherwise
TEXT, LIST = 8, 9
FORMATS = dict(enumerate(("B", "b", "H", "h", "I", "i", "f", "?", "", "", "Q", "q", "d")))
CLASSES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
"""Architectures whose tensors are renamed; the model types are called the same."""
REORDERED = "llama"
LAYER = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
MODULES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTSIDE_LAYERS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
ROTATION = "rope_freqs.weight"
PARTS = "split.count"  # setting of a file that is a part of a model
VOCABULARY = "tokenizer.ggml."  # first part of the settings of a tokenizer


@dataclass(frozen=True)
class Header:
    """What a GGUF file says before its numbers.

    Attributes:
        settings: By name; of a list of texts, or a long one, how many there are.
        tensors: Type, shape (outputs first), place and file, by GGUF's name.
    """

    settings: Mapping[str, Any]
    tensors: Mapping[str, tuple[int, tuple[int, ...], int, Path]]


class _Reader:
    """Reads a header's values one after the other."""

    def __init__(self, data: mmap.mmap, room: int) -> None:
        self.data, self.place = data, 0
        self.items, self.room = MOST_ITEMS, room  # that lists may have, and bytes for what is kept

    def keep(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise ValueError("a header of more bytes than any model's")

    def numbers(self, code: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{code}", self.data, self.place)
        self.place += struct.calcsize(f"<{code}")
        return values

    def number(self, code: str) -> Any:
        return self.numbers(code)[0]

    def count(self, most: int) -> int:
        value = int(self.number("Q"))
        if value > most:
            raise ValueError(f"{value} entries")
        return value

    def text(self, wanted: bool = True) -> str:
        """Read a text, or pass over it."""
        size = self.count(MOST_TEXT)
        self.skip(size)
        if not wanted:
            return ""
        self.keep(ENTRY + CHARACTER * size)
        return self.data[self.place - size : self.place].decode("utf8", "replace")

    def skip(self, size: int) -> None:
        self.place += size
        if self.place > len(self.data):
            raise ValueError("it ends within a name or a list")

    def value(self, kind: int, whole: bool = False) -> Any:
        """Read a value; of lists only how long they are, unless they are asked for whole."""
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            return self.number(FORMATS[kind])
        inner, size = self.number("I"), self.count(self.items)
        self.items -= size
        if inner == TEXT:
            texts = (self.text(whole) for _ in range(size))
            return [*texts] if whole else sum(1 for _ in texts)
        code = f"{size}{FORMATS[inner]}"
        if whole or size <= MOST_KEPT:
            self.keep(NUMBER * size)
            return list(self.numbers(code))
        self.skip(struct.calcsize(f"<{code}"))
        return size


@contextmanager
def _opened(path: Path, room: int = MOST_MEMORY) -> Iterator[tuple[_Reader, int, int]]:
    """Open a GGUF file before its first setting: a reader, how many tensors, how many settings.
    What is read may take `room` bytes; raises ModelError if the file, or what the block reads of
    it, is damaged."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            reader = _Reader(data, room)
            if data[:4] != MAGIC:
                raise ValueError("it does not begin as one")
            reader.place = len(MAGIC)
            version = reader.number("I")
            if version not in VERSIONS:
                raise ValueError(f"version {version}")
            yield reader, reader.count(MOST_ENTRIES), reader.count(MOST_ENTRIES)
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror}): get it again.") from error
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise damaged(path, f"not a GGUF file: {str(error)[:80]}") from error


@remembered(READ_FILES, state=file_state)
def read_gguf(path: Path) -> Header:
    """Read the header of a GGUF file, without its vocabulary. Raises ModelError if it is damaged or
    holds tensors of a type that is not read."""
    with _opened(path) as (reader, tensors, settings):
        metadata = {reader.text(): reader.value(reader.number("I")) for _ in range(settings)}
        places = dict(_place(reader) for _ in range(tensors))
        step = metadata.get("general.alignment", ALIGNMENT)
        if type(step) is not int or step < 1:
            raise ValueError(f"an alignment of {step}")
        begin = -(-reader.place // step) * step
        size = len(reader.data)
    placed = {
        name: (kind, shape, begin + start, path) for name, (kind, shape, start) in places.items()
    }
    for name, (kind, shape, start, _) in placed.items():
        if kind not in TYPES:
            raise ModelError(
                f"{path} holds {name[:80]} in GGML's type {kind}, which is not read: "
                f"choose a file in one of {', '.join(block.name for block in TYPES.values())}."
            )
        block = TYPES[kind]
        end = start + math.prod(shape) // block.numbers * block.size
        if 0 in shape or shape[-1] % block.numbers or end > size:
            raise damaged(path, f"{name[:80]} does not fit")
    return Header(metadata, placed)


def _place(reader: _Reader) -> tuple[str, tuple[int, tuple[int, ...], int]]:
    name = reader.text()
    axes = int(reader.number("I"))
    if not 1 <= axes <= MOST_AXES:
        raise ValueError(f"{axes} axes")
    shape = tuple(int(side) for side in reversed(reader.numbers(f"{axes}Q")))
    return name, (int(reader.number("I")), shape, int(reader.number("Q")))


def gguf_vocabulary(path: Path) -> dict[str, Any]:
    """Read the settings of a GGUF file, those of its tokenizer with their whole lists: in a process
    of its own, whose memory is limited. Raises ModelError if the file is damaged."""
    metadata: dict[str, Any] = {}
    with _opened(path, UNLIMITED) as (reader, _, settings):
        for _ in range(settings):
            name = reader.text()
            metadata[name] = reader.value(reader.number("I"), whole=name.startswith(VOCABULARY))
    return metadata


def read_parts(paths: Sequence[Path]) -> Header:
    """Read the headers of a model's parts as one, or refuse them if some are missing."""
    header = read_gguf(paths[0])
    parts = header.settings.get(PARTS, 0)
    if parts not in (0, len(paths)):
        raise ModelError(
            f"{paths[0]} is one of {str(parts)[:20]} parts of a model: put all parts there under "
            "their own names, or merge them with llama-gguf-split --merge."
        )
    tensors = {name: place for path in paths for name, place in read_gguf(path).tensors.items()}
    return Header(header.settings, tensors)


def gguf_config(paths: Sequence[Path]) -> dict[str, Any]:
    """Make a configuration from the metadata of a GGUF file or its parts, as config.json has it.
    Raises ModelError if a file is damaged, of an unknown architecture, or scales its rotation,
    which only config.json says."""
    path, header = paths[0], read_parts(paths)
    kind = _architecture(path, header)

    def setting(name: str, default: Any = None) -> Any:
        return header.settings.get(f"{kind}.{name}", default)

    if ROTATION in header.tensors or setting("rope.scaling.type", "none") != "none":
        raise ModelError(
            f"{path} scales its rotary positions in a way that it does not say: "
            "put the model's config.json beside it."
        )
    if "token_embd.weight" not in header.tensors:
        raise damaged(path, "without an embedding")
    rotation = {"rope_type": "default", "rope_theta": setting("rope.freq_base", 10_000.0)}
    config = {
        "model_type": kind,
        "architectures": [CLASSES[kind]],
        "num_hidden_layers": setting("block_count"),
        "hidden_size": setting("embedding_length"),
        "intermediate_size": setting("feed_forward_length"),
        "num_attention_heads": setting("attention.head_count"),
        "num_key_value_heads": setting("attention.head_count_kv", setting("attention.head_count")),
        "head_dim": setting("attention.key_length"),
        "rms_norm_eps": setting("attention.layer_norm_rms_epsilon"),
        "rope_parameters": rotation,
        "max_position_embeddings": setting("context_length"),
        "vocab_size": header.tensors["token_embd.weight"][1][0],
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "attention_bias": "blk.0.attn_q.bias" in header.tensors if kind == "llama" else None,
        **{
            f"{name}_token_id": header.settings.get(f"tokenizer.ggml.{name}_token_id")
            for name in ("bos", "eos")
        },
        "pad_token_id": header.settings.get("tokenizer.ggml.padding_token_id"),
    }
    return {name: value for name, value in config.items() if value is not None}


def gguf_entries(paths: Sequence[Path]) -> dict[str, BlockTensor]:
    """List the tensors of a GGUF file or its parts, under transformers' names. Raises ModelError if
    a file is damaged, or of an unknown architecture."""
    path, header = paths[0], read_parts(paths)
    kind = _architecture(path, header)
    heads = header.settings.get(f"{kind}.attention.head_count", 0)
    shared = header.settings.get(f"{kind}.attention.head_count_kv", heads)
    reordered = {"attn_q": heads, "attn_k": shared} if kind == REORDERED else {}
    entries = {}
    for name, (block, shape, start, file) in header.tensors.items():
        hit = LAYER.fullmatch(name)
        module = MODULES.get(hit[2]) if hit else None
        new = (
            f"model.layers.{hit[1]}.{module}.{hit[3]}"
            if hit and module
            else OUTSIDE_LAYERS.get(name)
        )
        if new is None:
            if name == ROTATION:
                continue
            raise ModelError(
                f"{path} holds {name[:80]}, which a {kind} does not have: "
                "choose the model in safetensors."
            )
        count = reordered.get(hit[2]) if hit else None
        fits = isinstance(count, int) and count > 0 and shape[0] % (2 * count) == 0
        if count is not None and not fits:
            raise damaged(path, f"{name[:80]} does not hold {str(count)[:20]} heads")
        entries[new] = BlockTensor(LocalFile(file), block, shape, start, count or 0)
    return entries


def _architecture(path: Path, header: Header) -> str:
    kind = header.settings.get("general.architecture")
    if kind not in CLASSES:
        raise ModelError(
            f"{path} is of GGUF architecture {str(kind)[:40]!r}, whose tensors are not described "
            f"here: choose one of {', '.join(CLASSES)}, or the model in safetensors."
        )
    return str(kind)
