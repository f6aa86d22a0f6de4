"""What is wrong with a series of checkpoints, from samples of their weights.

Checkpoints of one run share their directions, those of unrelated runs do not. Along a run, a
checkpoint is farther from those that are farther away in time (distances are a Robinson matrix), so
that the order can be recovered from the end by going to the nearest one each time. The order is
judged only where it can be recovered without a contradiction.

Distances are the same backwards, and a run whose weights swing back has the distances of one with
swapped steps. The direction is taken from the norm, which grows in training as a rule; where it
does not, the direction is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from core.models.changes import share_start
from core.models.identity import IDENTICAL, SAME_WEIGHTS, find_copies

FINE, FOREIGN = "fine", "not of this run"
ALIKE = "equal where read"  # the samples are equal, the files are not, or not known to be
SWAPPED, MISPLACED, RELATED = "swapped", "out of order", "related"
INCOMPLETE, BROKEN, UNREADABLE = "missing weights", "not finite", "missing"
FINAL = "final model"  # no fault: where a run's last step is published as a step, too
WITH_OTHER = {
    IDENTICAL: f"{SAME_WEIGHTS} {{}}",
    ALIKE: "is equal to {} in the sample of weights that was read, but not known to be a copy",
    FINAL: "is the final model itself, {}",
    SWAPPED: "is swapped with {}",
    MISPLACED: "belongs before {}",
    RELATED: "is related to {}",
}
ALONE = {
    FOREIGN: "is not of this run",
    INCOMPLETE: "lacks weights that the others have",
    BROKEN: "holds numbers that are not finite",
    UNREADABLE: "cannot be read",
    MISPLACED: "belongs at the end",
}
SLACK = 0.02  # share of a distance by which a later one may be smaller: noise of the sample
Sample = Mapping[str, Float[ndarray, " number"]]


@dataclass(frozen=True)
class Verdict:
    """What was found of a checkpoint.

    Attributes:
        fault: One of the words above.
        partner: The checkpoint that it is identical to, swapped with, or related to; or where it
            belongs: before this one.
    """

    fault: str = FINE
    partner: str = ""


def fault_in_words(verdict: str, ref: str, other: str, names: Mapping[str, str]) -> str:
    """Say what is wrong with a checkpoint, such as "step-50 is swapped with step-800"; `names` are
    what models are called, their references where they are not in it."""
    words = WITH_OTHER[verdict].format(names.get(other, other)) if other else ALONE[verdict]
    return f"{names.get(ref, ref)} {words}"


@dataclass(frozen=True)
class Audit:
    """Verdicts on a series.

    Attributes:
        verdicts: By checkpoint.
        cosine: Of samples, (checkpoint, checkpoint), in the order of `verdicts`.
        ordered: Whether the order could be judged.
        forward: Whether the norm grows from the first checkpoint of the run to the last, so that
            the order is that of training and not its reverse.
    """

    verdicts: dict[str, Verdict]
    cosine: Float[ndarray, "checkpoint checkpoint"]
    ordered: bool
    forward: bool = False

    @property
    def nearest(self) -> dict[str, tuple[str, float]]:
        """The checkpoint with the highest cosine with each, and that cosine; ("", NaN) of an only
        one."""
        refs = list(self.verdicts)
        if len(refs) < 2:
            return dict.fromkeys(refs, ("", np.nan))
        others = np.where(np.eye(len(refs), dtype=bool), -np.inf, self.cosine)
        places = others.argmax(1)
        return {
            ref: (refs[place], float(others[n, place]))
            for n, (ref, place) in enumerate(zip(refs, places, strict=True))
        }


def audit_run(samples: Mapping[str, Sample], contents: Mapping[str, str]) -> Audit:
    """Audit the checkpoints of one run, whose samples are in the order that is claimed, the final
    model last; `contents` are what copies are known by, "" if unknown."""
    refs = list(samples)
    vectors, cosine, usable, verdicts = _compare(samples, contents)
    _mark_final(refs, usable, verdicts)
    distinct = [n for n in usable if verdicts[refs[n]].fault == FINE]
    run = _largest_component(_related(vectors, cosine), usable)
    for n in usable:
        if n not in run and len(run) > 1:
            verdicts[refs[n]] = Verdict(FOREIGN)
    members = [n for n in distinct if n in run]
    ordered = _mark_order(refs, vectors, members, verdicts)
    norms = np.linalg.norm(vectors[members], axis=1)
    return Audit(verdicts, cosine, ordered, bool(len(norms) and norms[-1] > norms[0]))


def audit_seeds(samples: Mapping[str, Sample], contents: Mapping[str, str]) -> Audit:
    """Audit models that should come from independent runs; arguments as of `audit_run`."""
    refs = list(samples)
    vectors, cosine, usable, verdicts = _compare(samples, contents)
    distinct = [n for n in usable if verdicts[refs[n]].fault == FINE]
    related = _related(vectors, cosine)
    for n in usable:
        near = [m for m in distinct if m != n and related[n, m]]
        if near and verdicts[refs[n]].fault == FINE:
            nearest = max(near, key=lambda m: cosine[n, m])
            verdicts[refs[n]] = Verdict(RELATED, refs[nearest])
    return Audit(verdicts, cosine, False)


def _compare(
    samples: Mapping[str, Sample], contents: Mapping[str, str]
) -> tuple[
    Float[ndarray, "checkpoint number"], Float[ndarray, "a b"], list[int], dict[str, Verdict]
]:
    """Join each sample to one vector, and compare them: the vectors, their cosines, which of them
    are whole and finite, and verdicts on those that are not, and on copies."""
    vectors, complete = _vectors(samples)
    verdicts = {ref: Verdict() if complete[ref] else Verdict(INCOMPLETE) for ref in samples}
    for ref, vector in zip(samples, vectors, strict=True):
        if not np.isfinite(vector).all():
            verdicts[ref] = Verdict(BROKEN)
    usable = [n for n, ref in enumerate(samples) if verdicts[ref].fault == FINE]
    _mark_identical(vectors, [contents.get(ref, "") for ref in samples], usable, verdicts)
    units = _units(vectors)
    return vectors, units @ units.T, usable, verdicts


def _vectors(
    samples: Mapping[str, Sample],
) -> tuple[Float[ndarray, "checkpoint number"], dict[str, bool]]:
    """Join each sample to one vector of the matrices that most checkpoints have, without those
    that are the same in all (tables of positions that are computed, not learned)."""
    shapes = Counter(
        (name, len(numbers)) for sample in samples.values() for name, numbers in sample.items()
    )
    common = [(name, size) for (name, size), count in shapes.items() if 2 * count > len(samples)]
    complete = {
        ref: bool(common) and all(len(sample.get(name, ())) == size for name, size in common)
        for ref, sample in samples.items()
    }
    whole = [sample for ref, sample in samples.items() if complete[ref]]
    learned = [
        (name, size)
        for name, size in common
        if any(not np.array_equal(sample[name], whole[0][name]) for sample in whole)
    ]
    vectors = [
        np.concatenate(
            [
                np.zeros(0),
                *(
                    sample[name] if complete[ref] else np.zeros(size)
                    for name, size in (learned or common)
                ),
            ]
        )
        for ref, sample in samples.items()
    ]
    return np.stack(vectors), complete


def _units(vectors: Float[ndarray, "checkpoint number"]) -> Float[ndarray, "checkpoint number"]:
    """Scale vectors to length 1; numbers that are not finite count as 0."""
    finite = np.where(np.isfinite(vectors), vectors, 0.0)
    norms = np.linalg.norm(finite, axis=1, keepdims=True)
    units: ndarray = finite / np.where(norms > 0, norms, 1.0)
    return units


def _mark_identical(
    vectors: Float[ndarray, "checkpoint number"],
    contents: Sequence[str],
    usable: Sequence[int],
    verdicts: dict[str, Verdict],
) -> None:
    """Mark copies as identical, and checkpoints whose sample alone equals another's. The last of
    them, which may be the final model, is only a copy's original."""
    refs = list(verdicts)
    there = [n for n in reversed(usable) if contents[n]]
    copies = find_copies({refs[n]: (contents[n], vectors[n].tobytes()) for n in there})
    for place, n in enumerate(usable):
        alike = [m for m in usable[place + 1 :] if np.array_equal(vectors[n], vectors[m])]
        if refs[n] in copies:
            verdicts[refs[n]] = Verdict(IDENTICAL, copies[refs[n]])
        elif alike:
            verdicts[refs[n]] = Verdict(ALIKE, refs[alike[-1]])


