"""An adapter's tensors: what each of them, by its name, does to the model that it is merged into.

Reference: Hu et al. 2022, ICLR (LoRA); the names are those that PEFT saves. Deviations: names as
they are inside a model in training (`modules_to_save.default`) are read, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError
from core.models.files.adapters import WRAPPER, AdapterConfig
from core.models.weights.tensors import Checkpoint

FACTOR = re.compile(r"(?P<module>.+)\.lora_(?P<side>[AB])(?:\.(?P<adapter>[^.]+))?\.weight")
EMBEDDING_FACTOR = re.compile(
    r"(?P<module>.+)\.lora_embedding_(?P<side>[AB])(?:\.(?P<adapter>[^.]+))?"
)
TOKENS = re.compile(
    r"(?P<module>.+)\.token_adapter\.trainable_tokens_delta(?:\.(?P<adapter>[^.]+))?"
)
ADDED = (".lora_", ".trainable_tokens_")  # in names of what is added to a model, of whatever kind
ORIGINAL = ".original_module."  # the base's own, beside a module that is saved whole
INSIDE = re.compile(
    r"\.modules_to_save\.(?:default\.|[^.]+\.(?=[^.]+$))?|\.(?:token_adapter\.)?base_layer\."
)
"""What PEFT puts into the names of tensors that an adapter holds whole."""
LONGEST_NAME = 300  # characters of a tensor's name
Sides = dict[str, str]
Factors = tuple[Float[ndarray, "output rank"], Float[ndarray, "input rank"]]


@dataclass(frozen=True)
class Product:
    """What an adapter adds to a matrix: its module, names of factors, scaling and rank."""

    module: str
    lower: str
    upper: str
    scaling: float
    rank: int

    def fits(self, factors: Checkpoint, rows: int, columns: int) -> bool:
        """Whether the factors are those of a matrix of this shape."""
        upper, lower = (factors.entries[name].shape for name in (self.upper, self.lower))
        return (upper, lower) == ((rows, self.rank), (self.rank, columns))

    def read(self, factors: Checkpoint) -> Factors:
        """Read the factors, the first one scaled."""
        upper, lower = (factors.read(name).astype(np.float64) for name in (self.upper, self.lower))
        return self.scaling * upper, lower.T


def product_of(config: AdapterConfig, module: str, sides: Sides, source: object) -> Product:
    """Describe what an adapter adds to a module's matrix; raises ModelError if a factor is
    missing."""
    if len(sides) != 2:
        missing = "B" if "A" in sides else "A"
        raise ModelError(
            f"{source} has no lora_{missing} for {module}: it is damaged, get it again."
        )
    return Product(module, sides["A"], sides["B"], config.scaling(module), config.rank_of(module))


@dataclass(frozen=True)
class Sorted:
    """An adapter's tensors by what they do.

    Attributes:
        linear, embedded: Names of the factors "A" and "B" of each linear layer and embedding.
        tokens: Names of rows that replace some of an embedding's, by its module.
        whole: Names of tensors that take the place of the base's, or have none there, by place.
    """

    linear: dict[str, Sides] = field(default_factory=dict)
    embedded: dict[str, Sides] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)


def sort_tensors(names: Iterable[str], source: object) -> Sorted:
    """Sort the names of an adapter's tensors. Raises ModelError if there are two tensors for one
    purpose, as where two adapters are in one file, or one of a kind that is not known here."""
    tensors = Sorted()
    for name in names:
        plain = name.removeprefix(WRAPPER)
        if len(name) > LONGEST_NAME:
            raise unplaced(source, plain[:LONGEST_NAME])
        if hit := FACTOR.fullmatch(plain):
            group, key = tensors.linear.setdefault(hit["module"], {}), hit["side"]
        elif hit := EMBEDDING_FACTOR.fullmatch(plain):
            group, key = tensors.embedded.setdefault(hit["module"], {}), hit["side"]
        elif hit := TOKENS.fullmatch(plain):
            group, key = tensors.tokens, hit["module"]
        elif any(part in plain for part in ADDED):
            raise unplaced(source, plain)
        elif ORIGINAL in plain:
            continue
        else:
            group, key = tensors.whole, INSIDE.sub(".", plain)
        if key in group:
            raise ModelError(f"{source} holds two adapters in one file: save one of them alone.")
        group[key] = name
    return tensors


def unplaced(source: object, name: str, base: object = "its base") -> ModelError:
    """Make the error of a tensor that has no place in the merged model."""
    return ModelError(
        f"{source} holds {name}, which fits no weight of {base}: "
        "choose the base that it was trained on, or merge it with PEFT and use the result."
    )
