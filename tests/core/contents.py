"""What keys hold of a model."""

from __future__ import annotations

from core.models.identity import identify


def read_as(ref: str) -> str:
    """What a model is known by whose weights are read."""
    return identify(ref, run=False).content


def run_as(ref: str) -> str:
    """What a model is known by that is run."""
    return identify(ref).content


def copied_as(ref: str) -> str:
    """What copies of a model are known by."""
    return identify(ref, run=False).weights
