"""Options of task arithmetic, and which sums of task vectors they ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core import options
from core.errors import SpecError

MOST_MODELS = 12
ALONE, ADDED, TOGETHER, CHOSEN = "alone", "with another", "all together", "chosen factors"
SCALES = (-1.0, 0.0, 0.25, 0.5, 0.75, 1.0)  # of a change alone: subtracted, none, part, whole
COMMON = (0.25, 0.5, 0.75, 1.0)  # of all changes
BESIDE = (1.0, -1.0)  # of another's change: added, subtracted


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
        """The factors; none if none are given. Raises SpecError if one is no finite number."""
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


@dataclass(frozen=True)
class Sum:
    """One sum.

    Attributes:
        way: `ALONE`, `ADDED`, `TOGETHER` or `CHOSEN`.
        scale: The factor that varies.
        factors: Of the scored fine-tune's change, then of the others'.
        added: The other fine-tune of `ADDED`.
    """

    way: str
    scale: float
    factors: tuple[float, ...]
    added: str = ""


def sums_of(model: str, refs: Sequence[str], chosen: Sequence[float] = ()) -> list[Sum]:
    """List the sums that are scored under a fine-tune's head; `chosen` factors, if any, are in the
    order of `refs`. Raises SpecError if there are not as many as fine-tunes."""
    others = [ref for ref in refs if ref != model]
    none = (0.0,) * len(others)
    sums = [Sum(ALONE, scale, (scale, *none)) for scale in SCALES]
    sums += [
        Sum(ADDED, scale, (1.0, *(scale * (ref == added) for ref in others)), added)
        for added in others
        for scale in BESIDE
    ]
    sums += [Sum(TOGETHER, scale, (scale,) * len(refs)) for scale in COMMON]
    if chosen:
        if len(chosen) != len(refs):
            raise SpecError(
                f"There are {len(chosen)} factors for {len(refs)} fine-tunes: give one for each, "
                f"in the order {', '.join(refs)}."
            )
        by_ref = dict(zip(refs, chosen, strict=True))
        sums.append(Sum(CHOSEN, by_ref[model], tuple(by_ref[ref] for ref in (model, *others))))
    return sums
