"""Through training's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.maths.similarity.registry import MEASURES
from core.models.steps import find_steps


@dataclass(frozen=True)
class TrainingSpec(options.Spec):
    """One study: checkpoints of a training run, its final model, and final models of other runs."""

    end: str = options.model(
        "Final model",
        "zoo:seed-0",
        help="The end of the run, with which each checkpoint is compared.",
    )
    steps: tuple[str, ...] = options.models(
        "Checkpoints",
        ("zoo:seed-0@step-*",),
        most=60,
        patterns=True,
        help="Earlier steps of the same run: zoo:seed-0@step-*, hub:NAME@step* for the revisions "
        "of a Hub model, or models one by one.",
    )
    at_most: int = options.most_steps(12)
    others: tuple[str, ...] = options.models(
        "Other runs",
        ("zoo:seed-1",),
        least=0,
        most=8,
        help="Final models of other runs, drawn as dashed lines for comparison.",
    )
    measure: str = options.choice(
        "Measure",
        "rsa",
        lambda: {name: measure.label for name, measure in MEASURES.items()},
        titled=True,
        help="The similarity measure; try another one to see whether a finding depends on it.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    words: int = options.sampled_words(
        "Words sampled from all sentences; more words give narrower bands."
    )
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the sample, the bands and the chance level.")

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """List the checkpoints that are named, in the order of training."""
        return find_steps(self.steps, self.end, self.at_most)
