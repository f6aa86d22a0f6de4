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
    pipeline_option,
    seed_option,
    seeds_option,
)


@dataclass(frozen=True)
class PolarSpec(Spec):
    """One study: polar probes of several models, layer by layer."""

    models: tuple[str, ...] = options.models(
        "Models (the first is the base)",
        ("zoo:seed-0", "zoo:parse-0"),
        help="Models that are probed; the others are compared with the first, the base.",
    )
    rank: int = options.whole(
        "Rank",
        64,
        low=1,
        high=8_192,
        help="Dimensions that the probe's map keeps; at most those of the model.",
        said="; rank {}",
    )
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
    train: str = options.corpus(
        "",
        label="Training text",
        help="With dev and test, replaces the 80/10/10 split of one text.",
        shown=False,
    )
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
    untrained: bool = options.flag(
        "Untrained model",
        True,
        help="Adds the first model with random weights, unless a random: model is listed.",
    )
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
