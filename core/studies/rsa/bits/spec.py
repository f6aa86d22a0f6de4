"""Options of bits per byte."""

from __future__ import annotations

from dataclasses import dataclass

from core import options


@dataclass(frozen=True)
class BitsSpec(options.Spec):
    """Language models of one kind, with whatever vocabularies, and a text."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:decoder-0", "zoo:decoder-1", "zoo:decoder-2", "zoo:review-0"),
        most=12,
        help="Causal models, or masked ones; their vocabularies may differ.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    draws: int = options.draws()
    seed: int = options.seed("Seed of the resamples.")
