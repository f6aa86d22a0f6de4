"""Options of the probe study, and the rules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from core import options
from core.errors import SpecError
from core.models import parse_ref
from core.options import Spec

PROBES = {
    "distance": "edges between every two words in the tree",
    "depth": "edges between every word and the root",
}
HEADS = {
    "auto": "the text's own heads, or a parser's where it has none",
    "corpus": "the text's own heads",
    "parser": "a parser's heads, even where the text has its own",
}
# options of every study of other probes on the same models, text, trees and split
SHARED = (
    *("models", "corpus", "genres", "sentences", "train", "dev", "test", "heads", "pipeline"),
    *("layers", "untrained", "sinks", "seed"),
)
POSITIONS = {
    "auto": "for models without positions in their vectors, such as those with rotary positions",
    "on": "for every model",
    "off": "for no model",
}


def parsers() -> Mapping[str, str]:
    """The installed parsers, for an option."""
    from core.text.pipelines import BOX, available_pipelines

    return dict.fromkeys(available_pipelines(), "") | {BOX: "the included parser"}


def heads_option() -> str:
    """Return the option `heads`, the same in every study of trees."""
    heads: str = options.choice(
        "Trees", "auto", HEADS, help="Parses used to train and score the probes."
    )
    return heads


def pipeline_option() -> str:
    """Return the option `pipeline`, the same in every study of trees."""
    pipeline: str = options.choice(
        "Parser", "box", parsers, help="Predicts the trees of text that has no heads."
    )
    return pipeline


def seeds_option(default: int = 3) -> int:
    """Return the option `seeds`, the same in every study of trees but for its default."""
    seeds: int = options.whole(
        "Probes per layer",
        default,
        low=1,
        high=10,
        help="Probes with different initial maps and orders of sentences; a score is their mean.",
    )
    return seeds


def controls_option(default: int) -> int:
    """Return the option `controls`, the same in both studies of trees but for its default."""
    controls: int = options.whole(
        "Draws of control trees",
        default,
        low=0,
        high=20,
        help="Sets of meaningless trees that probes learn too, for selectivity; 0 for none.",
    )
    return controls


def conditional_option(longer: str) -> bool:
    """Return the option `conditional`, the same in every study of trees but for its time.

    Args:
        longer: How many times as long a study with it takes, in words.
    """
    conditional: bool = options.flag(
        "What layers add",
        False,
        help="Adds probes of each layer together with the static window, to see what the layers "
        f"add; it takes {longer} as long.",
    )
    return conditional


def models_option() -> tuple[str, ...]:
    """Return the option `models`, the same in every study that compares models with a base."""
    models: tuple[str, ...] = options.models(
        "Models (the first is the base)",
        ("zoo:seed-0", "zoo:parse-0"),
        help="Models that are probed; the others are compared with the first, the base.",
    )
    return models


def rank_option() -> int:
    """Return the option `rank`, the same in every study whose probes are maps."""
    rank: int = options.whole(
        "Rank",
        64,
        low=1,
        high=8_192,
        help="Dimensions that the probe's map keeps; at most those of the model.",
        said="; rank {}",
    )
    return rank


def train_option() -> str:
    """Return the option `train`, the same in every study with a split of its own."""
    train: str = options.corpus(
        "",
        label="Training text",
        help="With dev and test, replaces the 80/10/10 split of one text.",
        shown=False,
    )
    return train


def dev_option() -> str:
    """Return the option `dev`, the same in every study of trees."""
    dev: str = options.corpus(
        "",
        label="Development text",
        help="Sentences that choose layers and decide when training stops.",
        shown=False,
    )
    return dev


def scored_option(scored: str = "probes") -> str:
    """Return the option `test`, the same in every study of probes but for what it scores."""
    test: str = options.corpus(
        "", label="Test text", help=f"Sentences on which the {scored} are scored.", shown=False
    )
    return test


def untrained_option() -> bool:
    """Return the option `untrained`, the same in every study of probes."""
    untrained: bool = options.flag(
        "Untrained model",
        True,
        help="Adds the first model with random weights, unless a random: model is listed.",
    )
    return untrained


def epochs_option() -> int:
    """Return the option `epochs`, the same in every study of trees."""
    epochs: int = options.whole(
        "Most epochs", 40, low=1, high=200, help="Passes over the training sentences at most."
    )
    return epochs


def draws_option() -> int:
    """Return the option `draws`, the same in every study of trees."""
    draws: int = options.draws(1_000, "Resamples of test sentences behind each band.")
    return draws


def seed_option() -> int:
    """Return the option `seed`, the same in every study of trees."""
    seed: int = options.seed(
        "Seed of the initial maps, the order of sentences, the control rules and the bootstrap."
    )
    return seed


@dataclass(frozen=True)
class ProbeSpec(Spec):
    """One study: structural probes of several models, layer by layer."""

    models: tuple[str, ...] = models_option()
    rank: int = rank_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(800)
    train: str = train_option()
    dev: str = dev_option()
    test: str = scored_option()
    heads: str = heads_option()
    pipeline: str = pipeline_option()
    probes: tuple[str, ...] = options.choices(
        "Probes", PROBES, PROBES, help="Quantities that the probes predict."
    )
    position: str = options.choice(
        "Position code",
        "auto",
        POSITIONS,
        help="Appends a code of each word's position (16 numbers) to its vector, so that a probe "
        "can "
        "tell which words are adjacent.",
    )
    layers: tuple[int, ...] = options.layers(help="Layers to probe; 0 is the embedding output.")
    seeds: int = seeds_option()
    controls: int = controls_option(5)
    untrained: bool = untrained_option()
    sweep: bool = options.flag(
        "Rank sweep",
        False,
        help="Adds probes of rank 1 to full at each model's best layer.",
        shown=False,
    )
    conditional: bool = conditional_option("two to three times")
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

    shared: ClassVar[tuple[str, ...]] = SHARED

    def check(self) -> None:
        object.__setattr__(self, "layers", self.as_probes.layers)

    @property
    def as_probes(self) -> ProbeSpec:
        """The structural-probe study of the same models, text, trees and split."""
        return ProbeSpec(**{name: getattr(self, name) for name in self.shared})

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, with the first one untrained where asked for and not listed."""
        return self.as_probes.probed


def which_layers(layers: Sequence[int]) -> str:
    """Say which layers a study reads, for a methods paragraph; no layers are every layer."""
    return f"layers {', '.join(map(str, layers))}" if layers else "every layer"
