"""What is made once for a result: shared, waited for, bounded, and gone with its owner."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ui.frame.shared import MadeOnce, for_a_second


class Owner:
    """Anything that can be weakly referred to."""


def test_thirty_readers_make_one_and_get_the_same() -> None:
    made, owner = MadeOnce(), Owner()
    together, calls = threading.Barrier(30), []

    def make() -> object:
        calls.append(1)
        time.sleep(0.05)
        return object()

    def ask(_: int) -> object:
        together.wait()
        return made.get(owner, "chart", make)

    with ThreadPoolExecutor(30) as readers:
        values = list(readers.map(ask, range(30)))
    assert len(calls) == 1
    assert len(set(map(id, values))) == 1


def test_another_view_and_another_owner_are_made_anew() -> None:
    made, one, other = MadeOnce(), Owner(), Owner()
    assert made.get(one, ("chart", "light"), lambda: 1) == 1
    assert made.get(one, ("chart", "dark"), lambda: 2) == 2
    assert made.get(other, ("chart", "light"), lambda: 3) == 3
    assert made.get(one, ("chart", "light"), lambda: 4) == 1


def test_what_fails_is_tried_again() -> None:
    made, owner = MadeOnce(), Owner()
    with pytest.raises(ZeroDivisionError):
        made.get(owner, "chart", lambda: 1 // 0)
    assert made.get(owner, "chart", lambda: 5) == 5


def test_the_least_recently_read_goes_first() -> None:
    made, owner = MadeOnce(kept=2), Owner()
    for name in ("a", "b"):
        made.get(owner, name, lambda: "old")
    made.get(owner, "a", lambda: "new")
    made.get(owner, "c", lambda: "old")
    assert len(made) == 2
    assert made.get(owner, "a", lambda: "new") == "old"
    assert made.get(owner, "b", lambda: "new") == "new"


@pytest.mark.slow
def test_a_collected_owner_leaves_nothing_to_whoever_gets_its_number() -> None:
    made = MadeOnce()
    for number in range(200):  # the allocator gives a freed object's place to the next
        owner = Owner()
        assert made.get(owner, "chart", lambda number=number: number) == number
        del owner
    gc.collect()
    assert len(made) == 0


def test_a_value_for_a_second_is_made_again_in_the_next_and_after_an_error(monkeypatch) -> None:
    clock, calls = [10.0], []

    @for_a_second
    def twice(number: int) -> int:
        calls.append(number)
        if number < 0:
            raise ValueError("negative")
        return 2 * number

    monkeypatch.setattr("ui.frame.shared.time.monotonic", lambda: clock[0])
    assert [twice(3), twice(3), twice(4)] == [6, 6, 8]
    assert calls == [3, 4]
    clock[0] += 1.0
    assert twice(3) == 6
    assert calls == [3, 4, 3]
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            twice(-1)
    assert calls[3:] == [-1, -1]
