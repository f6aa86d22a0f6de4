"""Options of the study of polar probes, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.options import Spec
from core.probes.trees.spec import (
    ProbeSpec,
    draws_option,
    epochs_option,
    heads_option,
    models_option,
    pipeline_option,
    rank_option,
    seed_option,
    seeds_option,
    train_option,
    untrained_option,
)


@dataclass(frozen=True)
class PolarSpec(Spec):
    """One study: polar probes of several models, layer by layer."""

    models: tuple[str, ...] = models_option()
    rank: int = rank_option()
    weight: float = options.number(
        "Weight of the angles",
        10.0,
        low=0.0,
        high=1_000.0,
        help="Weight of the loss of the angles beside that of the distances; 0 trains distances "
        "alone.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = train_option()
    dev: str = options.corpus(
        "",
        label="Development text",
        help="Sentences that choose layers and decide when training stops.",
        shown=False,
    )
    test: str = options.corpus(
        "", label="Test text", help="Sentences on which the probes are scored.", shown=False
    )
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    layers: tuple[int, ...] = options.layers(help="Layers to probe; 0 is the embedding output.")
    seeds: int = seeds_option()
    controls: int = options.whole(
        "Draws of control labels",
        2,
        low=0,
        high=20,
        help="Sets of random labels by word type that probes learn too, for selectivity; 0 for "
        "none.",
    )
    untrained: bool = untrained_option()
    sinks: str = options.sinks()
    epochs: int = epochs_option()
    draws: int = draws_option()
    seed: int = seed_option()

    def check(self) -> None:
        object.__setattr__(
            self, "layers", self.as_probes.layers
        )  # the probes' own rules on splits and layers

    @property
    def as_probes(self) -> ProbeSpec:
        """The study of distance probes on the same models, text, trees and split."""
        shared = (
            *("models", "rank", "corpus", "genres", "sentences", "train", "dev", "test", "heads"),
            *("pipeline", "layers", "seeds", "controls", "untrained", "sinks", "epochs", "draws"),
            "seed",
        )
        return ProbeSpec(**{name: getattr(self, name) for name in shared}, probes=("distance",))

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, with the first one untrained where asked for and not listed."""
        return self.as_probes.probed
