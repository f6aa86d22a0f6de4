"""Families of matrices: the roles of a checkpoint's tensors, query, key, value, output and
feed-forward, by layer. A family of models is added in `core/models/architectures`.

The architecture's description says which names mean what. Whatever stands before a name ("bert.",
"model.", "transformer.") is ignored, so a model with and without a head match.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from numpy import ndarray, shares_memory

from core.errors import ModelError, by_number
from core.models.architecture import ENCODER_ALONE, Architecture, Tensor, count
from core.models.architectures import class_in, describe_type

ROLES = (
    *("query", "key", "key-value", "value", "output-gate", "output", "decay", "beta"),
    *("router", "input-gate", "gate", "ff1", "ff2"),
)
PARTS = ("", "latent", "linear", "per-layer", "encoder", "decoder", "cross", "shared expert")
EVERY_LAYER = ("output", "ff2")  # roles without which nothing is a layer
EXPERT = re.compile(r"expert (\d+)")
# stacks of images and sounds, and of the prediction of further tokens, beside the layers
ELSEWHERE = re.compile(r"(?:^|\.)(?:vision_tower|vision_model|audio_tower|visual|mtp)\.")


def family_label(family: str) -> str:
    """A matrix family in words: "feed-forward 1" for ff1, "decoder feed-forward 2" for decoder ff2.

    Example:
        >>> family_label("query"), family_label("decoder ff2"), family_label("linear key")
        ('query', 'decoder feed-forward 2', 'linear-attention key')
    """
    label = re.sub(r"\bff(\d)\b", r"feed-forward \1", family)
    return re.sub(r"^linear ", "linear-attention ", label)


@dataclass(frozen=True)
class Part:
    """Rows of a fused tensor: one of the matrices that it stacks.

    Attributes:
        place: Which of them, from 0.
        sizes: Relative sizes of all of them.
        groups: How many times the row of them is repeated, as where each attention head has its own
            three.
        stacked: How many tensors of this kind lie one under another, as those of experts.
        member: Which of those it belongs to.
    """

    place: int
    sizes: tuple[int, ...] = (1, 1, 1)
    groups: int = 1
    stacked: int = 1
    member: int = 0

    def cut(self, matrix: Float[ndarray, "row column"]) -> Float[ndarray, "part column"]:
        """Cut its rows out of the whole tensor; raises ModelError if they cannot be so divided."""
        unit = self._unit(matrix.shape[0])
        start = unit * sum(self.sizes[: self.place])
        blocks = matrix.reshape(self.stacked, self.groups, -1, matrix.shape[1])[self.member]
        rows: ndarray = blocks[:, start : start + unit * self.sizes[self.place]]
        return rows.reshape(-1, matrix.shape[1])

    def count(self, rows: int) -> int:
        """Count its rows among those of the tensor. Raises ModelError as `cut` does."""
        return self.groups * self._unit(rows) * self.sizes[self.place]

    def _unit(self, rows: int) -> int:
        unit, rest = divmod(rows, self.stacked * self.groups * sum(self.sizes))
        if rest:
            raise ModelError(
                f"A fused tensor of {rows} rows does not hold {len(self.sizes)} matrices; "
                "it is damaged."
            )
        return unit


@dataclass(frozen=True)
class Slot:
    """One matrix of one layer, and its place in the checkpoint.

    Attributes:
        family: Role, after its part in an encoder-decoder ("query", "decoder query", "cross
            query").
        layer: From 0.
        tensor: Name of the tensor that holds it.
        transposed: Whether the file stores (input, output) instead of (output, input).
        part: Which rows of a fused tensor it is, or None where it has a tensor of its own.
        row_axes: How many of the stored axes number the rows, where there are more than two. If the
            tensor is also transposed, it is a stack of matrices (input, output).
        latent: Whether it reads a compressed vector rather than the layer's states.
    """

    family: str
    layer: int
    tensor: str
    transposed: bool = False
    part: Part | None = None
    row_axes: int = 1
    latent: bool = False

    def cut(self, tensor: Float[ndarray, "*shape"]) -> Float[ndarray, "output input"]:
        """Cut the matrix out of its tensor: outputs in rows, inputs in columns."""
        if self._turned:
            tensor = tensor.swapaxes(-1, -2)
        matrix = tensor if tensor.ndim == 2 else tensor.reshape(self._flat(tensor.shape))
        return self.cut_rows(matrix.T if self.transposed and not self._turned else matrix)

    def within(self, tensor: Float[ndarray, "*shape"]) -> Float[ndarray, "output input"]:
        """Find the matrix inside its tensor: what is written into it is written there; of a bias
        (output, 1), its rows. Raises ModelError if it does not lie there as it is, as where heads
        have blocks of their own."""
        matrix = self.cut_rows(tensor) if tensor.shape[-1] == 1 else self.cut(tensor)
        if not shares_memory(matrix, tensor):
            raise ModelError(
                f"{self.tensor} holds the {self.family} matrix in pieces, "
                "which cannot be changed in place; choose a model that stores it whole."
            )
        return matrix

    def add(self, tensor: Float[ndarray, "*shape"], change: Float[ndarray, "output input"]) -> None:
        """Add a change to the matrix, inside its tensor; raises ModelError as `within` does."""
        matrix = self.within(tensor)
        matrix += change.astype(matrix.dtype)

    def cut_rows(self, matrix: Float[ndarray, "all column"]) -> Float[ndarray, "output column"]:
        """Cut the matrix's rows out of a matrix with a row per output dimension of the tensor."""
        return matrix if self.part is None else self.part.cut(matrix)

    def shape(self, stored: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of the matrix, from the shape of its tensor."""
        rows, columns = self.whole(stored)
        return (rows if self.part is None else self.part.count(rows)), columns

    def whole(self, stored: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of the whole tensor, outputs in rows."""
        if self._turned:
            return self._flat((*stored[:-2], stored[-1], stored[-2]))
        flat = self._flat(stored)
        return flat[::-1] if self.transposed else flat

    @property
    def _turned(self) -> bool:
        """Whether each matrix of a stack is stored (input, output)."""
        return self.transposed and self.row_axes > 1

    def _flat(self, stored: tuple[int, ...]) -> tuple[int, int]:
        """Merge the axes of rows and those of columns."""
        return math.prod(stored[: self.row_axes]), math.prod(stored[self.row_axes :])


def find_slots(
    model_type: str, names: Iterable[str], config: Mapping[str, Any] | None = None
) -> tuple[Slot, ...]:
    """Find the matrices of a checkpoint by its tensors' names, ordered by family and layer; some
    types need the configuration to tell fused matrices apart. Raises ModelError if the type is not
    known, nothing matches, two tensors play one role, or a layer lacks a role."""
    slots = match_names(model_type, names, config)
    if not slots:
        raise ModelError(
            f"No tensor is named as in a {model_type}: the file does not hold its weights; "
            "choose another."
        )
    architecture = describe_type(model_type, "This model")
    _check_complete(slots, mixed=architecture.mixed)
    check_depth(architecture, slots, config or {})
    return tuple(sorted(slots.values(), key=lambda slot: (family_order(slot.family), slot.layer)))


def match_names(
    model_type: str, names: Iterable[str], config: Mapping[str, Any] | None = None
) -> dict[tuple[str, int], Slot]:
    """Find the matrices among tensors, by family and layer; layers may be incomplete. Raises
    ModelError if the type is not known, or two tensors play one role."""
    architecture = describe_type(model_type, "This model")
    readings = [
        (tensor, tensor.pattern, _parts(tensor, config or {})) for tensor in architecture.matrices
    ]
    # where more layers may be stored than count
    depth = _said_depth(architecture, config or {}) if architecture.mixed else 0
    slots: dict[tuple[str, int], Slot] = {}
    for name in names:
        if ELSEWHERE.search(name):
            continue
        for tensor, pattern, parts in readings:
            if not (hit := pattern.search(name)) or (depth and int(hit["layer"]) >= depth):
                continue
            for family, part in parts:
                role = family.replace("@", hit["expert"]) if "@" in tensor.name else family
                slot = Slot(
                    *(role, int(hit["layer"]), name, tensor.transposed, part),
                    *(tensor.row_axes, tensor.latent),
                )
                earlier = slots.setdefault((role, slot.layer), slot)
                if earlier is not slot:
                    raise ModelError(
                        f"{earlier.tensor} and {name} both look like the {role} matrix of layer "
                        f"{slot.layer}; a model with two towers cannot be compared as one; "
                        "choose another."
                    )
    return slots


def family_order(family: str) -> tuple[int, int]:
    """Sort families by part (encoder, decoder, cross, experts) and by role in a layer."""
    part, _, role = family.rpartition(" ")
    expert = EXPERT.fullmatch(part)
    return len(PARTS) + int(expert[1]) if expert else PARTS.index(part), ROLES.index(role)


def _parts(tensor: Tensor, config: Mapping[str, Any]) -> list[tuple[str, Part | None]]:
    """List the families in a tensor, and the rows of each."""
    if tensor.experts:
        experts = count(config, tensor.experts)
        equal = ((1,) * len(tensor.families), 1)
        sizes, groups = tensor.sizes(config) if tensor.sizes else equal
        return [
            (family.replace("@", str(expert)), Part(place, sizes, groups, experts, expert))
            for expert in range(experts)
            for place, family in enumerate(tensor.families)
        ]
    if tensor.sizes is None:
        return [(family, None) for family in tensor.families]
    sizes, groups = tensor.sizes(config)
    return [(family, Part(place, sizes, groups)) for place, family in enumerate(tensor.families)]


def _said_depth(architecture: Architecture, config: Mapping[str, Any], side: str = "") -> int:
    """Read how many layers the configuration says; 0 if it does not say."""
    names = architecture.layers
    if side == "decoder":
        names = f"{architecture.decoder_layers}|{names}"
    return int(next((config[key] for key in names.split("|") if config.get(key)), 0))


def check_depth(
    architecture: Architecture, slots: Iterable[tuple[str, int]], config: Mapping[str, Any]
) -> None:
    """Raise ModelError for matrices (family, layer) of more or fewer layers than the configuration
    says: a run would leave out the former and draw the latter at random."""
    sides = ("encoder", "decoder") if architecture.family == "encoder-decoder" else ("",)
    named = class_in(config)
    places = list(slots)
    for side in sides if not architecture.shared else ():
        if side == "decoder" and named.endswith(ENCODER_ALONE):
            continue
        held = len({layer for family, layer in places if not side or family.startswith(side)})
        depth = _said_depth(architecture, config, side)
        if depth and held != depth:
            of_side = f" of the {side}" if side else ""
            layers = by_number(held, "layer", "layers")
            raise ModelError(
                f"The file holds {held} {layers}{of_side}, and the configuration says {depth}: "
                "get the model again, or correct the configuration."
            )


def _check_complete(slots: Mapping[tuple[str, int], Slot], *, mixed: bool) -> None:
    """Refuse a file that lacks a matrix of a layer; of mixed layers, one that all have."""
    layers: dict[str, set[int]] = {}
    for family, layer in slots:
        part, _, role = family.rpartition(" ")
        if not mixed:
            layers.setdefault(family, set()).add(layer)
        elif role in EVERY_LAYER and part != "per-layer":
            layers.setdefault(role, set()).add(layer)
    for part in dict.fromkeys(family.rpartition(" ")[0] for family in layers):
        families = {
            family: seen for family, seen in layers.items() if family.rpartition(" ")[0] == part
        }
        depth = max(max(seen) for seen in families.values()) + 1
        for family, seen in families.items():
            if len(seen) != depth:
                missing = min(set(range(depth)) - seen)
                raise ModelError(
                    f"The file holds no {family} matrix for layer {missing}; it is incomplete."
                )
