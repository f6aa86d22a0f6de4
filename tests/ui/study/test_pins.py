"""A pinned result beside another one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.ui.study.test_figures import RESULT, chart
from ui.study import pins
from ui.study.pins import Pinned, _multiples


@pytest.mark.filterwarnings("ignore")
def test_the_figure_is_that_of_the_result_that_is_pinned_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    def draw(first: Any, *_: object, context: object) -> list[Any]:
        return [chart().properties(title=first.line)]

    monkeypatch.setattr(pins, "small_multiples", draw)
    monkeypatch.setattr(pins, "show_spec", lambda spec, **_: shown.append(spec["title"]))
    form, study = SimpleNamespace(address=SimpleNamespace(page="rsa")), SimpleNamespace(compared=0)
    this, lines = Pinned(RESULT, "this"), [f"pin {number}" for number in range(5)]
    for line in lines:  # each is unpinned before the next one: its address is free
        _multiples(form, Pinned(SimpleNamespace(line=line), line), this, study, None)
    assert shown == lines
