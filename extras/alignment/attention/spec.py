"""Attention's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.alignment.seeds.spec import methods_option, models_option

DEFAULT = ("identity", "shuffled", "lookup", "procrustes", "ols", "ridge")


@dataclass(frozen=True)
class AttentionSpec(options.Spec):
    """The options of the attention study: every ordered pair of models."""

    models: tuple[str, ...] = models_option("Two or more models, compared in ordered pairs.")
    methods: tuple[str, ...] = methods_option(
        DEFAULT, "The maps fitted from one model's attention outputs to the other's."
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    seed: int = options.seed("Seed of the split, the random matchings and the networks.")
