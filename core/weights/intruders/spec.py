"""Intruders' options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.weights.clusters.members import MOST_MODELS


@dataclass(frozen=True)
class IntruderSpec(options.Spec):
    """An intruder experiment: which fine-tunes of which base, how many directions, and what resembling means."""

    base: str = options.model("Base model", "zoo:seed-0", help="The model that the fine-tunes started from.")
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0"),
        most=MOST_MODELS,
        patterns=True,
        help="Models or LoRA adapters; path:/runs/* is every one in a folder.",
    )
    leading: int = options.whole(
        "Leading directions", 10, low=1, high=64, help="Directions of each matrix that are looked at, largest first."
    )
    threshold: float = options.number(
        "Cosine", 0.5, low=0.05, high=0.99, help="A direction is an intruder if no cosine with the base's reaches this."
    )
    draws: int = options.whole(
        "Gaussian changes", 100, low=19, high=1000, help="Gaussian changes of equal norm, per matrix, behind the null."
    )
    families: tuple[str, ...] = options.words(
        "Families", help="Families of matrices to keep, such as query or ff1; all where empty."
    )
    seed: int = options.seed("Seed of the Gaussian changes.")
