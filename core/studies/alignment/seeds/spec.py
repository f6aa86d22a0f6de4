"""The options of the seed-alignment study, for its page and its command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from core import options
from core.errors import SpecError
from core.maths.maps.registry import (
    DEFAULT_METHODS,
    LINEAR,
    METHODS,
    NETWORKS,
    OF_STATES,
    STATIC,
)
from core.models.zoo import second_run
from core.options import Spec
from core.options.layer_numbers import FEW, SOME

ITEMS = {
    "words": "every word of the sentences",
    "cls": "[CLS]: one vector per sentence",
    "mean": "sentence means: one vector per sentence, the mean of its words",
}
SPLITS = {
    "word": "no word type is in both training and test, so no map can memorise test words",
    "sentence": (
        "whole sentences are held out; most of their words also occur in training sentences"
    ),
}
MOST_MODELS = 25
AGAIN = "second run"  # group of a seed and its second run


# options of the study and its experiments
split_option = partial(
    options.choice,
    "Held out",
    "word",
    SPLITS,
    phrase="; split by {}",
    help="Whether whole word types or whole sentences are held out for testing the maps.",
    defines=True,
)
items_option = partial(
    options.choice,
    "Rows",
    "words",
    ITEMS,
    help="Whether a row is a word or a whole sentence.",
    defines=True,
)


def models_option(
    help: str, label: str = "Models", default: tuple[str, ...] = ("zoo:seed-0", "zoo:seed-1")
) -> Any:
    """Declare the models of a study of pairs."""
    return options.models(label, default, least=2, most=MOST_MODELS, help=help)


def methods_option(default: tuple[str, ...], help: str, static: bool = False) -> Any:
    """Declare maps of the registry, those of the static window only if asked for."""
    return options.choices(
        "Maps",
        default,
        lambda: {  # a method may be registered later
            name: method.label
            for name, method in METHODS.items()
            if static or method.kind != "static"
        },
        has_titles=True,
        phrase="; {}",
        help=help,
    )


@dataclass(frozen=True)
class AlignSpec(Spec):
    """One study: every model of a group aligned with every other, in both directions."""

    models: tuple[str, ...] = models_option(
        "Two or more models; maps are fitted for every ordered pair."
    )
    against: tuple[str, ...] = options.models(
        "Second group",
        (),
        least=0,
        most=MOST_MODELS,
        help="A second set of models to compare with the first, such as fine-tuned seeds; "
        "leave it empty for none.",
    )
    methods: tuple[str, ...] = methods_option(
        (*DEFAULT_METHODS, *STATIC),
        "The maps fitted from source to target; the non-linear ones take most of the time.",
        static=True,
    )
    split: str = split_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    items: str = items_option()
    layers: tuple[int, ...] = options.layers(
        "Layers",
        help=f"The layers to align; 0 is the embeddings. Of models with more than {FEW} layers, "
        f"{SOME} are aligned unless you write all or numbers.",
    )
    grid: str = options.choice(
        "Layer into layer",
        "ridge",
        {"": "none", **{name: METHODS[name].label for name in LINEAR}},
        has_titles=True,
        help="The linear map from every layer of the first model into every layer of the second; "
        "empty for none.",
        shown=False,
    )
    second_run: bool = options.flag(
        "Second run",
        True,
        help="Also align an included seed with a second training run of it, to see how much of the "
        "error is another seed and how much any two runs and the maps themselves leave.",
    )
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the split, the networks and the samples.")

    def check(self) -> None:
        if len(self.against) == 1:
            raise SpecError(
                "The second group has one model and needs at least two, or none: "
                "add a model or clear it."
            )
        if not set(self.methods).intersection(OF_STATES):
            raise SpecError(
                "methods takes at least one map of hidden states, such as ridge: the maps chosen "
                "are only what such a map is compared with."
            )
        check_rows(self.items, self.split)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups by name; the last is the first of the models that was trained a second time,
        with its second run."""
        groups = {"models": self.models, "against": self.against}
        if self.second_run:
            pairs = ((ref, second_run(ref)) for ref in self.models)
            groups[AGAIN] = next((pair for pair in pairs if pair[1] not in ("", *self.models)), ())
        return {name: refs for name, refs in groups.items() if refs}

    @property
    def refs(self) -> tuple[str, ...]:
        """The models of all groups."""
        return tuple(ref for group in self.groups.values() for ref in group)

    def methods_of(self, group: str) -> tuple[str, ...]:
        """Choose the maps of a group: of a second run only those of hidden states that need no
        training, of rows that are no words none of the static window."""
        left_out = (*STATIC, *NETWORKS) if group == AGAIN else ()
        if self.items != "words":
            left_out = (*STATIC, *left_out)
        return tuple(name for name in self.methods if name not in left_out)

    def pairs(self) -> list[tuple[str, str, str]]:
        """List every unordered pair, (group, one, other), which is mapped in both directions."""
        return [
            (group, *pair) for group, refs in self.groups.items() for pair in combinations(refs, 2)
        ]


def check_rows(items: str, split: str) -> None:
    """Raise SpecError where rows that are split by word are no words."""
    if items != "words" and split == "word":
        raise SpecError(
            f"split takes sentence where items is {items}: "
            "a row is a whole sentence, so it belongs to no word type."
        )