def _mark_final(refs: Sequence[str], usable: Sequence[int], verdicts: dict[str, Verdict]) -> None:
    """Mark the last step as the final model if that is what it is, and no copy by mistake."""
    if len(usable) > 1 and usable[-1] == len(refs) - 1:
        last, final = (refs[n] for n in usable[-2:])
        if verdicts[last] == Verdict(IDENTICAL, final):
            verdicts[last] = Verdict(FINAL, final)


def _related(
    vectors: Float[ndarray, "checkpoint number"], cosine: Float[ndarray, "checkpoint checkpoint"]
) -> Bool[ndarray, "checkpoint checkpoint"]:
    """Tell which checkpoints share a run. The cosine of independent numbers a and b has the
    variance sum(a² b²) / (|a|² |b|²): in small models, whose samples are small, it is large by
    chance."""
    squares = _units(vectors) ** 2
    return share_start(cosine, np.sqrt(squares @ squares.T))


def _largest_component(
    related: Bool[ndarray, "checkpoint checkpoint"], usable: Sequence[int]
) -> set[int]:
    """Find the largest set of checkpoints that are joined by relations."""
    from scipy.sparse.csgraph import connected_components

    if not usable:
        return set()
    _, component = connected_components(related[np.ix_(usable, usable)], directed=False)
    largest = np.bincount(component).argmax()
    return {n for n, number in zip(usable, component, strict=True) if number == largest}


