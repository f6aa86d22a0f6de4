"""Notices of what two models could not read, or not compare layer by layer."""

from __future__ import annotations


def too_long(model: str, count: int, total: int, longest: int, beginning: str) -> str:
    """Say how many sentences a model cannot read whole.

    Args:
        model: Reference.
        count, total: Sentences left out, and all of them.
        longest: Subwords that the model reads.
        beginning: The first words of the first one left out.
    """
    were = "was" if count == 1 else "were"
    return (
        f"{count} of {total} sentences {were} left out, because {model} reads at most {longest} "
        f"subwords; the first begins “{beginning} …”."
    )


def blank_items(model: str, count: int, kind: str) -> str:
    """Say how many words or sentences a tokenizer removes entirely.

    Args:
        model: Reference.
        count: Items left out.
        kind: "word" or "sentence".
    """
    left, them = ("was left out", "it") if count == 1 else ("were left out", "them")
    plural = "" if count == 1 else "s"
    return (
        f"{count} {kind}{plural} {left}, because the tokenizer of {model} removes {them} entirely."
    )


def other_depth(base: str, base_layers: int, other: str, other_layers: int) -> str:
    """Say that two models differ in their number of layers."""
    return (
        f"{base} has {base_layers} layers and {other} has {other_layers}, so layers are compared "
        f"by "
        "relative depth."
    )
