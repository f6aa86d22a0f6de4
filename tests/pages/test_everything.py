"""Every view of every page opens from the answers in the box, and its *Download all* holds every table
that it shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import streamlit as st

from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.runs.precomputed import default_precomputed
from core.runs.process.remembered import forget_all
from core.study import Study
from tests.browser.screenshots import with_figures
from tests.cases import exhaustive
from tests.pages.conftest import Everything, open_page, sentences
from ui.frame.shell import PAGES
from ui.study.experiments import START
from ui.study.run_panel import PRECOMPUTED

VIEWS = [(entry.path, view) for entry in PAGES for view in with_figures(entry.path) if view]

FIRST = [next(each for each in VIEWS if each[0] == path) for path in dict(VIEWS)]
DRAW = Study.figures
DRAWN: dict[tuple[str, str, Context], dict[str, Chart]] = {}


def draw_once(study: Study, result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """The figures of a study, which are in the zips of all its views."""
    key = study.name, repr(result.spec), context
    if key not in DRAWN:
        DRAWN[key] = DRAW(study, result, context)
    return dict(DRAWN[key])


@pytest.fixture(scope="module", autouse=True)
def one_box() -> Iterator[None]:
    """Nothing of other tests is known here, nor to them."""
    forget_all()
    st.cache_resource.clear()
    yield
    forget_all()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def fresh_registry() -> None:
    """The views of one study share its result, as on a server: all cases have the same box."""


@pytest.fixture(autouse=True)
def answered(precomputed_results: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = default_precomputed()
    if found is None or not found.keys():
        pytest.skip("the box has no answers yet: make precomputed")
    monkeypatch.setattr(Study, "figures", draw_once)


@pytest.mark.parametrize(("path", "view"), exhaustive(VIEWS, *FIRST))
def test_a_view_opens_from_the_box_and_its_zip_holds_every_table_that_it_shows(
    path: str, view: str, everything: Everything
) -> None:
    """Nothing has to be started or computed for what a page offers at its defaults."""
    app = open_page(path, view=view)
    assert not app.exception
    assert PRECOMPUTED in sentences(app)
    assert START not in sentences(app)
    assert app.get("vega_lite_chart")
    files = everything.check(app)
    assert everything.shown or view == "Token map"  # which has a table for a question only
    assert sum(name.endswith(".png") for name in files) >= 2
