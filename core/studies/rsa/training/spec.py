"""Options of similarity through training, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.steps import find_steps
from core.studies.rsa.layers.spec import measure_option


@dataclass(frozen=True)
class TrainingSpec(options.Spec):
    """One study: checkpoints of a training run, its final model, and final models of other runs."""

    end: str = options.end(help="The end of the run, with which each checkpoint is compared.")
    steps: tuple[str, ...] = options.steps(most=60)
    at_most: int = options.most_steps(12)
    others: tuple[str, ...] = options.models(
        "Other runs",
        ("zoo:seed-1",),
        least=0,
        most=8,
        help="Final models of other runs, drawn as grey lines for comparison.",
    )
    measure: str = measure_option()
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

    @property
    def refs(self) -> tuple[str, ...]:
        """List the models: the end of the run, its checkpoints, and other runs."""
        return (self.end, *self.checkpoints, *self.others)
