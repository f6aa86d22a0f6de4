"""Layer swap's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options


@dataclass(frozen=True)
class SwapSpec(options.Spec):
    """One study: a base, and fine-tunes whose layers are exchanged with its own."""

    base: str = options.model("Base model", "zoo:seed-0", help="The model that the others come from.")
    compare: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:sentiment-0", "zoo:pos-0", "zoo:parse-0"),
        most=12,
        patterns=True,
        help="Models with a head that labels sentences, tags words or finds heads; patterns such as zoo:parse-* too.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(200)
    labelled: str = options.line(
        "Labelled sentences",
        help="A file of lines `label<TAB>sentence`; the box's own sentiment sentences where empty.",
        shown=False,
    )
    noises: int = options.whole(
        "Draws of noise", 3, low=2, high=20, help="Rivals: the fine-tune's own change, turned in random directions."
    )
    random: bool = options.flag("Random layers", True, help="Also exchange with layers of random weights.")
    frozen: bool = options.flag(
        "Frozen fine-tunes", True, help="Add the box's fine-tunes of the same task whose lower layers did not train."
    )
    draws: int = options.whole(
        "Bootstrap draws", 500, low=20, high=10_000, help="Resamples of sentences behind each band."
    )
    seed: int = options.seed("Seed of the noise and the draws.")
