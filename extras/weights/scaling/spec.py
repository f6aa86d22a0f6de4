"""Options of the causal test of intruder dimensions."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.weights.intruders.spec import DirectionSpec


@dataclass(frozen=True)
class ScalingSpec(DirectionSpec):
    """Whose intruder dimensions are scaled down, and the text that scores the models."""

    removals: int = options.whole(
        "Random directions",
        5,
        low=2,
        high=50,
        help="How often random directions of equal size are drawn; more draws narrow the bands.",
    )
    text: str = options.line(
        "Text of the scaled models",
        "demo-gold",
        help="Text whose words are masked, tagged and parsed, such as demo-gold or a .conllu file.",
    )
    labelled: str = options.labelled()
    seed: int = options.seed("Seed of the random directions.")
