"""Language-model heads: which checkpoints kept one, and how it reads a sentence; without torch."""

from __future__ import annotations

from typing import Literal

from core.models import describe

Kind = Literal["masked", "causal"]
ENDINGS: dict[str, Kind] = {
    "ForMaskedLM": "masked",
    "BertForPreTraining": "masked",
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
}
"""Ending of a checkpoint's class -> how its language-model head reads a sentence."""


def head_of(ref: str) -> Kind | None:
    """Tell whether a checkpoint kept a language-model head, and of which kind; None without one.

    Raises:
        ModelError: If the model cannot be found.
    """
    architecture = describe(ref).architecture
    return next((kind for ending, kind in ENDINGS.items() if architecture.endswith(ending)), None)
