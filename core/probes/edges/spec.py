"""What an edge-probing study may ask for: each option is declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.options import Spec
from core.probes.edges.items import TARGETS
from core.probes.trees.spec import HEADS, ProbeSpec, parsers


@dataclass(frozen=True)
class EdgeSpec(Spec):
    """One study: linear classifiers of tags and edges on several models, layer by layer."""

    models: tuple[str, ...] = options.models(
        "Models (the first is the base)", ("zoo:seed-0", "zoo:parse-0"), help="The first is the base of comparisons."
    )
    targets: tuple[str, ...] = options.choices("Asked", TARGETS, TARGETS, help="What the classifiers predict.")
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = options.corpus(
        "", label="Training text", help="With dev and test: splits as given, not 80/10/10 of one text.", shown=False
    )
    dev: str = options.corpus("", label="Development text", help="Sentences that choose layers.", shown=False)
    test: str = options.corpus("", label="Test text", help="Sentences that are scored.", shown=False)
    heads: str = options.choice("Trees", "auto", HEADS, help="Whose trees and tags are asked for.")
    pipeline: str = options.choice("Parser", "box", parsers, help="Draws the trees of text without heads.")
    layers: tuple[int, ...] = options.layers(help="Layers to probe; 0 is the embedding output.")
    penalty: float = options.number(
        "Penalty", 30.0, low=0.01, high=1e6, help="Ridge penalty of the classifiers; 1 is scikit-learn's C = 1."
    )
    controls: int = options.whole(
        "Control draws", 3, low=0, high=20, help="A random label for each word type; 0 for none."
    )
    untrained: bool = options.flag(
        "Untrained model", True, help="Add the first model with random weights, where no random: model is listed."
    )
    draws: int = options.whole("Bootstrap draws", 1_000, low=20, high=10_000, help="Resamples of sentences.")
    seed: int = options.seed("Seed of the order of sentences, the control labels and the bootstrap.")

    def check(self) -> None:
        object.__setattr__(self, "layers", self.as_probes.layers)  # the probes' own rules on splits and layers

    @property
    def as_probes(self) -> ProbeSpec:
        """The structural probes on the same models and sentences: text, trees and split are read the same way."""
        shared = ("models", "corpus", "genres", "sentences", "train", "dev", "test", "heads", "pipeline", "layers")
        return ProbeSpec(**{name: getattr(self, name) for name in shared}, untrained=self.untrained, seed=self.seed)

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, and the first of them untrained where that was asked for and none is."""
        return self.as_probes.probed
