"""Options of probes through training, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.steps import find_steps
from core.studies.probes.trees.spec import (
    ProbeSpec,
    controls_option,
    draws_option,
    epochs_option,
    heads_option,
    pipeline_option,
    rank_option,
    seed_option,
    seeds_option,
)


@dataclass(frozen=True)
class ProbeTrainingSpec(options.Spec):
    """One study: the steps of a training run and its final model, probed layer by layer."""

    end: str = options.end(help="The model at the end of the training run.")
    steps: tuple[str, ...] = options.steps("Steps", most=40)
    at_most: int = options.most_steps(12)
    rank: int = rank_option(64)
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    seeds: int = seeds_option(3)
    controls: int = controls_option(2)
    sinks: str = options.sinks()
    epochs: int = epochs_option()
    draws: int = draws_option()
    seed: int = seed_option()

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The steps listed, in the order of training."""
        return find_steps(self.steps, self.end, self.at_most)

    @property
    def as_probes(self) -> ProbeSpec:
        """The probe study of the final model, with the same text, trees, split and training."""
        return ProbeSpec(
            models=(self.end,),
            untrained=False,
            probes=("distance",),
            **self.options_for(ProbeSpec),
        )
