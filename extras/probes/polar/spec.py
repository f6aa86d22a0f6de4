"""Options of the study of polar probes, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from core import options
from core.studies.probes.trees.spec import (
    ProbeSpec,
    SameTrees,
    dev_option,
    draws_option,
    epochs_option,
    heads_option,
    labels_option,
    layers_option,
    models_option,
    pipeline_option,
    rank_option,
    seed_option,
    seeds_option,
    test_option,
    train_option,
    untrained_option,
)


@dataclass(frozen=True)
class PolarSpec(SameTrees):
    """One study: polar probes of several models, layer by layer."""

    models: tuple[str, ...] = models_option()
    rank: int = rank_option(64)
    weight: float = options.number(
        "Weight of the angles",
        10.0,
        low=0.0,
        high=1_000.0,
        help="Weight of the loss of the angles beside that of the distances; "
        "0 trains distances alone.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = train_option()
    dev: str = dev_option()
    test: str = test_option()
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    layers: tuple[int, ...] = layers_option()
    seeds: int = seeds_option(3)
    controls: int = labels_option(2)
    untrained: bool = untrained_option()
    sinks: str = options.sinks()
    epochs: int = epochs_option()
    draws: int = draws_option()
    seed: int = seed_option()

    @cached_property
    def as_probes(self) -> ProbeSpec:
        """The study of distance probes on the same models, text, trees and split."""
        return replace(super().as_probes, probes=("distance",))
