"""Doses: groups of equal size, a verdict only where they do not overlap, and planted fast and slow
models."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from core.studies.weights.clusters.doses import (
    NEAR_SIZE,
    NEAR_TASK,
    compare_doses,
    find_same_dose,
    lies_with,
)
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.notice_text import describe_aside, said
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY

SPEC = WeightsSpec(rank=3, permutations=200)
ALIKE = [f"zoo:{task}-{run}" for task in ("nli", "pos", "parse") for run in range(3)]


def test_same_dose_is_the_nearest_ratio() -> None:
    sizes = np.array([0.1, 0.05, 0.19, 0.21, 0.4])
    assert find_same_dose(sizes, 0, [1, 2, 3, 4], 2).tolist() == [2, 1]
    assert find_same_dose(sizes, 0, [3, 4], 9).tolist() == [3, 4]


def test_a_verdict_needs_groups_that_do_not_overlap() -> None:
    assert lies_with(np.array([1.0, 2]), np.array([3.0, 4])) == "task"
    assert lies_with(np.array([3.0, 4]), np.array([1.0, 2])) == "dose"
    assert lies_with(np.array([1.0, 3]), np.array([2.0, 4])) == "neither"


def test_of_three_against_three_one_order_in_ten_gives_a_verdict() -> None:
    orders = [
        lies_with(np.array(order[:3], float), np.array(order[3:], float))
        for order in permutations(range(6))
    ]
    assert sum(verdict != "neither" for verdict in orders) / len(orders) == pytest.approx(0.1)


def test_planted_models_lie_with_their_task_by_direction_and_with_their_dose_by_size(
    variants: Path,
) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:*-*", "zoo:nli-fast", "zoo:parse-slow")))
    doses = result.tables["doses"].set_index(["model", "vector"])
    for model in ("zoo:nli-fast", "zoo:parse-slow"):
        assert doses.loc[(model, "projector"), "lies_with"] == "task"
        assert doses.loc[(model, "delta"), "lies_with"] == "task"
        assert doses.loc[(model, "norms"), "lies_with"] == "dose"
    assert doses.loc[("zoo:nli-fast", "norms"), "same_dose"].count("zoo:parse-") == 3
    assert doses.loc[("zoo:parse-slow", "norms"), "same_dose"].count("zoo:nli-") == 3
    groups = {(each.subject, each.baseline): each.verdict for each in result.statements}
    for model in ("zoo:nli-fast", "zoo:parse-slow"):
        assert groups[model, "projector"] == NEAR_TASK
        assert groups[model, "norms"] == NEAR_SIZE
        assert result.headline.count(model[4:]) == 2


def test_the_share_is_that_of_the_models_trained_alike(variants: Path) -> None:
    alone = STUDY.run(SPEC)
    assert list(alone.table["model"]) == ALIKE
    assert alone.tables["doses"].empty
    left_out = "zoo:nli-fast, zoo:parse-slow, zoo:parse-frozen-2"
    assert said("variants", models=left_out) in alone.notices
    more = STUDY.run(replace(SPEC, models=("zoo:*-*", "zoo:nli-fast", "zoo:parse-frozen-2")))
    assert list(more.table["model"]) == [*ALIKE, "zoo:nli-fast", "zoo:parse-frozen-2"]
    assert more.tables["neighbours"].equals(alone.tables["neighbours"])
    aside = dict.fromkeys(("zoo:nli-fast", "zoo:parse-frozen-2"), True)
    assert describe_aside(aside)[0] in more.notices
    assert not any("no label" in notice for notice in more.notices)


def test_fewer_than_two_in_a_group_is_no_comparison() -> None:
    members = [
        Member("zoo:a-0", "b", "a"),
        Member("zoo:c-0", "b", "c"),
        Member("zoo:a-fast", "b", "a", dose=3.0),
    ]
    assert compare_doses(members, np.ones(3), {"norms": np.ones((3, 3))}).empty


def test_rivals_are_of_other_tasks_even_where_its_own_moved_as_far() -> None:
    """Means over the two groups equal a slow loop; its own runs, the nearest in size, are none of
    the rivals."""
    rng = np.random.default_rng(0)
    names = ["a-0", "a-1", "c-0", "c-1", "d-0", "d-1"]
    members = [
        *(Member(f"zoo:{name}", "b", name[0]) for name in names),
        Member("zoo:a-fast", "b", "a", dose=3.0),
    ]
    sizes = np.array([0.30, 0.31, 0.10, 0.50, 0.29, 0.90, 0.30])
    distances = rng.random((7, 7))
    row = compare_doses(members, sizes, {"norms": distances}).iloc[0]
    others = sorted((2, 3, 4, 5), key=lambda place: abs(np.log(sizes[place] / sizes[6])))[:2]
    assert row["to_task"] == pytest.approx(np.mean([distances[6, place] for place in (0, 1)]))
    assert row["to_dose"] == pytest.approx(np.mean([distances[6, place] for place in others]))
    assert row["same_dose"] == ", ".join(f"zoo:{names[place]}" for place in others)
