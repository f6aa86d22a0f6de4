"""Tiny decoders with massive activations, made by hand, and sentences that meet them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.core.tiny_models import TEXT, tiny_tokenizer

FIRST = "manthing"  # of several subwords, so that its mean is smaller than its largest subword
WORDS = [word for word in TEXT.split() if word != "man"]  # which shares a subword with it
SIZE = 5_000.0


def sentences(count: int = 30) -> tuple[tuple[str, ...], ...]:
    """Sentences whose first words share a subword that occurs nowhere else."""
    rng = np.random.default_rng(0)
    return tuple(
        (f"{FIRST}{'abcdefghij'[number % 10]}", *rng.choice(WORDS, 5 + number % 3).tolist())
        for number in range(count)
    )


def make_massive(folder: Path, size: float = SIZE) -> None:
    """Give the first subword of the first word one large number in the embedding table."""
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    (table,) = (name for name in tensors if name.endswith("embed_tokens.weight"))
    pieces = tiny_tokenizer("llama")(f" {FIRST}", add_special_tokens=False)["input_ids"]
    assert len(pieces) > 1
    tensors[table][pieces[0], 3] = size
    save_file(tensors, path, metadata={"format": "pt"})
