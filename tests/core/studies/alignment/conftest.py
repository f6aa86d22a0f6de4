"""Tiny classifiers with one tokenizer, and sentences of words that they know."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "far", "good", "bad", "film"]
LABELLED = tuple(
    (" ".join(WORDS[i % 12] for i in range(k, k + 5)), ("good", "bad")[k % 2]) for k in range(12)
)


@cache
def tokenizer():
    """One for all, with a vocabulary written down: training breaks ties between equally frequent
    words as it likes."""
    from tokenizers.models import WordPiece

    from zoo.recipe.text import SPECIALS
    from zoo.recipe.tokenizer import train_tokenizer

    made = train_tokenizer([" ".join(WORDS)], 60)
    letters = sorted({letter for word in WORDS for letter in word})
    pieces = [*SPECIALS, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    made.model = WordPiece(
        {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}, unk_token="[UNK]"
    )
    return made


def save_classifier(
    folder: Path,
    seed: int,
    labels: tuple[str, ...] = ("bad", "good"),
    layers: int = 2,
    heads: int = 2,
) -> str:
    """A tiny RoFormer with a classification head and its tokenizer, as `path:` reference."""
    from transformers import RoFormerConfig, RoFormerForSequenceClassification

    from zoo.recipe.tokenizer import save_tokenizer

    torch.manual_seed(seed)
    config = RoFormerConfig(
        vocab_size=60,
        hidden_size=16,
        embedding_size=16,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=len(labels),
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    RoFormerForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(tokenizer(), folder)
    return f"path:{folder}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return tuple(save_classifier(tmp_path_factory.mktemp(f"model-{seed}"), seed) for seed in (0, 1))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def sentences() -> tuple[tuple[str, ...], ...]:
    rng = np.random.default_rng(0)
    return tuple(tuple(rng.choice(WORDS, size=6).tolist()) for _ in range(80))


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks of the study that are small and stop at once, where a test is not about them."""
    from core.maths.maps.nonlinear import COUPLED, PLAIN, Inn, Mlp

    monkeypatch.setattr(Inn.__init__, "__defaults__", (1, 8, replace(COUPLED, steps=25), 0))
    monkeypatch.setattr(Mlp.__init__, "__defaults__", (16, replace(PLAIN, steps=25), 0))
