"""Charts on a page: drawn once for a result, a view and a theme, and sent as what streamlit would
have made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.results.drawing.vega import Chart
from ui.study.figures import with_arrow_data

CALLS: list[str] = []


class Study:
    """Stands for a result."""


RESULT = Study()


@pytest.fixture(autouse=True)
def nothing_made() -> Iterator[None]:
    CALLS.clear()
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def chart() -> Chart:
    return (
        Chart(pd.DataFrame({"layer": [0, 1], "similarity": [1.0, 0.5]}))
        .mark_line()
        .encode(x="layer:Q", y="similarity:Q")
    )


def shared_page() -> None:
    import streamlit as st

    from tests.ui.study import test_figures as made
    from ui.study.figures import show_charts

    view = st.radio("View", ["a", "b"])

    def draw(*, context: object) -> list[object]:
        made.CALLS.append(str(view))
        return [made.chart()]

    show_charts(draw, key="figure", result=made.RESULT, view=view)


def plain_page() -> None:
    import streamlit as st

    from tests.ui.study import test_figures as made
    from ui.study.figures import themed

    st.vega_lite_chart(themed(made.chart().to_dict(), "light", {}))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_sessions_share_a_chart_and_a_view_has_its_own() -> None:
    first, second = (
        AppTest.from_function(shared_page).run(),
        AppTest.from_function(shared_page).run(),
    )
    assert CALLS == ["a"]
    first.radio[0].set_value("b").run()
    second.run()
    assert CALLS == ["a", "b"]
    shown = [app.get("vega_lite_chart")[0].proto for app in (first, second)]
    assert shown[0].datasets[0].data.data == shown[1].datasets[0].data.data
    assert "line" in json.loads(shown[0].spec)["mark"]["type"]


@pytest.mark.slow
def test_a_shared_chart_is_the_plain_one() -> None:
    """The same specification and the same bytes as streamlit makes by itself."""
    shared, alone = (
        AppTest.from_function(page).run().get("vega_lite_chart")[0].proto
        for page in (shared_page, plain_page)
    )
    assert json.loads(shared.spec) == json.loads(alone.spec)
    assert shared.datasets[0] == alone.datasets[0]


def test_only_rows_become_arrow() -> None:
    features = {"type": "FeatureCollection", "features": []}
    spec = {"mark": "line", "datasets": {"rows": [{"x": 1}], "map": features}}
    made = with_arrow_data(spec)
    assert isinstance(made["datasets"]["rows"], bytes)
    assert made["datasets"]["map"] == features
    assert spec["datasets"]["rows"] == [{"x": 1}]
    assert with_arrow_data({"mark": "line"}) == {"mark": "line"}
