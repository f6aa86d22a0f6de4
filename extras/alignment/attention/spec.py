"""Attention's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.alignment.seeds.spec import MOST_MODELS, methods_option

DEFAULT = ("identity", "shuffled", "lookup", "procrustes", "ols", "ridge")


@dataclass(frozen=True)
class AttentionSpec(options.Spec):
    """The options of the attention study: every ordered pair of models."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:seed-0", "zoo:seed-1"),
        least=2,
        most=MOST_MODELS,
        help="Two or more models, compared in ordered pairs.",
    )
    methods: tuple[str, ...] = methods_option(
        DEFAULT, "The maps fitted from one model's attention outputs to the other's."
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    seed: int = options.seed("Seed of the split, the random matchings and the networks.")
