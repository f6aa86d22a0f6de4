"""Tasks written as JSON: what comes back is what was given, and nothing but plain values is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.models.costs import Sizes
from core.runs.process.second import from_plain, named, place_of, to_plain
from core.runs.tasks import Task
from core.study import expected_tasks


@dataclass(frozen=True)
class Settings:
    names: tuple[str, ...]
    share: float
    raw: bytes = b"\x00\xff"


def returned(value: Any) -> Any:
    return from_plain(json.loads(json.dumps(to_plain(value))))


@pytest.mark.parametrize(
    "value",
    [
        (), ("é", 0.1, -0.0, 1e-300, 2**70, True, None, b""), Settings((), 1 / 3),
        (Settings(("a",), float("inf")), (1, (2,))),
    ],
)  # fmt: skip
def test_plain_values_come_back_as_they_were(value: object) -> None:
    assert returned(value) == value
    assert repr(returned(value)) == repr(value)


@pytest.mark.parametrize("value", [{1}, Path("a"), [1], 1j, Settings])
def test_nothing_else_is_told(value: object) -> None:
    with pytest.raises(TypeError, match="no plain value"):
        to_plain(value)


def test_a_name_that_is_not_there_is_an_error() -> None:
    assert named(place_of(to_plain)) is to_plain
    with pytest.raises(AttributeError):
        named("core.runs.process.second:nothing")
    with pytest.raises(ImportError):
        named("core.nowhere:nothing")


@pytest.mark.parametrize("name", ["probe", "align", "swap"])
def test_planned_tasks_keep_their_keys(name: str) -> None:
    study = STUDIES[name]
    tasks = expected_tasks(study, study.Spec(), Sizes())
    assert tasks
    for task in tasks:
        arguments = tuple((key, returned(value)) for key, value in task.arguments)
        assert Task(task.name, named(place_of(task.function)), arguments).key == task.key
