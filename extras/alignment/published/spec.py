"""The published protocol's options, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass

from core import options
from core.errors import SpecError
from core.maths.maps.registry import DEFAULT_METHODS

BATCH, LEARNING_RATE, DECAY = 64, 1e-6, 0.99  # of the published code
OURS_OF = {  # maps of our protocol, in the tasks of the page's own study
    "models": tuple(name for name in DEFAULT_METHODS if name != "kernel"),
    "tuned": ("inn",),
}


THEIR_STEPS = 3000  # batches of the published code


@dataclass(frozen=True)
class ProtocolSpec(options.Spec):
    """The options of the published protocol: one pair of pretrained models and one pair of
    fine-tunes."""

    models: tuple[str, ...] = options.models(
        "Pair",
        ("zoo:seed-0", "zoo:seed-1"),
        least=2,
        most=2,
        help="Two models; the first is mapped into the second.",
    )
    tuned: tuple[str, ...] = options.models(
        "Fine-tuned pair",
        ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1"),
        least=0,
        most=2,
        help="Fine-tunes of the two models on one task; leave it empty for none.",
    )
    length: int = options.whole(
        "Padded length",
        128,
        low=8,
        high=512,
        help="Subwords to which sentences are padded; 128 in the published code.",
    )
    steps: int = options.whole(
        "Batches",
        350,
        low=1,
        high=THEIR_STEPS,
        help="Training batches; "
        "3,000 in the published code, whose rate falls by 1 % per batch, so that batches after 350 "
        "together change a weight by at most 3 % of what the earlier ones can.",
    )
    corpus: str = options.corpus()
    genres: tuple[str, ...] = options.genres()
    sentences: int = options.sentences(250)
    seed: int = options.seed("Seed of the splits, the initial weights and the dropout.")

    def check(self) -> None:
        if len(self.tuned) == 1:
            raise SpecError(
                "The fine-tuned pair has one model and needs two models, or none: "
                "add one or clear it."
            )

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The pairs by name."""
        return {"models": self.models, **({"tuned": self.tuned} if self.tuned else {})}
