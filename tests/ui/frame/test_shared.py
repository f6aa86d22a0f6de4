"""What all sessions read is bounded by its bytes."""

from __future__ import annotations

from ui.frame import shared
from ui.frame.shared import HELD, LEAST, made_once


class Study:
    """Stands for a result."""


def test_files_and_charts_are_held_up_to_a_number_of_bytes() -> None:
    result, large = Study(), HELD // 8
    for link in range(20):
        made_once(result, ("report", link), lambda: bytes(large))
        made_once(result, ("chart", link), lambda: [{"datasets": {"rows": bytes(large)}}])
    assert 0 < len(shared._made) < 8
    for number in range(2 * HELD // LEAST):
        made_once(result, number, lambda: True)
    assert len(shared._made) == HELD // LEAST
