"""Options of the intruder experiment."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.weights.clusters.members import MOST_MODELS
from core.studies.weights.clusters.spec import families_option


@dataclass(frozen=True)
class DirectionSpec(options.Spec):
    """Which fine-tunes of which base, and what counts as an intruder dimension."""

    base: str = options.base()
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0"),
        most=MOST_MODELS,
        patterns=True,
        help="Models or LoRA adapters; path:/runs/* stands for all in a folder.",
    )
    leading: int = options.whole(
        "Leading directions",
        10,
        low=1,
        high=64,
        help="Directions examined per matrix, largest first; more of them find weaker intruders.",
    )
    threshold: float = options.number(
        "Cosine",
        0.5,
        low=0.05,
        high=0.99,
        help="A direction is an intruder dimension if its cosine with each of the base's is lower.",
    )
    families: tuple[str, ...] = families_option()


@dataclass(frozen=True)
class IntruderSpec(DirectionSpec):
    """Which fine-tunes of which base, what counts as an intruder dimension, and how chance is
    drawn."""

    draws: int = options.whole(
        "Random updates",
        100,
        low=19,
        high=1000,
        help="Random updates of equal norm drawn per matrix; p-values need 20 or more per model.",
    )
    seed: int = options.seed("Seed of the random updates.")
