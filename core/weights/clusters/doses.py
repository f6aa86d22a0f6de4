"""Do models trained faster or slower lie with their task, or with whatever moved as far as they did?

A model whose learning rate was changed is held against two groups of equal number: the runs of its own task (same
task, other dose), and the models of other tasks whose relative weight change is nearest to its own (other task, same
dose). It lies with a group when every member of that one is nearer than every member of the other. Of three against
three, that happens by chance to one of the two groups once in ten times.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from core.weights.clusters.members import Member

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["model", "task", "dose", "vector", "to_task", "to_dose", "lies_with", "same_dose"]


def find_same_dose(
    sizes: Float[ndarray, " model"], model: int, candidates: Sequence[int], count: int
) -> Int[ndarray, " other"]:
    """The candidates whose weights moved most nearly as far, as a ratio of sizes; nearest first.

    Args:
        sizes: Relative size of each model's weight change.
        model: Place of the model that they are held against.
        candidates: Places of the others that may be chosen.
        count: How many at most.
    """
    places = np.asarray(candidates, dtype=int)
    ratios = np.abs(np.log(np.maximum(sizes[places], 1e-300) / max(float(sizes[model]), 1e-300)))
    return places[np.argsort(ratios, kind="stable")[:count]]


def lies_with(to_task: Float[ndarray, " other"], to_dose: Float[ndarray, " other"]) -> str:
    """ "task" or "dose" where every member of that group is nearer than every one of the other; else "neither"."""
    if to_task.max() < to_dose.min():
        return "task"
    return "dose" if to_dose.max() < to_task.min() else "neither"


def compare_doses(
    members: Sequence[Member],
    sizes: Float[ndarray, " model"],
    distances: Mapping[str, Float[ndarray, "model model"]],
) -> pd.DataFrame:
    """For each model with a dose of its own and each vector: mean distance to its task and to its dose.

    Args:
        members: The study's models; those whose dose is not 1 are looked at, those trained alike are the groups.
        sizes: Relative size of each one's weight change.
        distances: By vector.

    Returns:
        Empty where no model has a dose of its own, or two runs of its task and two of others are not there.
    """
    import pandas as pd

    alike = [place for place, member in enumerate(members) if not member.variant]
    rows = []
    for place, member in enumerate(members):
        if member.dose == 1.0 or member.frozen:
            continue
        task = [peer for peer in alike if members[peer].task == member.task]
        rest = [peer for peer in alike if members[peer].task != member.task]
        dose = find_same_dose(sizes, place, rest, len(task))
        if min(len(task), len(dose)) < 2:
            continue
        names = ", ".join(members[peer].ref for peer in dose)
        for vector, matrix in distances.items():
            near, far = matrix[place, task], matrix[place, dose]
            where = lies_with(near, far)
            numbers = (float(near.mean()), float(far.mean()))
            rows.append((member.ref, member.task, member.dose, vector, *numbers, where, names))
    return pd.DataFrame(rows, columns=COLUMNS)
