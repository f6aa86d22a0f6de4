"""The server's log holds nothing of what a user typed, whichever view draws it."""

from __future__ import annotations

import logging

import pytest

from tests.core.studies.probes.trees.test_study import write_trees
from tests.core.test_house import ROOT
from tests.core.tiny_models import save_tiny
from tests.pages.conftest import SMALL, open_page

MARKER = "Zwiebelturm"


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[logging.LogRecord]:
    """What any logger is given from here on; streamlit's have handlers of their own and hand
    nothing up."""
    given: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.Logger, "handle", lambda logger, record: given.append(record))
    return given


def typed(records: list[logging.LogRecord]) -> list[str]:
    """The records that hold the marker."""
    lines = [f"{record.getMessage()} {record.stack_info}" for record in records]
    return [line for line in lines if MARKER.lower() in line.lower()]


@pytest.mark.exhaustive
def test_a_typed_sentence_is_drawn_and_not_logged(
    tmp_path_factory: pytest.TempPathFactory, records: list[logging.LogRecord]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    app = open_page(
        "pages/probe_trees.py",
        view="Sentence",
        models=f"path:{save_tiny(folder / 'bert', 'bert')}",
        corpus=str(write_trees(folder / "trees.conllu")),
        sentences="130",
        rank="8",
        epochs="1",
        draws="20",
        seeds="1",
        controls="1",
        untrained="false",
        sentence=f"The {MARKER} saw the dog.",
    )
    assert not app.exception
    charts = app.get("vega_lite_chart") + app.get("arrow_vega_lite_chart")
    assert any(MARKER in chart.proto.alt for chart in charts)  # who does not see it hears it
    assert records
    assert typed(records) == []


def test_a_typed_passage_is_drawn_and_not_logged(
    box: None, records: list[logging.LogRecord]
) -> None:
    passage = f"The {MARKER} stands on the hill near the river and the old town."
    app = open_page("pages/rsa.py", **SMALL, view="Token map", passage=passage)
    assert not app.exception
    assert app.get("vega_lite_chart") + app.get("arrow_vega_lite_chart")
    assert typed(records) == []


def test_charts_are_drawn_in_one_place() -> None:
    drawing = [
        path.name
        for path in sorted((ROOT / "ui").rglob("*.py")) + sorted((ROOT / "pages").glob("*.py"))
        if "st.vega_lite_chart(" in (text := path.read_text(encoding="utf8"))
        or "st.altair_chart(" in text
    ]
    assert drawing == ["figures.py"]
