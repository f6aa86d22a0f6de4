"""Notices of what models could not read, or what was left out of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import by_number, counted, listed
from core.models.precision import SINGLE, VARIABLE
from core.results.names import short_names


def too_long(model: str, sentences: Sequence[Sequence[str]], long: Sequence[int], most: int) -> str:
    """Say which sentences a model, which reads `most` subwords, cannot read whole: those at
    `long`."""
    were = by_number(len(long), "was", "were")
    beginning = " ".join(sentences[long[0]][:6])
    return (
        f"{len(long)} of {len(sentences)} sentences {were} left out, "
        f"because {model} reads at most {most} subwords; the first begins “{beginning} …”."
    )


def blank_items(model: str, count: int, kind: str) -> str:
    """Say how many items (kind "word" or "sentence") a tokenizer removes entirely."""
    left, them = ("was left out", "it") if count == 1 else ("were left out", "them")
    return (
        f"{counted(count, kind)} {left}, because the tokenizer of {model} removes {them} entirely."
    )


def read_by_layer(model: str, parameters: int) -> str:
    """Say that a model was too large to be in memory as a whole."""
    return (
        f"{model} has {parameters / 1e9:,.1f} billion parameters, so its layers were read from the "
        "disk one at a time; the numbers are those of the whole model."
    )


def half_precision(model: str) -> str:
    """Say that hidden states were computed in half precision, and how to get them in single."""
    return (
        f"{model} was run in bfloat16, in which it is stored and this machine is fast; "
        f"{VARIABLE}={SINGLE} in the environment computes its states in single precision."
    )


def other_depth(base: str, base_layers: int, other: str, other_layers: int) -> str:
    """Say that two models differ in their number of layers."""
    return (
        f"{base} has {base_layers} layers and {other} has {other_layers}, "
        "so layers are compared by relative depth."
    )


def sinks_left_out(models: Sequence[str], counts: Sequence[tuple[int, int]]) -> str:
    """Say how many words were left out as attention sinks, of which models, and why; `counts` are
    words left out, and words that there were, of each comparison."""
    named = listed([*short_names(list(models)).values()])
    least, most = min(counts), max(counts)
    left = f"{least[0]:,} to {most[0]:,}" if least[0] < most[0] else f"{most[0]:,}"
    were, them = ("was", "its") if most[0] == 1 else ("were", "their")
    return (
        f"{left} of {most[1]:,} words {were} left out as attention sinks of {named}, "
        f"because massive activations in {them} hidden states would dominate the comparison; "
        "set Attention sinks to keep to include them."
    )
