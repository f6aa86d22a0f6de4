"""Layer swap's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.options.layer_numbers import FEW, SOME


@dataclass(frozen=True)
class SwapSpec(options.Spec):
    """One study: a base, and fine-tunes whose layers are replaced by the base's."""

    base: str = options.base()
    compare: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:sentiment-0", "zoo:pos-0", "zoo:parse-0"),
        most=12,
        patterns=True,
        help="Models whose head labels sentences, tags words or finds dependency heads; "
        "patterns such as zoo:parse-* work too.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    labelled: str = options.labelled()
    layers: tuple[int, ...] = options.layers(
        help=f"Layers to revert; 0 is the embeddings. Of models with more than {FEW} layers, "
        f"{SOME} are reverted, and 3 of these changed at random, unless you write all or numbers.",
    )
    noises: int = options.whole(
        "Random changes",
        3,
        low=2,
        high=20,
        help="How often the fine-tune's weight change is rotated at random, for a baseline that "
        "changes outputs as much as reverting does; more draws give narrower bands.",
    )
    random: bool = options.flag(
        "Random layers",
        True,
        help="Also replace layers by layers with random weights, to see what a lost layer costs.",
    )
    frozen: bool = options.flag(
        "Frozen fine-tunes",
        True,
        help="Add the included fine-tunes of the same task whose lower layers were frozen.",
    )
    draws: int = options.draws()
    seed: int = options.seed("Seed of the random changes and the bootstrap.")
