"""Which tensor of a checkpoint plays which role: query, key, value, output, feed-forward, by layer.

Every architecture names the same six matrices differently; GPT-2 fuses three in one and stores all of them
transposed; Llama adds a gate; T5 and BART have an encoder, a decoder and the attention between them. A small
registry by `model_type` says which names mean what. Whatever stands before the name ("bert.", "model.",
"transformer.") is ignored, so a model with and without a head match.

Reference: none, names are those of the checkpoints. Deviations: biases, norms and embeddings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError

ROLES = ("query", "key", "value", "output", "gate", "ff1", "ff2")
PARTS = ("", "encoder", "decoder", "cross")


@dataclass(frozen=True)
class Slot:
    """One matrix of one layer, and where in the checkpoint it lies.

    Attributes:
        family: Role, after its part in an encoder-decoder ("query", "decoder query", "cross query").
        layer: From 0.
        tensor: Name of the tensor that holds it.
        transposed: Whether the file stores (input, output) instead of (output, input).
        third: Which third of the fused output it is (0, 1, 2), or None where it is not fused.
    """

    family: str
    layer: int
    tensor: str
    transposed: bool = False
    third: int | None = None

    def cut(self, tensor: Float[ndarray, "*shape"]) -> Float[ndarray, "output input"]:
        """The slot's matrix out of its tensor: output dimensions in rows, input dimensions in columns."""
        matrix = tensor.T if self.transposed else tensor
        if self.third is None:
            return matrix
        size = matrix.shape[0] // 3
        return matrix[self.third * size : (self.third + 1) * size]

    def shape(self, stored: tuple[int, ...]) -> tuple[int, int]:
        """Rows and columns of the slot's matrix, from the shape of its tensor."""
        rows, columns = stored[::-1] if self.transposed else stored
        return (rows // 3 if self.third is not None else rows), columns


@dataclass(frozen=True)
class Architecture:
    """How the checkpoints of some model types name the matrices of a layer.

    Attributes:
        names: Pattern by family; `#` stands for the layer's number.
        transposed: Whether matrices are stored (input, output).
        fused: Pattern of the tensor that holds query, key and value, or "".
    """

    names: dict[str, str]
    transposed: bool = False
    fused: str = ""


def _stack(prefix: str, names: dict[str, str], part: str = "") -> dict[str, str]:
    return {f"{part} {role}".strip(): prefix + name for role, name in names.items()}


_BERT = Architecture(
    _stack(
        "encoder.layer.#.",
        {
            "query": "attention.self.query",
            "key": "attention.self.key",
            "value": "attention.self.value",
            "output": "attention.output.dense",
            "ff1": "intermediate.dense",
            "ff2": "output.dense",
        },
    )
)
_MPNET = Architecture(
    _stack(
        "encoder.layer.#.",
        {
            "query": "attention.attn.q",
            "key": "attention.attn.k",
            "value": "attention.attn.v",
            "output": "attention.attn.o",
            "ff1": "intermediate.dense",
            "ff2": "output.dense",
        },
    )
)
_DISTILBERT = Architecture(
    _stack(
        "transformer.layer.#.",
        {
            "query": "attention.q_lin",
            "key": "attention.k_lin",
            "value": "attention.v_lin",
            "output": "attention.out_lin",
            "ff1": "ffn.lin1",
            "ff2": "ffn.lin2",
        },
    )
)
_GPT2 = Architecture(
    _stack("h.#.", {"output": "attn.c_proj", "ff1": "mlp.c_fc", "ff2": "mlp.c_proj"}),
    transposed=True,
    fused="h.#.attn.c_attn",
)
_LLAMA = Architecture(
    _stack(
        "layers.#.",
        {
            "query": "self_attn.q_proj",
            "key": "self_attn.k_proj",
            "value": "self_attn.v_proj",
            "output": "self_attn.o_proj",
            "gate": "mlp.gate_proj",
            "ff1": "mlp.up_proj",
            "ff2": "mlp.down_proj",
        },
    )
)
_T5_ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
_T5 = Architecture(
    {
        **_stack("encoder.block.#.layer.0.SelfAttention.", _T5_ATTENTION, "encoder"),
        **_stack(
            "encoder.block.#.layer.1.DenseReluDense.", {"ff1": "wi(?:_1)?", "gate": "wi_0", "ff2": "wo"}, "encoder"
        ),
        **_stack("decoder.block.#.layer.0.SelfAttention.", _T5_ATTENTION, "decoder"),
        **_stack(
            "decoder.block.#.layer.2.DenseReluDense.", {"ff1": "wi(?:_1)?", "gate": "wi_0", "ff2": "wo"}, "decoder"
        ),
        **_stack("decoder.block.#.layer.1.EncDecAttention.", _T5_ATTENTION, "cross"),
    }
)
_BART_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
_BART = Architecture(
    {
        **_stack("encoder.layers.#.self_attn.", _BART_ATTENTION, "encoder"),
        **_stack("encoder.layers.#.", {"ff1": "fc1", "ff2": "fc2"}, "encoder"),
        **_stack("decoder.layers.#.self_attn.", _BART_ATTENTION, "decoder"),
        **_stack("decoder.layers.#.", {"ff1": "fc1", "ff2": "fc2"}, "decoder"),
        **_stack("decoder.layers.#.encoder_attn.", _BART_ATTENTION, "cross"),
    }
)

ARCHITECTURES: dict[str, Architecture] = {
    **dict.fromkeys(("bert", "roberta", "electra", "roformer"), _BERT),
    "mpnet": _MPNET,
    "distilbert": _DISTILBERT,
    "gpt2": _GPT2,
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3"), _LLAMA),
    **dict.fromkeys(("t5", "mt5"), _T5),
    "bart": _BART,
}


def find_slots(model_type: str, names: Iterable[str]) -> tuple[Slot, ...]:
    """The matrices of a checkpoint, ordered by family and layer.

    Args:
        model_type: From the checkpoint's config.
        names: Names of its tensors.

    Raises:
        ModelError: If the type is not known, nothing matches, two tensors play one role, or a layer lacks a role.
    """
    if model_type not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise ModelError(f"Weight deltas are not known for model type {model_type!r}; known are {known}.")
    architecture = ARCHITECTURES[model_type]
    found: dict[tuple[str, int], Slot] = {}
    patterns = [(family, _compile(name)) for family, name in architecture.names.items()]
    fused = _compile(architecture.fused) if architecture.fused else None
    for name in names:
        hits = [(family, match, None) for family, pattern in patterns if (match := pattern.search(name))]
        if fused and (match := fused.search(name)):
            hits += [(role, match, third) for third, role in enumerate(("query", "key", "value"))]  # type: ignore[misc]
        for family, match, third in hits:
            slot = Slot(family, int(match.group(1)), name, architecture.transposed, third)
            other = found.setdefault((family, slot.layer), slot)
            if other is not slot:
                text = f"{other.tensor} and {name} both look like the {family} matrix of layer {slot.layer}"
                raise ModelError(f"{text}; a model with two towers cannot be compared as one.")
    if not found:
        raise ModelError(f"No tensor is named as in a {model_type}; the file does not hold the weights of one.")
    _check_complete(found)
    return tuple(sorted(found.values(), key=lambda slot: (family_order(slot.family), slot.layer)))


def family_order(family: str) -> tuple[int, int]:
    """A sorting key: part by part (encoder, decoder, cross), roles in the order in which a layer uses them."""
    part, _, role = family.rpartition(" ")
    return PARTS.index(part), ROLES.index(role)


def _compile(name: str) -> re.Pattern[str]:
    # Dots in the templates are the names' own; the only other syntax is the optional suffix of T5's gated form.
    return re.compile(r"(?:^|\.)" + name.replace(".", r"\.").replace("#", r"(\d+)") + r"\.weight$")


def _check_complete(found: dict[tuple[str, int], Slot]) -> None:
    layers: dict[str, set[int]] = {}
    for family, layer in found:
        layers.setdefault(family, set()).add(layer)
    for part in PARTS:
        families = {family: seen for family, seen in layers.items() if family.rpartition(" ")[0] == part}
        depth = max((max(seen) for seen in families.values()), default=-1) + 1
        for family, seen in families.items():
            if len(seen) != depth:
                missing = min(set(range(depth)) - seen)
                raise ModelError(f"The file holds no {family} matrix for layer {missing}; it is incomplete.")
