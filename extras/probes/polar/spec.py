"""Options of the study of polar probes, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core import options
from core.studies.probes.trees.spec import (
    SHARED,
    ProbeSpec,
    SameTrees,
    dev_option,
    draws_option,
    epochs_option,
    heads_option,
    models_option,
    pipeline_option,
    rank_option,
    scored_option,
    seed_option,
    seeds_option,
    train_option,
    untrained_option,
)


@dataclass(frozen=True)
class PolarSpec(SameTrees):
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
    dev: str = dev_option()
    test: str = scored_option()
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

    shared = (*SHARED, "rank", "seeds", "controls", "epochs", "draws")

    @property
    def as_probes(self) -> ProbeSpec:
        """The study of distance probes on the same models, text, trees and split."""
        return replace(super().as_probes, probes=("distance",))
