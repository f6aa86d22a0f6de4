"""*Download all* of every view of every page holds every table that the view shows."""

from __future__ import annotations

import pytest

from core.runs.precomputed import default_precomputed
from tests.browser.screenshots import views
from tests.cases import exhaustive
from tests.pages.conftest import Everything, open_page, settle
from ui.frame.shell import PAGES

# Rank is not in the box: its zip is tested with its page.
VIEWS = [
    (entry.path, view) for entry in PAGES for view in views(entry.path) if view not in ("", "Rank")
]

FIRST = [next(each for each in VIEWS if each[0] == path) for path in dict(VIEWS)]


@pytest.fixture(autouse=True)
def answered(precomputed_results: None) -> None:
    found = default_precomputed()
    if found is None or not found.keys():
        pytest.skip("the box has no answers yet: make precomputed")


@pytest.mark.parametrize(("path", "view"), exhaustive(VIEWS, *FIRST))
def test_the_zip_holds_every_table_that_the_view_shows(
    path: str, view: str, everything: Everything
) -> None:
    app = open_page(path, view=view)
    for button in [button for button in app.button if button.label.startswith("Run, about ")]:
        if not app.get("vega_lite_chart"):  # a busy machine did not find in time that all is there
            button.click()
            settle(app.run())
    assert not app.exception
    files = everything.check(app)
    assert everything.shown or view == "Token map"  # which has a table for a question only
    assert sum(name.endswith(".png") for name in files) >= 2
