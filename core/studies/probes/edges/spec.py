"""Options of the edge-probing study, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from core import options
from core.studies.probes.edges.items import TARGETS
from core.studies.probes.trees.spec import (
    ProbeSpec,
    SameTrees,
    conditional_option,
    dev_option,
    draws_option,
    heads_option,
    labels_option,
    layers_option,
    models_option,
    pipeline_option,
    seed_option,
    test_option,
    train_option,
    untrained_option,
)


@dataclass(frozen=True)
class EdgeSpec(SameTrees):
    """One study: linear classifiers of tags and edges on several models, layer by layer."""

    models: tuple[str, ...] = models_option()
    targets: tuple[str, ...] = options.choices(
        "Targets", TARGETS, TARGETS, help="Labels that the classifiers predict."
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = train_option()
    dev: str = dev_option(help="Sentences that choose the best layers.")
    test: str = test_option(help="Sentences on which the classifiers are scored.")
    heads: str = heads_option(help="Parses and tags used to train and score the classifiers.")
    pipeline: str = pipeline_option(help="Predicts the trees and tags of text that has none.")
    layers: tuple[int, ...] = layers_option()
    penalty: float = options.number(
        "Penalty",
        0.0,
        low=0.0,
        high=1e6,
        help="Ridge penalty of the classifiers (scikit-learn's C is 1 divided by it); "
        "0 chooses one for each layer and the static window on the development sentences.",
    )
    controls: int = labels_option(
        3, help="Sets of random labels by word type, for selectivity; 0 for none."
    )
    untrained: bool = untrained_option()
    conditional: bool = conditional_option()
    sinks: str = options.sinks()
    draws: int = draws_option(help="Resamples of sentences behind each band.")
    seed: int = seed_option(
        help="Seed of the order of sentences, the control labels and the bootstrap."
    )

    @cached_property
    def as_probes(self) -> ProbeSpec:
        """The study of structural probes on the same models, text, trees and split."""
        return replace(
            super().as_probes,
            controls=ProbeSpec.controls,
            conditional=ProbeSpec.conditional,
            draws=ProbeSpec.draws,
        )