def _mark_order(
    refs: Sequence[str],
    vectors: Float[ndarray, "checkpoint number"],
    members: Sequence[int],
    verdicts: dict[str, Verdict],
) -> bool:
    """Mark checkpoints whose place in the run is not the claimed one; tell whether the order could
    be judged."""
    if len(members) < 3:
        return False
    of_group = vectors[members]
    # a row at a time: all differences at once take gigabytes for a hundred checkpoints
    distances = np.stack([np.linalg.norm(of_group - vector, axis=1) for vector in of_group])
    claimed = list(range(len(members)))
    if _is_robinson(distances, claimed):
        return True
    order = _recover(distances)
    if not _is_robinson(distances, order):
        return False
    moved = [n for n in claimed if order[n] != n]
    if len(moved) == 2:
        for n, m in (moved, moved[::-1]):
            verdicts[refs[members[n]]] = Verdict(SWAPPED, refs[members[m]])
        return True
    # where the others are in order, only this one moved
    alone = (n for n in claimed if [m for m in order if m != n] == [m for m in claimed if m != n])
    first = next(alone, None)
    for n in moved if first is None else (first,):
        at = order.index(n)
        after = refs[members[order[at + 1]]] if at + 1 < len(order) else ""
        verdicts[refs[members[n]]] = Verdict(MISPLACED, after)
    return True


def _recover(distances: Float[ndarray, "a b"]) -> list[int]:
    """Order checkpoints from the end, the last one, by going to the nearest one each time."""
    order = [len(distances) - 1]
    left = set(range(len(distances) - 1))
    while left:
        order.append(min(left, key=lambda n: float(distances[order[-1], n])))
        left.remove(order[-1])
    return order[::-1]


def _is_robinson(distances: Float[ndarray, "a b"], order: Sequence[int]) -> bool:
    """Tell whether no checkpoint is nearer to one farther away in this order, within `SLACK`."""
    sorted_distances = distances[np.ix_(order, order)]
    for row in range(len(order)):
        after = sorted_distances[row, row:]
        before = sorted_distances[row, : row + 1][::-1]
        for along in (after, before):
            if (along[1:] < (1 - SLACK) * np.maximum.accumulate(along)[:-1]).any():
                return False
    return True
