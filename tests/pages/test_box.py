"""Pages of a fresh install: examples from the answers in the box and on the first page, studies
remembered. The views of the pages: test_everything."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.commands.examples.every import EXAMPLES, STORY
from core.commands.precomputed import read_cards
from core.runs.precomputed import default_precomputed
from tests.cases import exhaustive
from tests.pages.conftest import open_page, sentences
from ui.frame.shell import PAGES
from ui.home import examples
from ui.study.run_panel import PRECOMPUTED

QUESTIONS = [entry.question for entry in PAGES if entry.question]


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


def test_home_has_one_figure_with_its_finding_first_and_examples_in_a_fold() -> None:
    app = open_page("pages/home.py")
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == 1
    assert read_cards()[STORY.name]["sentence"] in " ".join(
        html.proto.body for html in app.get("html")
    )
    links = labels(app)
    assert links.index(f"Open the {STORY.title.lower()}") < links.index(QUESTIONS[0])
    assert [label for label in links if label in QUESTIONS] == QUESTIONS
    assert not {example.title for example in EXAMPLES} & set(links)
    app.session_state["more_examples"] = True
    app.run()
    assert len(app.get("vega_lite_chart")) == 1 + len(EXAMPLES)
    assert {example.title for example in EXAMPLES} <= set(labels(app))


def test_the_first_figure_opens_where_it_was_made_and_is_precomputed() -> None:
    app = open_page(STORY.page, **STORY.query())
    assert not app.exception
    assert PRECOMPUTED in sentences(app)
    assert STORY.query() == {"study": ["spaces"]}


def test_home_without_stored_findings_begins_with_its_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examples, "read_cards", dict)
    app = open_page("pages/home.py")
    assert not app.exception
    assert not app.get("vega_lite_chart")
    assert [label for label in labels(app) if label in QUESTIONS] == QUESTIONS


def labels(app: AppTest) -> list[str]:
    """What the links of a page are called, in order."""
    return [link.proto.label.strip("*").replace("\\", "") for link in app.get("page_link")]


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
