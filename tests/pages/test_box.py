"""Pages of a fresh install: examples from the answers in the box and on the first page, studies
remembered. The views of the pages: test_everything."""

from __future__ import annotations

import pytest

from core.commands.examples.every import EXAMPLES
from core.runs.precomputed import default_precomputed
from tests.cases import exhaustive
from tests.pages.conftest import open_page, sentences
from ui.study.run_panel import PRECOMPUTED


@pytest.fixture(autouse=True)
def answered(precomputed_results: None) -> None:
    found = default_precomputed()
    if found is None or not found.keys():
        pytest.skip("the box has no answers yet: make precomputed")


@pytest.mark.parametrize(
    "example", exhaustive(EXAMPLES, EXAMPLES[0]), ids=lambda example: example.name
)
def test_an_example_opens_from_the_box(example) -> None:
    app = open_page(example.page, **example.query())
    assert not app.exception
    assert PRECOMPUTED in sentences(app)
    assert "The link asks for" not in sentences(app)


def test_home_has_a_card_for_each_example_with_figure_and_finding() -> None:
    app = open_page("pages/home.py")
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == len(EXAMPLES)
    assert {example.title for example in EXAMPLES} <= {
        link.proto.label.strip("*").replace("\\", "") for link in app.get("page_link")
    }


def test_studies_are_remembered_by_the_session_and_on_ones_own_computer_by_all(monkeypatch) -> None:
    app = open_page("pages/weight_clustering.py", view="Neighbours")
    assert "Recent studies" in sentences(app)
    other = open_page("pages/home.py")
    assert "Recent studies" in sentences(other)
    links = [link.proto for link in other.get("page_link")]
    assert any(
        link.label == "Weight clustering, Neighbours" and "Neighbours" in link.query_string
        for link in links
    )


def test_on_a_shared_instance_nobody_sees_the_studies_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert "Recent studies" in sentences(open_page("pages/weight_clustering.py"))
    assert "Recent studies" not in sentences(open_page("pages/home.py"))
