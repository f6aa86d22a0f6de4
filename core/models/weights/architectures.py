"""How the checkpoints of each model type name the matrices of a layer, and which of them are stored as one tensor.

Every type names the same six matrices differently. GPT-2 stores all of them transposed; Llama and its kin add a gate,
which is the matrix whose output goes through the activation; T5 and BART have an encoder, a decoder and the attention
between them; ALBERT has one set of matrices for all its layers, which counts as one layer here.

References: the model classes of transformers, whose `forward` says which rows of a fused tensor are whose.
Deviations: biases, norms and embeddings are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import ModelError


@dataclass(frozen=True)
class Fused:
    """Several matrices in one tensor, one under another.

    Attributes:
        name: Pattern of the tensor; `#` stands for the layer's number.
        families: Whose rows follow each other.
        sizes: From the configuration: their relative sizes, and how many times the row of them is repeated.
    """

    name: str
    families: tuple[str, ...]
    sizes: Callable[[Mapping[str, Any]], tuple[tuple[int, ...], int]]


@dataclass(frozen=True)
class Architecture:
    """How the checkpoints of some model types name the matrices of a layer.

    Attributes:
        names: Pattern by family; `#` stands for the layer's number.
        transposed: Whether matrices are stored (input, output).
        fused: The tensors that hold several matrices.
    """

    names: dict[str, str]
    transposed: bool = False
    fused: tuple[Fused, ...] = ()


def _count(config: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = config.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(f"The configuration does not say {name}, so fused matrices cannot be told apart.")
    return value


def _equal(parts: int) -> Callable[[Mapping[str, Any]], tuple[tuple[int, ...], int]]:
    return lambda config: ((1,) * parts, 1)


def _grouped(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Fewer heads for keys and values than for queries."""
    heads = _count(config, "num_attention_heads")
    shared = _count(config, "num_key_value_heads", heads)
    return (heads, shared, shared), 1


def _by_head(config: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Query, key and value of one head, then of the next."""
    return (1, 1, 1), _count(config, "num_attention_heads")


_ATTENTION = ("query", "key", "value")


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
    fused=(Fused("h.#.attn.c_attn", _ATTENTION, _equal(3)),),
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

_ALBERT = Architecture(
    _stack(
        "encoder.albert_layer_groups.#.albert_layers.0.",
        {
            "query": "attention.query",
            "key": "attention.key",
            "value": "attention.value",
            "output": "attention.dense",
            "ff1": "ffn",
            "ff2": "ffn_output",
        },
    )
)
_DEBERTA = Architecture(
    _stack(
        "encoder.layer.#.",
        {
            "query": "attention.self.query_proj",
            "key": "attention.self.key_proj",
            "value": "attention.self.value_proj",
            "output": "attention.output.dense",
            "ff1": "intermediate.dense",
            "ff2": "output.dense",
        },
    )
)
_MODERNBERT = Architecture(
    _stack("layers.#.", {"output": "attn.Wo", "ff2": "mlp.Wo"}),
    fused=(
        Fused("layers.#.attn.Wqkv", _ATTENTION, _equal(3)),
        # Its own code calls the second half the gate; the half that the activation bends comes first.
        Fused("layers.#.mlp.Wi", ("gate", "ff1"), _equal(2)),
    ),
)
_PHI3 = Architecture(
    _stack("layers.#.", {"output": "self_attn.o_proj", "ff2": "mlp.down_proj"}),
    fused=(
        Fused("layers.#.self_attn.qkv_proj", _ATTENTION, _grouped),
        Fused("layers.#.mlp.gate_up_proj", ("gate", "ff1"), _equal(2)),
    ),
)
_OPT = Architecture(
    {
        **_stack("decoder.layers.#.self_attn.", _BART_ATTENTION),
        **_stack("decoder.layers.#.", {"ff1": "fc1", "ff2": "fc2"}),
    }
)
_GPT_NEOX = Architecture(
    _stack("layers.#.", {"output": "attention.dense", "ff1": "mlp.dense_h_to_4h", "ff2": "mlp.dense_4h_to_h"}),
    fused=(Fused("layers.#.attention.query_key_value", _ATTENTION, _by_head),),
)

ARCHITECTURES: dict[str, Architecture] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra", "roformer"), _BERT),
    "mpnet": _MPNET,
    "distilbert": _DISTILBERT,
    "gpt2": _GPT2,
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma"), _LLAMA),
    **dict.fromkeys(("t5", "mt5"), _T5),
    "bart": _BART,
    "albert": _ALBERT,
    "deberta-v2": _DEBERTA,
    "modernbert": _MODERNBERT,
    "phi3": _PHI3,
    "opt": _OPT,
    "gpt_neox": _GPT_NEOX,
}
