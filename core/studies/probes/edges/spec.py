"""Options of the edge-probing study, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.studies.probes.edges.items import TARGETS
from core.studies.probes.trees.spec import (
    HEADS,
    SameTrees,
    conditional_option,
    models_option,
    parsers,
    scored_option,
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
    dev: str = options.corpus(
        "", label="Development text", help="Sentences that choose the best layers.", shown=False
    )
    test: str = scored_option("classifiers")
    heads: str = options.choice(
        "Trees", "auto", HEADS, help="Parses and tags used to train and score the classifiers."
    )
    pipeline: str = options.choice(
        "Parser", "box", parsers, help="Predicts the trees and tags of text that has none."
    )
    layers: tuple[int, ...] = options.layers(help="Layers to probe; 0 is the embedding output.")
    penalty: float = options.number(
        "Penalty",
        0.0,
        low=0.0,
        high=1e6,
        help="Ridge penalty of the classifiers (scikit-learn's C is 1 divided by it); 0 chooses "
        "one for each layer and the static window on the development sentences.",
    )
    controls: int = options.whole(
        "Draws of control labels",
        3,
        low=0,
        high=20,
        help="Sets of random labels by word type, for selectivity; 0 for none.",
    )
    untrained: bool = untrained_option()
    conditional: bool = conditional_option("three times")
    sinks: str = options.sinks()
    draws: int = options.draws(1_000, "Resamples of sentences behind each band.")
    seed: int = options.seed(
        "Seed of the order of sentences, the control labels and the bootstrap."
    )
