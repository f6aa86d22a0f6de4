"""Models whose layers are read from the disk one at a time, each when it is run.

The model is made without memory for its weights. What stands outside its stack of layers (norms,
positions, a pooler) is read at once. A layer's weights are read before it runs and dropped after it
has run, and of the token embedding only the rows of the tokens at hand are read, so that one layer
is in memory; the last matrix of a language model is read a block of tokens at a time. transformers'
own loader puts a layer's tensors in their places, so that what it renames, merges and splits is as
in the whole model, and the numbers are the same. Quantised weights are dequantised as they are
read.

Deviations: of a random control each layer is drawn with a seed of its own, so its
weights are others than those of a control that is drawn as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import ModelError
from core.maths.seeding import seeded
from core.models.architectures import ARCHITECTURES
from core.models.describing import RANDOM_SEED, ModelInfo
from core.models.files import checkpoints
from core.models.files.opening import numbers_of, open_weights
from core.models.files.safetensors import NUMBERS, Entry, Stored
from core.models.loading.construction import make_empty
from core.models.loading.layers import body_of, module_at, stack_of
from core.models.loading.reading import (
    forget_quantisation,
    loading_settings,
    put_tensors,
    read_tensors,
    refuse_misfits,
)
from core.runs.process.memory import free_memory

BLOCK = 2**22  # numbers of a last matrix that are held at once
META = "meta"  # torch's device of tensors without memory
Blank = tuple[nn.Module, str, Tensor]  # a module, the name of a weight in it, and its shape


@dataclass
class Layerwise:
    """The weights of a model whose layers are on the disk.

    Attributes:
        model: Its layers and its token embedding have no memory while they do not run.
        layers: Its stack.
        tensors: Stored tensors of each layer, by name; empty where weights are drawn.
        table: The stored token embedding; None where it is read as a whole.
        head: The stored last matrix of a language model; None where it is read as a whole.
        settings: How transformers' loader puts tensors into the model.
        device: Where layers run.
        blanks: Weights of each layer without memory.
        held: Layers that stay in memory although they do not run.
    """

    model: Any
    layers: nn.ModuleList
    tensors: list[dict[str, Stored]]
    settings: Any
    device: str
    table: Entry | None = None
    head: Entry | None = None
    blanks: list[list[Blank]] = field(default_factory=list)
    held: set[int] = field(default_factory=set)

    def place(
        self, entries: Mapping[str, Stored], embedding: nn.Module | None
    ) -> dict[str, Stored]:
        """Note which stored tensors are read with which layer; return those outside of them."""
        homes = _homes(self.model, entries, self.settings.weight_mapping)
        for layer in self.layers:
            prefix = f"{_path(self.model, layer)}."
            names = [name for name, home in homes.items() if home.startswith(prefix)]
            self.tensors.append({name: entries[name] for name in names})
        inside = set().union(*self.tensors)
        self.table = self._rows_of(embedding, homes, entries, inside)
        last = last_matrix(self.model)
        self.head = self._rows_of(last, homes, entries, inside)
        tied = last is not None and last.weight is getattr(embedding, "weight", None)
        if tied and self.head is None:
            self.head = self.table
        return {name: entry for name, entry in entries.items() if name not in inside}

    def _rows_of(
        self,
        module: nn.Module | None,
        homes: Mapping[str, str],
        entries: Mapping[str, Stored],
        inside: set[str],
    ) -> Entry | None:
        """Find the stored matrix of a module if its rows can be read singly; add it to `inside`."""
        if not isinstance(module, nn.Embedding | nn.Linear):
            return None
        home = f"{_path(self.model, module)}.weight"
        names = [name for name, place in homes.items() if place == home]
        entry = entries[names[0]] if len(names) == 1 else None
        if not isinstance(entry, Entry) or entry.dtype not in NUMBERS:
            return None
        if entry.shape != tuple(module.weight.shape):
            return None
        inside.add(names[0])
        return entry

    def head_rows(self, start: int, stop: int) -> Tensor:
        """Read the rows from `start` up to `stop` of the last matrix, (token, width). Raises
        ModelError if they cannot be read."""
        assert self.head is not None
        rows = torch.from_numpy(np.require(self.head.read_block(start, stop), requirements="W"))
        return rows.to(device=self.device, dtype=self.settings.dtype)

    @contextmanager
    def holding(self, number: int) -> Iterator[nn.Module]:
        """Keep a layer in memory for the block, however often it runs."""
        self.fill(number)
        self.held.add(number)
        try:
            yield self.layers[number]
        finally:
            self.held.discard(number)
            self.drop(number)

    def fill(self, number: int) -> None:
        """Read a layer's weights into memory; raises ModelError if one of them cannot be read."""
        if number in self.held:
            return
        if self.tensors:
            tensors = read_tensors(self.tensors[number], self.settings.dtype)
            put_tensors(self.model, tensors, self.settings)
        else:
            self._draw(number)
        self.layers[number].requires_grad_(False)

    def drop(self, number: int) -> None:
        """Give back the memory of a layer's weights."""
        if number not in self.held:
            for module, name, blank in self.blanks[number]:
                setattr(module, name, blank)

    def _draw(self, number: int) -> None:
        """Draw a layer's weights in float32, the same for a configuration each time."""
        layer = self.layers[number]
        for module, name, blank in self.blanks[number]:
            value = torch.zeros_like(blank, dtype=torch.float32, device="cpu")
            setattr(module, name, nn.Parameter(value) if isinstance(blank, nn.Parameter) else value)
        with torch.no_grad(), seeded(RANDOM_SEED + 1 + number):
            for module in layer.modules():
                self.model._init_weights(module)
        layer.to(device=self.device, dtype=self.settings.dtype)

    def attach(self, embedding: nn.Module | None) -> None:
        """Make each layer read its weights when it runs, and the embedding and the last matrix
        their rows."""
        for number, layer in enumerate(self.layers):
            self.blanks.append(_blanks(layer))
            layer.register_forward_pre_hook(lambda *_, number=number: self.fill(number))
            layer.register_forward_hook(
                lambda *_, number=number: self.drop(number), always_call=True
            )
        if self.table is not None and embedding is not None:
            _read_rows_for(embedding, self.table, self.settings.dtype, self.device)
        if self.head is not None:
            _read_blocks_for(last_matrix(self.model), self.head_rows)


