"""Drawings as files: a drawing that is stored is not drawn again."""

from __future__ import annotations

import pandas as pd
import pytest

from core.results.drawing import files
from core.results.drawing.context import PAGE
from core.results.drawing.panels import beside
from core.results.drawing.vega import Chart
from core.results.export import chart_svg
from core.runs.process.remembered import forget_all


def panels(end: float) -> Chart:
    table = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, end]})
    line = Chart(table).mark_line().encode(x="x:Q", y="y:Q").properties(width="container")
    return beside([line, line], context=PAGE)


def test_a_stored_drawing_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = files.draw

    def counted(form: str, spec: str) -> bytes:
        drawn.append(spec)
        return draw(form, spec)

    monkeypatch.setattr(files, "draw", counted)
    forget_all()
    first = chart_svg(panels(1.0))
    times = len(drawn)
    assert 1 <= times <= files.TRIES  # the last one measured is the one that is written
    forget_all()  # as in another process
    assert chart_svg(panels(1.0)) == first
    assert len(drawn) == times
    assert chart_svg(panels(2.0)) != first
    assert len(drawn) > times
