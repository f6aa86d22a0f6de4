"""What the probe page or the command line may ask for: each option is declared here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core import options
from core.errors import SpecError
from core.models import parse_ref
from core.options import Spec

PROBES = {
    "distance": "between every two words: the tree itself",
    "depth": "of every word: how far it stands from the root",
}
HEADS = {
    "auto": "the text's own heads, or a parser's where it has none",
    "corpus": "the text's own heads",
    "parser": "a parser's heads, whatever the text has",
}
WINDOW_REACH = 1  # words on either side: a wider window gives a linear probe more to overfit than to read
POSITIONS = {
    "auto": "for models that add no positions to their vectors, such as those with rotary positions",
    "on": "for every model",
    "off": "for none",
}


def parsers() -> Mapping[str, str]:
    """The parsers that are there, for an option."""
    from core.text.parsing import available_pipelines

    return dict.fromkeys(available_pipelines(), "")


@dataclass(frozen=True)
class ProbeSpec(Spec):
    """One study: structural probes of several models, layer by layer."""

    models: tuple[str, ...] = options.models(
        "Models (the first is the base)", ("zoo:seed-0", "zoo:parse-0"), help="The first is the base of comparisons."
    )
    rank: int = options.whole(
        "Rank", 64, low=1, high=8_192, help="Rows of B; a smaller model gets a probe of full rank.", said="; rank {}"
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = options.corpus(
        "", label="Training text", help="With dev and test: splits as given, not 80/10/10 of one text.", shown=False
    )
    dev: str = options.corpus("", label="Development text", help="Sentences that decide when to stop.", shown=False)
    test: str = options.corpus("", label="Test text", help="Sentences that are scored.", shown=False)
    heads: str = options.choice("Trees", "auto", HEADS, help="Whose trees the probes learn.")
    pipeline: str = options.choice("Parser", "box", parsers, help="Draws the trees of text without heads.")
    probes: tuple[str, ...] = options.choices("Probes", PROBES, PROBES, help="What the probes predict.")
    position: str = options.choice(
        "Positions beside the vectors", "auto", POSITIONS, help="A code of each word's place, 16 numbers."
    )
    layers: tuple[int, ...] = options.layers(help="Layers to probe; 0 is the embedding output.")
    seeds: int = options.whole(
        "Probes per layer", 3, low=1, high=10, help="From other initial maps; a score is their mean."
    )
    controls: int = options.whole(
        "Draws of control trees", 5, low=0, high=20, help="What a probe learns of trees that mean nothing; 0 for none."
    )
    untrained: bool = options.flag(
        "Untrained model", True, help="Add the first model with random weights, where no random: model is listed."
    )
    sweep: bool = options.flag(
        "Rank sweep", False, help="Add probes of rank 1 to full at each model's best layer.", shown=False
    )
    epochs: int = options.whole("Most epochs", 40, low=1, high=200, help="Passes over the training sentences.")
    draws: int = options.whole("Bootstrap draws", 1_000, low=20, high=10_000, help="Resamples of test sentences.")
    seed: int = options.seed("Seed of the maps, the order of sentences, the control rules and the bootstrap.")

    def check(self) -> None:
        given = [bool(ref) for ref in (self.train, self.dev, self.test)]
        if any(given) and not all(given):
            raise SpecError("train, dev and test go together: give all three, or a corpus to be split.")
        if self.sweep and "distance" not in self.probes:
            raise SpecError("sweep trains distance probes: add distance to probes.")
        object.__setattr__(self, "layers", tuple(sorted(self.layers)))

    @property
    def given_splits(self) -> bool:
        """Whether train, dev and test were given as files."""
        return bool(self.train)

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, and the first of them untrained where that was asked for and none is."""
        if not self.untrained or any(parse_ref(ref).random for ref in self.models):
            return self.models
        return (*self.models, f"random:{self.models[0]}")