def open_layerwise(
    factory: Any,
    folder: Path,
    config: Any,
    options: Mapping[str, Any],
    device: str,
    info: ModelInfo,
    *,
    random: bool = False,
) -> tuple[Layerwise, dict[str, Any]]:
    """Make a model without its layers' weights, which are drawn if `random`; return it and what
    transformers reports of missing and unexpected weights. Raises ModelError if a tensor cannot be
    read, or two layers do not fit the free memory."""
    forget_quantisation(config)
    model = make_empty(factory, config, **options)
    body, architecture = body_of(model), ARCHITECTURES[info.model_type]
    stack, embedding = stack_of(body, architecture), module_at(body, architecture.embedding)
    _check_memory(info, stack)
    here, nowhere = (
        loading_settings(model, folder, options["dtype"], place) for place in (device, META)
    )
    weights = Layerwise(model, stack, [], here, device)
    if random:
        report = put_tensors(model, {}, nowhere)
        inner = f"{_path(model, stack)}."  # what is outside the layers is drawn as if missing
        report.missing_keys = {key for key in report.missing_keys if not key.startswith(inner)}
    else:
        entries = numbers_of(open_weights(folder, checkpoints.read_config(folder)))
        rest = weights.place(entries, embedding)
        absent = {
            name: torch.empty(entry.shape, device=META)
            for name, entry in entries.items()
            if name not in rest
        }
        report = put_tensors(model, absent, nowhere)
        present = read_tensors(rest, options["dtype"])
        outside = put_tensors(model, present, here)
        report.missing_keys &= outside.missing_keys
        report.unexpected_keys |= outside.unexpected_keys
        report.mismatched_keys |= outside.mismatched_keys
    refuse_misfits(folder, report.to_dict())
    with seeded(RANDOM_SEED):
        report = type(model)._finalize_model_loading(model, here, report)
    weights.attach(embedding)
    return weights, {**report.to_dict(), **({"missing_keys": ()} if random else {})}


