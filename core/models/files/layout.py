"""Which files of a model are read: weights, configuration, tokenizer.

The names of the files decide, in a folder as on the Hub, so that every study reads the same ones.
The order is that of transformers: one safetensors file, the index of several, the same in PyTorch's
format. Only where none of these names is there, a single file of another name is taken, or numbered
parts without an index; GGUF comes last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import COMMAND
from core.errors import ModelError, by_number, listed

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
SAFETENSORS_INDEX = "model.safetensors.index.json"
PICKLED = "pytorch_model.bin"
PICKLED_INDEX = "pytorch_model.bin.index.json"
ADAPTER = "adapter_config.json"
FACTORS = "adapter_model"  # begins the names of an adapter's weights
GGUF = ".gguf"
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "spm.model",
)
BESIDE_TOKENIZER = 4  # of these files, read even with tokenizer.json
STANDARD = ((SAFETENSORS, SAFETENSORS_INDEX), (PICKLED, PICKLED_INDEX))
"""Names that transformers looks for, the first of them first."""
FORMATS = (".safetensors", ".bin", GGUF)
SHARD_NAME = re.compile(r"[A-Za-z0-9._-]+\.(safetensors|bin)")
PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5,6})-of-(?P<parts>\d{5,6})\.(?:safetensors|bin|gguf)")
PYTORCH = re.compile(r"pytorch_model.*\.bin")  # other .bin files hold settings of a training
PROJECTOR = re.compile(r"(?i)(?:.*[-_.])?mmproj(?:[-_.].*)?\.gguf")  # the image part of a model
MOST_NAMED = 3  # files named in a sentence


def refuse_gguf(name: str, folder: Path) -> None:
    """Raise ModelError where a folder has no configuration, as that of a GGUF file alone."""
    if not (folder / CONFIG).is_file():
        raise ModelError(f"{name} is a GGUF file: convert it first with `{COMMAND} convert`.")


@dataclass(frozen=True)
class Layout:
    """What the names of a model's files say.

    Attributes:
        source: Folder or repository, for messages.
        names: Of its files, without those in folders inside it.
        weights: Files that hold the weights; none where an index lists them.
        index: The file that lists them; "" without one.
        adapter: Whether it is an adapter without a model.
        problem: Why no weights can be read; "" if they can.
    """

    source: object
    names: frozenset[str]
    weights: tuple[str, ...] = ()
    index: str = ""
    adapter: bool = False
    problem: str = ""

    @property
    def format(self) -> str:
        """Ending of the files of weights; "" without weights."""
        if self.index:
            return FORMATS[self.index == PICKLED_INDEX]
        return next((end for end in FORMATS if self.weights and self.weights[0].endswith(end)), "")

    @property
    def config(self) -> str:
        """The file that holds the configuration, which is GGUF where there is no other."""
        alone = CONFIG not in self.names and self.format == GGUF
        return self.weights[0] if alone else CONFIG

    @property
    def tokenizer(self) -> list[str]:
        """Files of the tokenizer: tokenizer.json, or the vocabulary, or last the GGUF file; none
        without a tokenizer."""
        whole = TOKENIZER_FILES[0] in self.names
        readable = TOKENIZER_FILES[:BESIDE_TOKENIZER] if whole else TOKENIZER_FILES
        present = [name for name in readable if name in self.names]
        if any(name not in TOKENIZER_FILES[1:BESIDE_TOKENIZER] for name in present):
            return present
        return [*present, self.weights[0]] if self.format == GGUF else []

    def weight_files(self, read_index: Callable[[str], Mapping[str, Any]]) -> list[str]:
        """List the files of weights in loading order; an index is read by its name. Raises
        ModelError if there are none, or the index is damaged or lists a file that is not there."""
        if self.problem:
            raise ModelError(self.problem)
        if not self.index:
            return list(self.weights)
        shards = shard_names(read_index(self.index), f"{self.source}/{self.index}")
        for name in shards:
            if name not in self.names or not name.endswith(self.format):
                fault = f"not {self.format}" if name in self.names else "missing"
                raise ModelError(
                    f"{self.source} is incomplete: {name} is {fault}, and {self.index} lists it. "
                    "Get the model again, or choose another."
                )
        return shards

    def unread(self, files: Sequence[str]) -> list[str]:
        """List the files of weights, and of adapters, beside those that are read."""
        if self.adapter:
            return []
        read = {*files, self.index}
        return sorted(name for name in self.names if _holds_weights(name) and name not in read)


def lay_out(names: Iterable[str], source: object) -> Layout:
    """Decide by their names which files of a folder or repository, the `source`, are read."""
    held = frozenset(name for name in names if "/" not in name)
    for single, index in STANDARD:
        if single in held:
            return Layout(source, held, (single,))
        if index in held:
            return Layout(source, held, index=index)
    if ADAPTER in held:
        problem = f"{source} holds an adapter ({ADAPTER}) and no model: choose its base."
        return Layout(source, held, adapter=True, problem=problem)
    for ending in FORMATS:
        models = _models(held, ending)
        if not models:
            continue
        problem = _problem(models, ending, source)
        return Layout(source, held, () if problem else models[0], problem=problem)
    return Layout(source, held, problem=_without_weights(held, source))


def shard_names(index: Mapping[str, Any], source: object) -> list[str]:
    """List the file names in a sharded model's index, sorted. Raises ModelError if it lists none,
    or other than plain names."""
    listed = index.get("weight_map")
    names = list(listed.values()) if isinstance(listed, dict) else []
    if not names or not all(isinstance(name, str) and SHARD_NAME.fullmatch(name) for name in names):
        raise ModelError(
            f"{source} does not list plain file names of weights: "
            "it is damaged or unsafe, choose another."
        )
    return sorted(set(names))


def unread_notice(ref: str, unread: Sequence[str], files: Sequence[str]) -> str:
    """Say which files of weights, of `Layout.unread`, lie beside those that were read; "" if there
    are none."""
    if not unread:
        return ""
    were = by_number(len(unread), "was", "were")
    return (
        f"{ref} also holds {listed(unread, MOST_NAMED)}, which {were} not read: its weights are "
        f"those in {listed(files, MOST_NAMED)}."
    )


def inner_models(names: Iterable[str]) -> list[str]:
    """List the folders inside a folder or repository that hold a configuration."""
    return sorted(name.rpartition("/")[0] for name in names if name.endswith(f"/{CONFIG}"))


def _holds_weights(name: str) -> bool:
    """Whether a file holds weights or lists files of weights, in a format that is read here."""
    if name in (SAFETENSORS_INDEX, PICKLED_INDEX, ADAPTER) or name.startswith(FACTORS):
        return True
    return name.endswith((".safetensors", GGUF)) or PYTORCH.fullmatch(name) is not None


def _models(names: Iterable[str], ending: str) -> list[tuple[str, ...]]:
    """Group the files of a format whose names transformers does not look for by the model that
    they may be; numbered parts are one."""
    models: dict[str, list[str]] = {}
    for name in sorted(names):
        part = PART.fullmatch(name)
        if not name.endswith(ending) or name.startswith(FACTORS) or PROJECTOR.fullmatch(name):
            continue
        if part or ending != ".bin":
            models.setdefault(f"{part['stem']} {part['parts']}" if part else name, []).append(name)
    return [tuple(files) for files in models.values()]


def _problem(models: Sequence[tuple[str, ...]], ending: str, source: object) -> str:
    """Say why files of a format are not one model; "" if they are."""
    if len(models) > 1:
        firsts = listed([files[0] for files in models], MOST_NAMED)
        kind = ending.removeprefix(".")
        kind = kind.upper() if ending == GGUF else kind
        return (
            f"{source} holds {len(models)} {kind} files of weights ({firsts}), "
            "and no name says which is the model's: keep one of them there, as a model of its own."
        )
    parts = [part for part in map(PART.fullmatch, models[0]) if part]
    count = int(parts[0]["parts"]) if parts else 0
    if [int(part["part"]) for part in parts] == list(range(1, count + 1)):
        return ""
    there = listed(models[0], MOST_NAMED)
    return (
        f"{source} holds {len(parts)} of the {count} parts of its weights ({there}): put all of "
        "them there, and nothing else of that name."
    )


def _without_weights(names: Iterable[str], source: object) -> str:
    """Say what a folder or repository lacks that has no weights, and what it has instead."""
    if any(name.startswith(FACTORS) for name in names):
        return (
            f"{source} holds an adapter's weights without {ADAPTER}: "
            "put that beside them, or merge the adapter into its base."
        )
    if any(PROJECTOR.fullmatch(name) for name in names):
        return (
            f"{source} holds only the image part of a model (mmproj): "
            "put the GGUF file of its language model there."
        )
    return (
        f"{source}/{SAFETENSORS} is missing, and so are other weights that can be read: "
        "save the model there with save_pretrained, or choose another."
    )
