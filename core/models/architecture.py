"""The description of an architecture, from which everything else is derived.

Each family of architectures has a file under `core/models/architectures`; its model types name
their matrices in the same way. To add a family, write its file and list it in the `__init__` there.

References: the model classes of transformers, whose `forward` says which rows of a fused tensor are
whose.
Deviations: biases, norms and embeddings do not count as matrices of a layer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from core.errors import ModelError

Sizes = Callable[[Mapping[str, Any]], tuple[tuple[int, ...], int]]
ENCODER_ALONE = "EncoderModel"  # ends the names of classes without the decoder of their type
ATTENTION = ("query", "key", "value")


@dataclass(frozen=True)
class Tensor:
    """One tensor of a layer, and the matrices that it holds.

    Attributes:
        name: Its name, a pattern: `#` stands for the layer's number, `@` for an expert's; what
            stands before does not matter.
        families: What the matrices in it are, one under another; `@` as in the name.
        sizes: From the configuration: relative sizes of the families, and how often the row of them
            is repeated.
        transposed: Whether the matrix is stored (input, output).
        row_axes: How many of the stored axes number its rows, where it has more than two.
        experts: Name in config.json of how many experts lie in it one under another; "" where it is
            no stack of them.
        latent: Whether it reads a compressed vector rather than the layer's states.
    """

    name: str
    families: tuple[str, ...]
    sizes: Sizes | None = None
    transposed: bool = False
    row_axes: int = 1
    experts: str = ""
    latent: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compile the pattern that finds the tensor, with the groups "layer" and "expert"."""
        # Dots are the names' own; the only other syntax is that of a name which two versions write
        # in two ways.
        name = (
            self.name.replace(".", r"\.")
            .replace("#", r"(?P<layer>\d+)")
            .replace("@", r"(?P<expert>\d+)")
        )
        return re.compile(rf"(?:^|\.){name}$")


@dataclass(frozen=True)
class Architecture:
    """A model type, or several that differ in nothing that matters here.

    Attributes:
        types: `model_type` in config.json.
        family: "encoder", "decoder" or "encoder-decoder".
        matrices: The tensors that hold the matrices of a layer.
        stack: Path of the list of layers under the body (the encoder's, where there are two).
        embedding: Path of the token embedding under the body.
        norm: Path of the norm between the last layer and what reads it, under the body; "" where
            there is none.
        head: Name of the module of the language model that reads the last states.
        layers, width, heads: Names of these sizes in config.json, older ones after "|".
        decoder_layers: Name of the decoder's depth, where there are two stacks.
        positions: Name of the longest input in config.json; "" where positions are relative.
        offset: Positions that the model keeps for itself (RoBERTa counts from the padding index).
        cls: Whether every sentence begins with a classification token.
        absolute: Whether positions are added to the vectors; rotary and relative ones act in
            attention alone.
        absolute_if: Where the configuration decides that: the name of its setting, and the value
            with which positions are added, which is also that of a configuration without it.
        computed_positions: Whether transformers computes a table of positions one entry at a time.
        shared: Whether all layers share one set of matrices, which then counts as one layer.
        mixed: Whether the configuration decides layer by layer which matrices there are. Layers
            beyond its depth, which predict further tokens, then count as none.
        inseparable: Why a layer cannot be run or replaced alone; "" if it can.
        caveats: Sentences on what limits its numbers.
    """

    types: tuple[str, ...]
    family: Literal["encoder", "decoder", "encoder-decoder"]
    matrices: tuple[Tensor, ...]
    stack: str
    embedding: str
    norm: str = ""
    head: str = "lm_head"
    layers: str = "num_hidden_layers"
    width: str = "hidden_size"
    heads: str = "num_attention_heads"
    decoder_layers: str = ""
    positions: str = "max_position_embeddings"
    offset: int = 0
    cls: bool = False
    absolute: bool = True
    absolute_if: tuple[str, object] | None = None
    computed_positions: bool = False
    shared: bool = False
    mixed: bool = False
    inseparable: str = ""
    caveats: tuple[str, ...] = ()

    def adds_positions(self, config: Mapping[str, Any]) -> bool:
        """Whether a model of this configuration adds positions to its vectors, not to attention
        alone."""
        if self.absolute_if is None:
            return self.absolute
        name, value = self.absolute_if
        return bool(config.get(name, value) == value)


def name_tensors(
    prefix: str, names: Mapping[str, str], part: str = "", *, transposed: bool = False
) -> tuple[Tensor, ...]:
    """Describe tensors that hold one matrix each, by role; `prefix` has the layer's number, `part`
    is "encoder", "decoder" or "cross" of an encoder-decoder."""
    return tuple(
        Tensor(f"{prefix}{name}.weight", (f"{part} {role}".strip(),), transposed=transposed)
        for role, name in names.items()
    )


def fuse(
    name: str, families: tuple[str, ...], sizes: Sizes | None = None, *, transposed: bool = False
) -> Tensor:
    """Describe a tensor of several matrices, of equal size if `sizes` is not given."""
    return Tensor(
        f"{name}.weight", families, sizes or (lambda config: ((1,) * len(families), 1)), transposed
    )


def setting(config: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Read a setting by its name in config.json; older names follow after "|"."""
    return next((config[key] for key in name.split("|") if config.get(key) is not None), default)


def count(config: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Read a size that separates fused matrices; raises ModelError if there is none."""
    value = setting(config, name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(
            f"The configuration has no {name}, so fused matrices cannot be separated; "
            "choose another model."
        )
    return value


def grouped(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Give the sizes of queries, keys and values if the last two have fewer heads."""
    heads = count(config, "num_attention_heads")
    shared = count(config, "num_key_value_heads", heads)
    return (heads, shared, shared), 1


def interleaved(name: str, families: int) -> Sizes:
    """Make sizes of families whose rows alternate, as often as the configuration's `name` says."""
    return lambda config: ((1,) * families, count(config, name))


by_head = interleaved("num_attention_heads|n_head", len(ATTENTION))
"""The order of rows in which each attention head has its query, key and value."""
