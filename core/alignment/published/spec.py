"""The published protocol's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.alignment.maps.registry import DEFAULT_METHODS
from core.errors import SpecError

OURS_OF = {  # maps of our study, in the tasks that the page's own study has
    "models": tuple(name for name in DEFAULT_METHODS if name != "kernel"),
    "tuned": ("inn",),
}


@dataclass(frozen=True)
class ProtocolSpec(options.Spec):
    """The published protocol and ours on one pair of pretrained models and one pair of fine-tunes."""

    models: tuple[str, ...] = options.models(
        "Pair", ("zoo:seed-0", "zoo:seed-1"), least=2, most=2, help="The first is mapped into the second."
    )
    tuned: tuple[str, ...] = options.models(
        "Fine-tuned pair",
        ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1"),
        least=0,
        most=2,
        help="Fine-tunes of the two, for one task; none where empty.",
    )
    length: int = options.whole(
        "Padded to", 128, low=8, high=512, help="Subwords that every sentence is padded to; 128 in the code."
    )
    steps: int = options.whole(
        "Batches",
        350,
        low=1,
        high=3000,
        help="Of their training, 3,000 in the code; its rate falls by 1 % a batch, so that those after 350 can move a "
        "weight by 3 % of what the others can.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    seed: int = options.seed("Seed of the splits, first weights and dropout.")

    def check(self) -> None:
        if len(self.tuned) == 1:
            raise SpecError("The fine-tuned pair needs two models, or none.")

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Both pairs by name."""
        return {"models": self.models, **({"tuned": self.tuned} if self.tuned else {})}
