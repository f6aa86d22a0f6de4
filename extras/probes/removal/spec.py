"""Options of the study that erases a probe's subspace, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from core import options
from core.studies.probes.trees.spec import (
    ProbeSpec,
    SameTrees,
    draws_option,
    epochs_option,
    heads_option,
    kinds_option,
    pairs_option,
    pipeline_option,
    rank_option,
    seed_option,
)


@dataclass(frozen=True)
class RemovalSpec(SameTrees):
    """One study: the subspace of a distance probe, and random ones, erased layer by layer."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:seed-0", "zoo:parse-0"),
        help="Models with a language-model head or the included parser's head; "
        "others are left out.",
    )
    rank: int = rank_option(
        8, help="Dimensions of the probe and of what is erased; at most those of the model."
    )
    randoms: int = options.whole(
        "Random subspaces",
        5,
        low=2,
        high=50,
        help="Random subspaces of the same rank that are erased for comparison.",
    )
    scored: int = options.whole(
        "Sentences scored",
        40,
        low=2,
        high=2_000,
        help="Test sentences on which loss or UAS is measured; "
        "for the loss, every token takes a pass.",
    )
    kinds: tuple[str, ...] = kinds_option(
        least=0, help="Minimal pairs that are scored; may be empty."
    )
    pairs: int = pairs_option(20)
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    layers: tuple[int, ...] = options.layers(help="Layers at which the subspace is erased.")
    epochs: int = epochs_option()
    draws: int = draws_option()
    seed: int = seed_option()

    @cached_property
    def as_probes(self) -> ProbeSpec:
        """The study of distance probes whose subspaces are erased."""
        return replace(
            super().as_probes, probes=("distance",), untrained=False, seeds=1, controls=0
        )
