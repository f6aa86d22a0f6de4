"""Which sums of task vectors are scored under each head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SpecError

ALONE, ADDED, TOGETHER, CHOSEN = "alone", "with another", "all together", "chosen factors"
SCALES = (-1.0, 0.0, 0.25, 0.5, 0.75, 1.0)  # of a change alone: subtracted, none, part, whole
COMMON = (0.25, 0.5, 0.75, 1.0)  # of all changes
BESIDE = (1.0, -1.0)  # of another's change: added, subtracted


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
    """List the sums that are scored under a fine-tune's head.

    Args:
        model: Of these.
        refs: All fine-tunes.
        chosen: Factors in their order; none if empty.

    Raises:
        SpecError: If there are not as many factors as fine-tunes.
    """
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
