"""What the seed-alignment page or the command line may ask for: each option is declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from core import options
from core.alignment.maps.registry import DEFAULT_METHODS, LINEAR, METHODS, STATIC
from core.errors import SpecError
from core.options import Spec

ITEMS = {
    "words": "every word of the sentences",
    "cls": "[CLS]: one vector per sentence",
    "mean": "sentence means: the mean of a sentence's words",
}
SPLITS = {
    "word": "no word type is on both sides, so nothing can be remembered by word",
    "sentence": "whole sentences are held out; most of their words were fitted on in other sentences",
}
MOST_MODELS = 25


def split_option() -> str:
    """The option `split`, the same in the study and its experiments."""
    split: str = options.choice("Held out", "word", SPLITS, said="; split by {}", help="What is kept from fitting.")
    return split


def methods_option(default: tuple[str, ...], help: str, static: bool = False) -> tuple[str, ...]:
    """The option `methods`, any of the registry's maps; those of the static window only where they are asked for."""
    methods: tuple[str, ...] = options.choices(
        "Maps",
        default,
        lambda: {  # a method may be registered later
            name: method.label for name, method in METHODS.items() if static or method.kind != "static"
        },
        titled=True,
        said="; {}",
        help=help,
    )
    return methods


@dataclass(frozen=True)
class AlignSpec(Spec):
    """One study: every model of a group aligned with every other, in both directions."""

    models: tuple[str, ...] = options.models(
        "Models",
        ("zoo:seed-0", "zoo:seed-1"),
        least=2,
        most=MOST_MODELS,
        help="Two or more; every ordered pair is a map from source to target.",
    )
    against: tuple[str, ...] = options.models(
        "Second group",
        (),
        least=0,
        most=MOST_MODELS,
        help="Aligned among itself and shown beside the first, such as fine-tuned seeds; none where empty.",
    )
    methods: tuple[str, ...] = methods_option(
        (*DEFAULT_METHODS, *STATIC),
        "How one space is mapped to the other. The non-linear maps take most of the time.",
        static=True,
    )
    split: str = split_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    items: str = options.choice("Rows", "words", ITEMS, help="What a row of the two spaces is.")
    layers: tuple[int, ...] = options.layers("Layers", help="Layers aligned; 0 is the embedding output.")
    grid: str = options.choice(
        "Layer into layer",
        "ridge",
        {"": "none", **{name: METHODS[name].label for name in LINEAR}},
        titled=True,
        help="The linear map by which any layer of the first pair is mapped into any other.",
        shown=False,
    )
    seed: int = options.seed("Seed of splits, networks and samples.")

    def check(self) -> None:
        if len(self.against) == 1:
            raise SpecError("The second group needs at least two models, or none.")
        check_rows(self.items, self.split)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups by name."""
        return {"models": self.models, **({"against": self.against} if self.against else {})}

    def pairs(self) -> list[tuple[str, str, str]]:
        """(group, one, other) of every unordered pair; it is mapped in both directions."""
        return [(group, *pair) for group, refs in self.groups.items() for pair in combinations(refs, 2)]


def check_rows(items: str, split: str) -> None:
    """Refuse a split by word of rows that are no words.

    Raises:
        SpecError: As said.
    """
    if items != "words" and split == "word":
        raise SpecError(f"split takes sentence where items is {items}: a row of a whole sentence has no word.")
