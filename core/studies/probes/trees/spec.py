"""Options of the probe study, and the rules between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from core import options
from core.errors import SpecError
from core.maths.structural.positions import SIZE
from core.models import parse_ref
from core.options import Spec
from core.options.layer_numbers import FEW, SOME
from core.studies.probes.minimal_pairs.templates import KINDS, MOST

SHARES = {"train": 8, "dev": 1, "test": 1}  # of ten
SPLIT = "/".join(str(10 * share) for share in SHARES.values())
PROBES = {
    "distance": "edges between every two words in the tree",
    "depth": "edges between every word and the root",
}
HEADS = {
    "auto": "the text's own heads, or a parser's where it has none",
    "corpus": "the text's own heads",
    "parser": "a parser's heads, even where the text has its own",
}
POSITIONS = {
    "auto": "for models without positions in their vectors, such as those with rotary positions",
    "on": "for every model",
    "off": "for no model",
}


def parsers() -> Mapping[str, str]:
    """The installed parsers, for an option."""
    from core.text.pipelines import BOX, available_pipelines

    return dict.fromkeys(available_pipelines(), "") | {BOX: "the included parser"}


# options of several studies of probes
models_option = partial(
    options.models,
    "Models (the first is the base)",
    ("zoo:seed-0", "zoo:parse-0"),
    help="Models that are probed; the others are compared with the first, the base.",
)
rank_option = partial(
    options.whole,
    "Rank",
    low=1,
    high=8_192,
    phrase="; rank {}",
    help="Dimensions that the probe's map keeps; at most those of the model.",
)
train_option = partial(
    options.corpus,
    "",
    label="Training text",
    help=f"With dev and test, replaces the {SPLIT} split of one text.",
    shown=False,
)
dev_option = partial(
    options.corpus,
    "",
    label="Development text",
    help="Sentences that choose layers and decide when training stops.",
    shown=False,
)
test_option = partial(
    options.corpus,
    "",
    label="Test text",
    help="Sentences on which the probes are scored.",
    shown=False,
)
heads_option = partial(
    options.choice,
    "Trees",
    "auto",
    HEADS,
    help="Parses used to train and score the probes.",
    defines=True,
)
pipeline_option = partial(
    options.choice,
    "Parser",
    "box",
    parsers,
    help="Predicts the trees of text that has no heads.",
    defines=True,
)
layers_option = partial(
    options.layers,
    help=f"Layers to probe; 0 is the embedding output. Of models with more than {FEW} layers, "
    f"{SOME} are probed unless you write all or numbers.",
)
seeds_option = partial(
    options.whole,
    "Probes per layer",
    low=1,
    high=10,
    help="Probes with different initial maps and orders of sentences; a score is their mean.",
)
controls_option = partial(
    options.whole,
    "Draws of control trees",
    low=0,
    high=20,
    help="Sets of meaningless trees that probes learn too, for selectivity; 0 for none.",
)
labels_option = partial(  # the option `controls` of probes of labels
    options.whole,
    "Draws of control labels",
    low=0,
    high=20,
    help="Sets of random labels by word type that probes learn too, for selectivity; 0 for none.",
)
untrained_option = partial(
    options.flag,
    "Untrained model",
    True,
    help="Adds the first model with random weights, unless a random: model is listed.",
)
conditional_option = partial(
    options.flag,
    "What layers add",
    False,
    help="Adds probes of each layer together with the static window, to see what the layers add; "
    "it takes two to three times as long.",
)
epochs_option = partial(
    options.whole,
    "Most epochs",
    40,
    low=1,
    high=200,
    help="Passes over the training sentences at most.",
)
draws_option = partial(options.draws, 1_000, help="Resamples of test sentences behind each band.")
seed_option = partial(
    options.seed,
    help="Seed of the initial maps, the order of sentences, the control rules and the bootstrap.",
)
kinds_option = partial(
    options.choices,
    "Kinds of pairs",
    KINDS,
    KINDS,
    help="The rules of grammar that the pairs test.",
)
pairs_option = partial(
    options.whole,
    "Pairs of a kind",
    low=10,
    high=MOST,
    help="Minimal pairs of each kind; more of them narrow the intervals and take longer.",
)


@dataclass(frozen=True)
class ProbeSpec(Spec):
    """One study: structural probes of several models, layer by layer."""

    models: tuple[str, ...] = models_option()
    rank: int = rank_option(64)
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = train_option()
    dev: str = dev_option()
    test: str = test_option()
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    probes: tuple[str, ...] = options.choices(
        "Probes", PROBES, PROBES, help="Quantities that the probes predict."
    )
    position: str = options.choice(
        "Position code",
        "auto",
        POSITIONS,
        help=f"Appends a code of each word's position ({SIZE} numbers) to its vector, "
        "so that a probe can tell which words are adjacent.",
        defines=True,
    )
    layers: tuple[int, ...] = layers_option()
    seeds: int = seeds_option(3)
    controls: int = controls_option(5)
    untrained: bool = untrained_option()
    sweep: bool = options.flag(
        "Rank sweep",
        False,
        help="Adds probes of rank 1 to full at each model's best layer.",
        shown=False,
    )
    conditional: bool = conditional_option()
    sinks: str = options.sinks()
    epochs: int = epochs_option()
    draws: int = draws_option()
    seed: int = seed_option()

    def check(self) -> None:
        given = [bool(ref) for ref in (self.train, self.dev, self.test)]
        if any(given) and not all(given):
            raise SpecError("train, dev and test go together: give all three, or one corpus.")
        if self.sweep and "distance" not in self.probes:
            raise SpecError("sweep trains distance probes: add distance to probes.")
        object.__setattr__(self, "layers", tuple(sorted(self.layers)))

    @property
    def given_splits(self) -> bool:
        """Whether train, dev and test were given."""
        return bool(self.train)

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, with the first one untrained where asked for and not listed."""
        if not self.untrained or any(parse_ref(ref).random for ref in self.models):
            return self.models
        return (*self.models, f"random:{self.models[0]}")


class SameTrees(Spec):
    """Options of a study of other probes, with the rules of `ProbeSpec` on splits and layers."""

    def check(self) -> None:
        object.__setattr__(self, "layers", self.as_probes.layers)

    @cached_property
    def as_probes(self) -> ProbeSpec:
        """The structural-probe study of the same models, text, trees and split."""
        return ProbeSpec(**self.options_for(ProbeSpec))

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, with the first one untrained where asked for and not listed."""
        return self.as_probes.probed
