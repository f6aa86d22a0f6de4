"""Options of task arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core import options
from core.errors import SpecError

MOST_MODELS = 12


@dataclass(frozen=True)
class ArithmeticSpec(options.Spec):
    """Which fine-tunes of which base are added, and what their sums are scored on."""

    base: str = options.base()
    models: tuple[str, ...] = options.models(
        "Fine-tunes",
        ("zoo:parse-0", "zoo:pos-0", "zoo:sentiment-0"),
        least=2,
        most=MOST_MODELS,
        patterns=True,
        help="Two or more fine-tunes of the base, or adapters; those whose head labels "
        "sentences, tags words or finds dependency heads are scored.",
    )
    factors: str = options.line(
        "Factors",
        "",
        help="One factor for each fine-tune, such as 1 0.5 -1: this sum is scored, too; "
        "if empty, common factors and pairs alone.",
    )
    corpus: str = options.corpus("demo-gold", shown=False)
    sentences: int = options.sentences(150)
    labelled: str = options.labelled()
    randoms: int = options.whole(
        "Random updates",
        3,
        low=2,
        high=50,
        help="How often each fine-tune's change is rotated at random, as a rival of equal norm and "
        "spectrum; more draws narrow the intervals.",
    )
    draws: int = options.draws()
    seed: int = options.seed("Seed of the random updates and the resamples.")

    def check(self) -> None:
        """Check that the factors are numbers. Raises SpecError if they are not."""
        self.chosen  # noqa: B018

    @property
    def chosen(self) -> tuple[float, ...]:
        """The factors; none if none are given.

        Raises:
            SpecError: If one is no finite number.
        """
        factors = []
        for word in self.factors.replace(",", " ").replace("−", "-").split():
            try:
                factors.append(float(word))
            except ValueError:
                factors.append(math.nan)
            if not math.isfinite(factors[-1]):
                raise SpecError(
                    f"{word!r} is no factor: write a number for each fine-tune, such as 1 0.5 -1."
                )
        return tuple(factors)
