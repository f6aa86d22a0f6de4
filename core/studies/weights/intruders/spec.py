"""Options of the intruder experiment."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.weights.clusters.members import MOST_MODELS
from core.studies.weights.clusters.spec import families_option


@dataclass(frozen=True)
class IntruderSpec(options.Spec):
    """Which fine-tunes of which base, how many directions, and what counts as resemblance."""

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
    draws: int = options.whole(
        "Random updates",
        100,
        low=19,
        high=1000,
        help="Random updates of equal norm drawn per matrix; p-values need 20 or more per model.",
    )
    families: tuple[str, ...] = families_option()
    seed: int = options.seed("Seed of the random updates.")
    scaling: bool = options.flag(
        "Scale intruders",
        False,
        help="Also scales intruder dimensions down to 0 and scores the task and the masked loss "
        "again, for models with a task head.",
    )
    removals: int = options.whole(
        "Random directions",
        5,
        low=2,
        high=50,
        help="How often random directions of equal size are drawn where intruders are scaled; "
        "more draws narrow the bands.",
        shown=False,
    )
    text: str = options.line(
        "Text of the scaled models",
        "demo-gold",
        help="Text whose words are masked, tagged and parsed where intruders are scaled, "
        "such as demo-gold or a .conllu file.",
        shown=False,
    )
    labelled: str = options.labelled()
