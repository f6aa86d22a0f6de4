"""Through training's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.steps import find_steps
from core.rsa.measures.registry import MEASURES


@dataclass(frozen=True)
class TrainingSpec(options.Spec):
    """One study: the steps of a run, its end, and ends of other runs for scale."""

    end: str = options.model("End of training", "zoo:seed-0", help="What each step is compared with.")
    steps: tuple[str, ...] = options.models(
        "Steps",
        ("zoo:seed-0@step-*",),
        most=60,
        patterns=True,
        help="The same run earlier: zoo:seed-0@step-*, or hub:NAME@REVISION one by one.",
    )
    others: tuple[str, ...] = options.models(
        "Other runs", ("zoo:seed-1",), least=0, most=8, help="Ends of other runs, for scale: dashed lines."
    )
    measure: str = options.choice(
        "Measure",
        "rsa",
        lambda: {name: measure.label for name, measure in MEASURES.items()},
        titled=True,
        help="How two spaces of the same words are compared.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    words: int = options.whole("Words sampled", 1_000, low=10, high=20_000, help="Words drawn from all sentences.")
    draws: int = options.whole(
        "Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences behind each band."
    )
    seed: int = options.seed("Seed of the sample and the draws.")

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The steps that are named, in the order of training."""
        return find_steps(self.steps, self.end)
