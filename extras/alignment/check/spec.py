"""The bijection check's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.options import MOST_LAYERS
from core.studies.alignment.seeds.spec import check_rows, items_option, methods_option, split_option

DEFAULT = ("identity", "procrustes", "ols", "ridge", "kernel", "inn", "mlp")
TRUTHS = {
    "coupling": "affine coupling blocks, the form of the invertible network",
    "bend": "a monotone function of every coordinate between two rotations",
    "residual": "the identity plus a contraction",
    "monotone": "a monotone function of every coordinate, steep on one side, between rotations",
    "triangular": "each coordinate plus a quadratic of those before it",
    "inversion": "inversion in a sphere",
    "twist": "pairs of coordinates turned by an angle that grows with the norm",
}
DEFAULT_TRUTHS = ("coupling", "bend", "residual")


@dataclass(frozen=True)
class CheckSpec(options.Spec):
    """The options of the bijection check: the model, the layer, the forms of the bijection, the
    maps."""

    model: str = options.model(
        "Model", "zoo:seed-0", help="The model whose hidden states are transformed."
    )
    layer: int = options.whole(
        "Layer",
        3,
        low=0,
        high=MOST_LAYERS,
        help="The layer whose states are transformed; 0 is the embeddings.",
    )
    truths: tuple[str, ...] = options.choices(
        "Forms of the bijection",
        DEFAULT_TRUTHS,
        TRUTHS,
        help="The forms of the known bijection; each one added takes as long as the first.",
    )
    methods: tuple[str, ...] = methods_option(DEFAULT, "The maps fitted to undo the bijection.")
    split: str = split_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    items: str = items_option()
    sinks: str = options.sinks()
    seed: int = options.seed("Seed of the split, the bijections, the networks and the samples.")

    def check(self) -> None:
        check_rows(self.items, self.split)
