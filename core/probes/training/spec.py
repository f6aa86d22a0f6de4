"""Options of probes through training, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.steps import find_steps
from core.probes.trees.spec import HEADS, ProbeSpec, parsers


@dataclass(frozen=True)
class ProbeTrainingSpec(options.Spec):
    """One study: the steps of a training run and its final model, probed layer by layer."""

    end: str = options.model(
        "Final model", "zoo:seed-0", help="The model at the end of the training run."
    )
    steps: tuple[str, ...] = options.models(
        "Steps",
        ("zoo:seed-0@step-*",),
        most=40,
        patterns=True,
        help="Intermediate checkpoints: zoo:seed-0@step-*, or hub:NAME@REVISION one by one.",
    )
    rank: int = options.whole(
        "Rank",
        64,
        low=1,
        high=8_192,
        help="Dimensions that the probe's map keeps; at most those of the model.",
        said="; rank {}",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    heads: str = options.choice(
        "Trees", "auto", HEADS, help="Parses used to train and score the probes."
    )
    pipeline: str = options.choice(
        "Parser", "box", parsers, help="Predicts the trees of text that has no heads."
    )
    seeds: int = options.whole(
        "Probes per layer",
        3,
        low=1,
        high=10,
        help="Probes with different initial maps; a score is their mean.",
    )
    controls: int = options.whole(
        "Draws of control trees",
        2,
        low=0,
        high=20,
        help="Sets of meaningless trees that probes learn too, for selectivity; 0 for none.",
    )
    epochs: int = options.whole(
        "Most epochs", 40, low=1, high=200, help="Passes over the training sentences at most."
    )
    draws: int = options.whole(
        "Bootstrap draws",
        1_000,
        low=20,
        high=10_000,
        help="Resamples of test sentences behind each band.",
    )
    seed: int = options.seed(
        "Seed of the initial maps, the order of sentences, the control rules and the bootstrap."
    )

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The steps listed, in the order of training."""
        return find_steps(self.steps, self.end)

    @property
    def as_probes(self) -> ProbeSpec:
        """The probe study of the final model, with the same text, trees, split and training."""
        shared = (
            *("rank", "corpus", "genres", "sentences", "heads", "pipeline"),
            *("seeds", "controls", "epochs", "draws", "seed"),
        )
        given = {name: getattr(self, name) for name in shared}
        return ProbeSpec(models=(self.end,), untrained=False, probes=("distance",), **given)
