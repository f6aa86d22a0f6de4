"""Every view that a study declares draws, says and lists what it promises, without a page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import groupby
from typing import Any

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.results.columns import meaning
from core.results.drawing.context import PAGE
from core.results.drawing.panels import Panels
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.study import View
from tests.core.shipped import walked

ON_REQUEST = {("probe", "Sentence"), ("probe", "Rank")}  # computed at a reader's wish


def charts(view: View, result: Result) -> list[Any]:
    """What a view draws for a page."""
    drawn = view.drawing(result)(context=PAGE)
    if isinstance(drawn, Panels):
        return list(drawn.charts)
    return list(drawn) if isinstance(drawn, list | tuple) else [drawn]


def test_names_of_a_page_are_its_own_and_each_view_says_how_it_is_read() -> None:
    room = lambda study: study.Spec.__module__.split(".")[2]  # noqa: E731
    for _, studies in groupby(STUDIES.values(), key=room):
        views = [view for study in studies for view in study.views]
        assert len({view.name for view in views}) == len(views) > 0
        assert [view.name for view in views if not (view.purpose and view.how_to_read)] == []


def test_no_two_studies_have_one_title() -> None:
    titles = [study.title for study in STUDIES.values()]
    assert sorted({*titles}) == sorted(titles)


def test_panels_of_one_name_are_one_figure_of_a_file_under_the_legend_of_the_first() -> None:
    def chart(name: str) -> Chart:
        return Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q").properties(title=name)

    panels = Panels(
        [chart(name) for name in "abcd"], strip=chart("legend"), names=("one", "two", "one", "two")
    )
    study = replace(
        STUDIES["audit"],
        views=(
            View(draw=lambda result, *, context: panels),
            View(
                draw=lambda result, which="x", *, context: {which: chart(which)},
                choices=lambda result: [("y",), ("z",)],
            ),
        ),
    )
    result = Result("audit", {}, "", {"audit": pd.DataFrame({"a": [1]})})
    made = study.figures(result)
    assert list(made) == ["one", "two", "y", "z"]
    titles = {
        name: re.findall(r'"title": "(\w+)"', json.dumps(made[name].to_dict())) for name in made
    }
    assert titles == {"one": ["legend", "a", "c"], "two": ["b", "d"], "y": ["y"], "z": ["z"]}
    assert charts(study.views[0], result) == panels.charts
    unnamed = replace(study, views=(View(draw=lambda result, *, context: Panels([chart("a")])),))
    assert unnamed.figures(result) == {}


def test_a_view_takes_from_its_study_what_it_leaves_empty() -> None:
    result = Result("audit", {}, "", {"audit": pd.DataFrame({"a": [1]}), "more": pd.DataFrame()})
    study = replace(
        STUDIES["audit"],
        views=(View(draw=lambda result, *, context: {"first": 1, "second": 2}),),
    )
    (view,) = study.views
    assert (view.name, view.purpose) == (study.title, study.purpose)
    assert charts(view, result) == [1, 2]
    assert study.figures(result) == {"first": 1, "second": 2}
    assert view.rows(result) == result.tables
    assert list(replace(view, table="more").rows(result)) == ["more"]
    assert replace(view, table="neither").rows(result) == {}


def test_a_result_without_rows_draws_nothing() -> None:
    empty = Result("audit", {}, "", {"audit": pd.DataFrame()})
    view = View(draw=lambda result, *, context: {"one": 1}).of_study(STUDIES["audit"])
    assert charts(view, empty) == []
    assert view.figures(empty) == {}
    assert charts(view, replace(empty, tables={"audit": pd.DataFrame({"a": [1]})})) == [1]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_precomputed_results_have_every_view() -> None:
    waiting = {(name, view.name): view for name in STUDIES for view in STUDIES[name].views}
    for result in walked().results.values():  # test_precomputed tells of what is missing
        name = getattr(result, "study", "")
        for view in STUDIES[name].views if name in STUDIES else ():
            if (name, view.name) not in waiting or not charts(view, result):
                continue
            del waiting[name, view.name]
            assert isinstance(view.headline(result), str)
            assert any(len(table) for table in view.rows(result).values()) or name == "tokens"
            for table, rows in view.rows(result).items():
                assert all(meaning(table, str(column)) for column in rows.columns)
    assert set(waiting) == ON_REQUEST
