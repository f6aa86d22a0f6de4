"""Cells that share models share a place, all places have work, and loads are even."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.sweep.grid import read_sweep
from core.sweep.order import in_turns, places_of
from tests.core.sweep.naps import napping  # noqa: F401


@pytest.mark.parametrize(
    ("loads", "places", "expected"),
    [
        ({"a": 1, "b": 1}, 2, {"a": [0], "b": [1]}),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, 2, {"a": [0], "b": [0], "c": [1], "d": [1]}),
        ({"a": 3, "b": 1}, 4, {"a": [0, 1, 2], "b": [3]}),
        ({"a": 5}, 3, {"a": [0, 1, 2]}),
        ({"a": 1, "b": 1, "c": 1}, 1, {"a": [0], "b": [0], "c": [0]}),
        ({"a": 1e9, "b": 1e-9}, 2, {"a": [0, 1], "b": [1]}),
        ({}, 2, {}),
    ],
)
def test_places_are_divided_in_proportion(
    loads: dict[str, float], places: int, expected: dict[str, list[int]]
) -> None:
    divided = places_of(loads, places)
    assert {group: list(each) for group, each in divided.items()} == expected


def test_many_groups_load_all_places_evenly() -> None:
    divided = places_of({number: 1 + number % 3 for number in range(300)}, 7)
    loads = [
        sum(1 + number % 3 for number, each in divided.items() if each.start == place)
        for place in range(7)
    ]
    assert max(loads) - min(loads) <= 6
    assert all(len(each) == 1 for each in divided.values())


@pytest.mark.usefixtures("napping")
def test_the_first_cells_are_of_different_places_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("study: nap\nmodel: [zoo:a, zoo:b, zoo:c, zoo:d]\nseed: [0, 1, 2]")
    cells = read_sweep(path).cells
    turns = in_turns(cells, {}, 2)
    assert sorted(cell.key for cell, _ in turns) == sorted(cell.key for cell in cells)
    assert [list(home) for _, home in turns] == [[0], [1]] * 6
    homes = {cell.models: home for cell, home in turns}
    assert all(homes[cell.models] == home for cell, home in turns)
    heavy = in_turns(cells, {cell.key: 9.0 for cell in cells if cell.spec.model == "zoo:a"}, 2)
    assert {cell.spec.model for cell, home in heavy if home.start == 0} == {"zoo:a"}
