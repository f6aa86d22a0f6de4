"""Cells that share models share a place, all places have work, and loads are even."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from core.sweep.grid import Cell, read_sweep
from core.sweep.order import Waiting, places_of
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


def cells_of(folder: Path, models: int, seeds: int) -> list[Cell]:
    path = folder / "sweep.yaml"
    names = ", ".join(f"zoo:m{number}" for number in range(models))
    path.write_text(f"study: nap\nmodel: [{names}]\nseed: {[*range(seeds)]}")
    return list(read_sweep(path).cells)


def drain(waiting: Waiting, places: int, count: int) -> list[tuple[Cell, range]]:
    """Take all cells, each place having as many running as it was given."""
    busy, taken = [0.0] * places, list[tuple[Cell, range]]()
    for _ in range(count):
        cell, home = waiting.take(busy)
        taken.append((cell, home))
        for place in home:
            busy[place] += 1 / len(home)
    with pytest.raises(IndexError, match="no cell is left"):
        waiting.take(busy)
    return taken


@pytest.mark.usefixtures("napping")
def test_the_first_cells_are_of_different_places_and_none_is_lost(tmp_path: Path) -> None:
    cells = cells_of(tmp_path, 4, 3)
    taken = drain(Waiting(cells, {}, 2), 2, 12)
    assert sorted(cell.key for cell, _ in taken) == sorted(cell.key for cell in cells)
    assert [list(home) for _, home in taken] == [[0], [1]] * 6
    homes = {cell.models: home for cell, home in taken}
    assert all(homes[cell.models] == home for cell, home in taken)
    seconds = {cell.key: 9.0 for cell in cells if cell.spec.model == "zoo:m0"}
    heavy = drain(Waiting(cells, seconds, 2), 2, 12)
    assert {cell.spec.model for cell, home in heavy[:2]} == {"zoo:m0"}, "36 seconds, 27 of them"


@pytest.mark.usefixtures("napping")
def test_places_have_as_much_to_do_although_models_do_not_divide_among_them(
    tmp_path: Path,
) -> None:
    taken = drain(Waiting(cells_of(tmp_path, 10, 50), {}, 4), 4, 500)
    assert Counter(home.start for _, home in taken) == dict.fromkeys(range(4), 125)
    pairs = {(cell.models, home) for cell, home in taken}
    assert len(pairs) == 10 + 2, "two models lie on a border of places"


@pytest.mark.usefixtures("napping")
def test_a_place_without_cells_takes_the_last_of_the_longest_queue(tmp_path: Path) -> None:
    cells = cells_of(tmp_path, 4, 3)
    waiting = Waiting(cells, {}, 2)
    for _ in range(6):
        assert waiting.take([0.0, 1.0])[1] == range(1)
    assert waiting.take([1.0, 1.0])[1] == range(1, 2), "it has cells of its own"
    last, home = waiting.take([0.0, 1.0])
    assert home == range(1)
    assert (last.spec.model, last.spec.seed) == ("zoo:m3", 2)
