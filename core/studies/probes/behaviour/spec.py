"""Options of the study of behaviour, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.models.patterns import every_match
from core.options import Spec
from core.studies.probes.edges.items import TARGETS
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.minimal_pairs.pairs_file import OWN
from core.studies.probes.trees.spec import (
    ProbeSpec,
    draws_option,
    heads_option,
    kinds_option,
    pairs_option,
    pipeline_option,
    seed_option,
    seeds_option,
)


@dataclass(frozen=True)
class BehaviourSpec(Spec):
    """One study: models with a language-model head, scored on minimal pairs and probed."""

    models: tuple[str, ...] = options.models(
        "Models (the headline is on the first)",
        ("zoo:seed-*",),
        most=40,
        patterns=True,
        help="Models and checkpoints that kept their language-model head, masked or causal; "
        "others are left out.",
    )
    kinds: tuple[str, ...] = kinds_option()
    pairs: int = pairs_option(100, phrase=", {} pairs of each kind")
    pairs_file: str = options.line(
        "Your own pairs",
        help="A file of lines `acceptable<TAB>unacceptable`, scored in place of the templates' "
        "pairs.",
    )
    probes: bool = options.flag(
        "Probes beside",
        True,
        help="Also trains probes on every model, to compare their scores with behaviour.",
    )
    targets: tuple[str, ...] = options.choices(
        "Targets of edge probes",
        ("pos",),
        TARGETS,
        least=0,
        help="Labels that linear classifiers predict, beside the structural probe; may be empty.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    seeds: int = seeds_option(1)
    sinks: str = options.sinks()
    draws: int = draws_option()
    seed: int = seed_option()

    @property
    def scored_kinds(self) -> tuple[str, ...]:
        """The kinds of pairs that are scored: the reader's own where there are any."""
        return (OWN,) if self.pairs_file else self.kinds

    @property
    def refs(self) -> tuple[str, ...]:
        """The models named, with patterns replaced by what they match, each once. Raises SpecError
        if a pattern matches nothing."""
        return every_match(self.models)

    def as_probes(self, ref: str) -> ProbeSpec:
        """The study of structural probes on one model."""
        fixed = {"models": (ref,), "untrained": False, "probes": ("distance",)}
        return ProbeSpec(**self.options_for(ProbeSpec) | fixed)

    def as_edges(self, ref: str) -> EdgeSpec:
        """The study of edge probes on one model."""
        targets = self.targets or tuple(TARGETS)
        fixed = {"models": (ref,), "untrained": False, "targets": targets, "controls": 0}
        return EdgeSpec(**self.options_for(EdgeSpec) | fixed)
