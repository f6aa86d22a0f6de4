"""Are models with another learning rate nearest to their task, or to updates of their own size?

Such a model is compared with two groups of equal number: the runs of its own task (same task, other
dose), and the models of other tasks whose relative weight change is most similar to its own (other
task, same dose). It is assigned to a group if every member of that group is nearer than every
member of the other. With three models in each group, this happens by chance in one case out of ten.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray

from core.studies.text_kit import Statement, by_number, listed, short_name
from core.studies.weights.activations import title_of
from core.studies.weights.clusters.members import Member

RIVALS = "other tasks' models with updates of similar size"
NEAR_TASK, NEAR_SIZE = "nearer to its task", "nearer to updates of its size"
NEAR_NEITHER = "nearer to neither"
VERDICT_OF_GROUP = {"task": NEAR_TASK, "dose": NEAR_SIZE, "neither": NEAR_NEITHER}  # of `lies_with`
COLUMNS = ["model", "task", "dose", "vector", "to_task", "to_dose", "lies_with", "same_dose"]


def find_same_dose(
    sizes: Float[ndarray, " model"], model: int, candidates: Sequence[int], count: int
) -> Int[ndarray, " other"]:
    """Find the candidates whose weight change is most similar in size, as a ratio; nearest
    first."""
    places = np.asarray(candidates, dtype=int)
    ratios = np.abs(np.log(np.maximum(sizes[places], 1e-300) / max(float(sizes[model]), 1e-300)))
    return places[np.argsort(ratios, kind="stable")[:count]]


def lies_with(to_task: Float[ndarray, " other"], to_dose: Float[ndarray, " other"]) -> str:
    """Choose the group whose every member is nearer: "task" or "dose"; else "neither"."""
    if to_task.max() < to_dose.min():
        return "task"
    return "dose" if to_dose.max() < to_task.min() else "neither"


def compare_doses(
    members: Sequence[Member],
    sizes: Float[ndarray, " model"],
    distances: Mapping[str, Float[ndarray, "model model"]],
) -> pd.DataFrame:
    """Compare each model of another learning rate with its task and with its dose, by each vector;
    none whose task or dose has fewer than two models. `sizes` are relative sizes of updates."""
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


def dose_sentence(statements: Sequence[Statement]) -> str:
    """Say which models of another learning rate are nearer to their task, and which not."""
    words = {
        NEAR_TASK: f"closer to every run of {{own}} task than to {RIVALS}",
        NEAR_SIZE: f"closer to {RIVALS} than to any run of {{own}} task",
        NEAR_NEITHER: f"not clearly closer to {{own}} task than to {RIVALS}",
    }
    groups: dict[tuple[str, str], list[str]] = {}
    for each in statements:
        if each.verdict in words:
            groups.setdefault((each.baseline, each.verdict), []).append(short_name(each.subject))
    return " ".join(
        f"By {title_of(vector)}, {listed(names)} {by_number(len(names), 'is', 'are')} "
        f"{words[verdict].format(own=by_number(len(names), 'its', 'their'))}."
        for (vector, verdict), names in groups.items()
    )
