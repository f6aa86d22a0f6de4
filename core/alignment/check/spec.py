"""The bijection check's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.alignment.seeds.spec import ITEMS, check_rows, methods_option, split_option
from core.options import MOST_LAYERS

DEFAULT = ("identity", "procrustes", "ols", "ridge", "kernel", "inn", "mlp")
TRUTHS = {
    "coupling": "affine coupling blocks, the invertible network's own form",
    "bend": "rotation, every coordinate bent, rotation",
    "residual": "a contraction added to the identity",
}


@dataclass(frozen=True)
class CheckSpec(options.Spec):
    """A bijection check: which model's states, at which layer, bent in which ways, undone by which maps."""

    model: str = options.model("Model", "zoo:seed-0", help="Whose hidden states are bent.")
    layer: int = options.whole("Layer", 3, low=0, high=MOST_LAYERS, help="Whose states are bent; 0 = embeddings.")
    truths: tuple[str, ...] = options.choices("Truths", tuple(TRUTHS), TRUTHS, help="The forms of the known bijection.")
    methods: tuple[str, ...] = methods_option(DEFAULT, "The maps that are asked to undo it.")
    split: str = split_option()
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    items: str = options.choice("Rows", "words", ITEMS, help="What a row of the space is.")
    seed: int = options.seed("Seed of the split, the truths, the networks and the samples.")

    def check(self) -> None:
        check_rows(self.items, self.split)
