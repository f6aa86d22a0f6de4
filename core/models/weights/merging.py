"""LoRA adapters merged into their bases: models of their own, which every study runs.

Each tensor of an adapter finds its place, by role and layer where it belongs to a matrix of a layer
and by name elsewhere, or the adapter is refused by the tensor's name. The merged tensors are
calculated one at a time as they are written.

Reference: Hu et al. 2022, ICLR. Deviations: where the base uses its embeddings as output layer too,
merged embeddings are used for both, as after PEFT's merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.architectures import ARCHITECTURES
from core.models.files.adapters import ADAPTER_WEIGHTS, AdapterConfig, read_adapter
from core.models.files.checkpoints import read_config
from core.models.files.layout import refuse_gguf
from core.models.files.opening import numbers_of
from core.models.files.safetensors import LocalFile, Stored
from core.models.weights.factors import Sides, Sorted, product_of, sort_tensors, unplaced
from core.models.weights.matrix_families import match_names
from core.models.weights.tensors import Checkpoint, Names, open_checkpoint, open_folder

TWIN = (".decoder.bias", ".bias")  # a bias that transformers keeps under two names
Tensor = Float[ndarray, "*shape"]


@dataclass(frozen=True)
class Merged:
    """A tensor of the merged model: its shape, what makes it, and its type."""

    shape: tuple[int, ...]
    calculate: Callable[[], Tensor]
    dtype: str = "F32"

    def read(self) -> Tensor:
        """Calculate it."""
        return self.calculate().astype(np.float32, copy=False)


@dataclass
class Merge:
    """An adapter on its way into its base.

    Attributes:
        adapter, base: Their tensors.
        config: The adapter's.
        sorted: Names of the adapter's tensors by what they do.
        tensors: Of the merged model so far, by name.
        prefix: What the adapter's names have before those of the base.
        heads: Tensors of a head that the base has none of, by name.
        labels: Rows of matrices of a head that are not the base's.
        vocabulary: Rows of the embeddings, where the adapter holds others than the base; else 0.
        untied: Whether the adapter has an output layer that is no longer the embeddings.
    """

    adapter: Checkpoint
    base: Checkpoint
    config: AdapterConfig
    sorted: Sorted
    tensors: dict[str, Stored]
    prefix: str = ""
    heads: dict[str, Stored] = field(default_factory=dict)
    labels: list[int] = field(default_factory=list)
    vocabulary: int = 0
    untied: bool = False

    def read(self, name: str) -> Tensor:
        """Read one of the adapter's tensors. Raises ModelError as `Checkpoint.read` does."""
        return self.adapter.read(name).astype(np.float32)

    def refuse(self, name: str) -> ModelError:
        """Make the error of a tensor of the adapter, or a module, that has no place."""
        return unplaced(self.adapter.ref, name, self.base.ref)

    def place_of(self, name: str) -> str:
        """Find the base's tensor of this name, or the only one whose name has a longer or shorter
        prefix; "" if there is none."""
        twin = name.removesuffix(TWIN[0]) + TWIN[1] if name.endswith(TWIN[0]) else name
        return self._names.find(name) or self._names.find(twin)

    @cached_property
    def _names(self) -> Names:
        return Names(self.base.entries)

    @cached_property
    def embedding(self) -> str:
        """Name of the base's token embedding; "" if it has none."""
        return self.place_of(f"{ARCHITECTURES[self.base.model_type].embedding}.weight")

    @cached_property
    def words(self) -> str:
        """Name of the adapter's token embedding; "" if it holds none."""
        whole = self.sorted.whole.items()
        return next((name for place, name in whole if self.is_embedding(place)), "")

    @cached_property
    def rows(self) -> str:
        """Name of the rows that the adapter puts into the token embedding; "" if it holds none."""
        tokens = self.sorted.tokens.items()
        return next((name for each, name in tokens if self.is_embedding(f"{each}.weight")), "")

    def is_embedding(self, place: str) -> bool:
        """Whether a place is that of the token embedding."""
        return self.embedding != "" and self.place_of(place) == self.embedding

    @property
    def ties(self) -> bool:
        """Whether the base uses its embeddings as output layer, as its configuration says."""
        return self.base.config.get("tie_word_embeddings", True) is not False