def _check_memory(info: ModelInfo, stack: nn.ModuleList) -> None:
    """Refuse a model of which two layers do not fit the free memory."""
    largest = max(sum(w.numel() * w.element_size() for w in layer.parameters()) for layer in stack)
    if 2 * largest > free_memory():
        raise ModelError(
            f"Two layers of {info.ref} take {2 * largest / 1e9:,.1f} GB of memory, "
            f"and {free_memory() / 1e9:,.1f} GB are free: "
            "close other programs, or choose a smaller model."
        )


def _path(model: nn.Module, part: nn.Module) -> str:
    """Find the name of a module in a model."""
    return next(str(name) for name, module in model.named_modules() if module is part)


def _homes(model: Any, entries: Mapping[str, Stored], mapping: list[Any]) -> dict[str, str]:
    """Find the model's weight that a stored tensor belongs to, as transformers' loader does."""
    from transformers.core_model_loading import (
        WeightConverter,
        WeightRenaming,
        rename_source_key,
    )

    renamings = [entry for entry in mapping if isinstance(entry, WeightRenaming)]
    converters = [entry for entry in mapping if isinstance(entry, WeightConverter)]
    state = model.state_dict()
    prefix = model.base_model_prefix
    homes = {}
    for name in entries:
        home, _ = rename_source_key(name, renamings, converters, prefix, state)
        if home not in state and name in state:
            home, _ = rename_source_key(name, [], [], prefix, state)
        homes[name] = home
    return homes


def last_matrix(model: Any) -> nn.Linear | None:
    """Return the matrix that gives a language model's logits; None if it has none."""
    find = getattr(model, "get_output_embeddings", None)
    last = find() if find is not None else None
    return last if isinstance(last, nn.Linear) else None


def blocks_of(last: nn.Linear) -> list[tuple[int, int]]:
    """Cut the tokens of a last matrix into blocks, each with its first token and the one behind."""
    tokens, block = last.out_features, max(1, BLOCK // last.in_features)
    return [(start, min(start + block, tokens)) for start in range(0, tokens, block)]


def _blanks(layer: nn.Module) -> list[Blank]:
    """List the weights of a layer, none of which has memory."""
    blanks = []
    for path in layer.state_dict():
        where, _, name = path.rpartition(".")
        module = layer.get_submodule(where)
        blanks.append((module, name, getattr(module, name).to(META)))
    return blanks


def _read_rows_for(embedding: Any, table: Entry, dtype: torch.dtype, device: str) -> None:
    """Make an embedding read the rows of the tokens that it is given, and no others."""
    blank, padding = embedding.weight, embedding.padding_idx

    def fill(module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        tokens, places = torch.unique(given[0], return_inverse=True)
        rows = torch.from_numpy(table.read_rows(tokens.tolist()))
        module.weight = nn.Parameter(rows.to(device=device, dtype=dtype), requires_grad=False)
        module.padding_idx = None  # numbers a row that may not be there
        return (places, *given[1:])

    def drop(module: Any, given: tuple[Any, ...], output: Any) -> None:
        module.weight, module.padding_idx = blank, padding

    embedding.register_forward_pre_hook(fill)
    embedding.register_forward_hook(drop, always_call=True)


def _read_blocks_for(head: Any, rows: Callable[[int, int], Tensor]) -> None:
    """Make a last matrix read itself a block of tokens at a time when it runs."""

    def forward(states: Tensor) -> Tensor:
        parts = []
        for start, stop in blocks_of(head):
            bias = None if head.bias is None else head.bias[start:stop]
            parts.append(nn.functional.linear(states, rows(start, stop), bias))
        return torch.cat(parts, -1)

    head.forward = forward