def merge(adapter: Path, base: Path) -> Merge:
    """Find the place of each tensor of an adapter in its base, by their folders. Raises ModelError
    if one has no place or another shape than its place, or a file of either is damaged."""
    settings = read_config(base)
    refuse_gguf(base.name, base)
    config = read_adapter(adapter)
    held = open_checkpoint(adapter.name, {}, [LocalFile(adapter / ADAPTER_WEIGHTS)])
    opened = open_folder(base.name, base, settings)
    whole = Checkpoint(base.name, settings, numbers_of(opened.entries))
    tensors: dict[str, Stored] = {
        name: Merged(entry.shape, partial(whole.read, name))
        for name, entry in whole.entries.items()
    }
    merging = Merge(held, whole, config, sort_tensors(held.entries, adapter.name), tensors)
    if not (merging.sorted.linear or merging.sorted.embedded):
        raise ModelError(f"{adapter.name} has no factors: get the adapter again.")
    for place, name in merging.sorted.whole.items():
        _put_whole(merging, place, name)
    _add_factors(merging)
    for module, name in merging.sorted.tokens.items():
        _put_rows(merging, module, name)
    _leave_out_copies(merging)
    return merging


def _put_whole(merging: Merge, place: str, name: str) -> None:
    """Put a tensor that the adapter holds whole in the place of the base's, or keep it as part of a
    head where the base has none. Raises ModelError if it has no place or does not fit it."""
    shape = merging.adapter.entries[name].shape
    tensor = Merged(shape, lambda: merging.read(name))
    target, saved = merging.place_of(place), merging.config.holds_whole(place)
    before, resized = merging.base.entries[target].shape if target else None, False
    if before is None:
        if _repeats(merging, name, merging.words):
            return
        if not saved:
            raise merging.refuse(place)
        words = merging.base.entries.get(merging.embedding)
        merging.untied |= words is not None and shape == words.shape
        merging.heads[place] = tensor
    elif shape != before:
        resized = shape[1:] == before[1:] and before[:1] == (merging.base.config.get("vocab_size"),)
        if not (resized or saved):
            raise merging.refuse(place)
        merging.vocabulary = shape[0] if resized else merging.vocabulary
    if len(shape) == 2 and saved and shape != before and not resized:
        merging.labels.append(shape[0])
    if target:
        merging.tensors[target] = tensor
    if saved and merging.is_embedding(place):
        _keep_output(merging, place)


def _repeats(merging: Merge, name: str, first: str) -> bool:
    """Whether a tensor is what the adapter puts into the token embedding (tensor `first`, if any),
    for the output layer that is tied to it."""
    shapes = {merging.adapter.entries[each].shape for each in (first, name) if each}
    alike = merging.ties and first != "" and len(shapes) == 1
    return alike and np.array_equal(merging.read(first), merging.read(name))


def _keep_output(merging: Merge, place: str) -> None:
    """Keep the base's embeddings as output layer where the adapter trained a copy of them, which
    PEFT ties to it on request only. Raises ModelError if that output layer has no weight of its
    own."""
    architecture = ARCHITECTURES[merging.base.model_type]
    output = f"{architecture.head}.weight"
    if merging.config.tied or not merging.ties or output in merging.sorted.whole:
        return
    if architecture.family != "decoder":
        raise merging.refuse(place)
    words = merging.base.entries[merging.embedding]
    merging.tensors[output] = Merged(words.shape, words.read)
    merging.untied = True


def _add_factors(merging: Merge) -> None:
    """Add the products of factors: to matrices of layers, which may be stored fused or transposed,
    and to other linear layers and embeddings. Raises ModelError if one fits no weight."""
    base = merging.base
    linear = {f"{module}.weight": module for module in merging.sorted.linear}
    ours = match_names(base.model_type, base.entries, base.config)
    theirs = match_names(base.model_type, linear, base.config)
    slots = {slot.tensor: ours.get(key) for key, slot in theirs.items()}
    for name, module in linear.items():
        slot = slots.get(name)
        if name in slots and slot is None:
            raise merging.refuse(module)
        target = slot.tensor if slot is not None else merging.place_of(name)
        if slot is None:
            _refuse_shared(merging, module, target)
        elif name.endswith(f".{target}"):
            merging.prefix = name.removesuffix(target)
        turned = slot is not None and slot.transposed
        _add(merging, module, target, merging.sorted.linear[module], turned=turned)
    for module, sides in merging.sorted.embedded.items():
        _add(merging, module, merging.place_of(f"{module}.weight"), sides, turned=True)


def _add(merging: Merge, module: str, target: str, sides: Sides, *, turned: bool) -> None:
    """Add a product of factors to the tensor `target`, `turned` if it is stored (input, output), as
    embeddings are. Raises ModelError if there is none, it has another shape, or a factor is
    missing."""
    if not target:
        raise merging.refuse(module)
    added = product_of(merging.config, module, sides, merging.adapter.ref)
    origin = merging.tensors[target]
    shape = origin.shape[::-1] if turned else origin.shape
    if len(shape) != 2 or not added.fits(merging.adapter, *shape):
        raise merging.refuse(module)

    def calculate() -> Tensor:
        left, right = added.read(merging.adapter)
        product = left @ right.T
        weight = np.array(origin.read(), dtype=np.float32)
        weight += (product.T if turned else product).astype(np.float32)
        return weight

    merging.tensors[target] = Merged(origin.shape, calculate)


def _refuse_shared(merging: Merge, module: str, target: str) -> None:
    """Raise ModelError for a change of a linear layer that the base uses as another, too."""
    base, entries = merging.base, merging.base.entries
    alike = [name for name in entries if target and entries[name].shape == entries[target].shape]
    for name in alike:
        if name != target and np.array_equal(base.read(name), base.read(target)):
            raise ModelError(
                f"{merging.adapter.ref} changes {module}, which {base.ref} shares with {name}: "
                "save the base with weights of its own for each, and choose that."
            )


def _put_rows(merging: Merge, module: str, name: str) -> None:
    """Put the rows of an embedding that were trained in the place of the base's. Raises ModelError
    if there is no such embedding, or they do not fit it."""
    target, rows = merging.place_of(f"{module}.weight"), list(merging.config.tokens_of(module))
    origin = merging.tensors.get(target)
    if origin is None and _repeats(merging, name, merging.rows):
        return
    shape = merging.adapter.entries[name].shape
    fits = origin is not None and rows and shape == (len(rows), *origin.shape[1:])
    if origin is None or not fits or max(rows) >= origin.shape[0]:
        raise merging.refuse(module)

    def calculate() -> Tensor:
        weight = np.array(origin.read(), dtype=np.float32)
        weight[rows] = merging.read(name)
        return weight

    merging.tensors[target] = Merged(origin.shape, calculate)


def _leave_out_copies(merging: Merge) -> None:
    """Leave out copies of changed embeddings that transformers makes anew, as they are tied."""
    words, base = merging.embedding, merging.base
    named = (*merging.sorted.tokens, *merging.sorted.embedded)
    places = [*(f"{module}.weight" for module in named), *merging.sorted.whole]
    changed = {merging.place_of(place) for place in places}
    if words not in changed or not merging.ties or merging.untied:
        return
    before = base.read(words)
    for name, entry in base.entries.items():
        alone = name not in changed and entry.shape == before.shape
        if alone and np.array_equal(base.read(name), before):
            del merging.tensors[name]
