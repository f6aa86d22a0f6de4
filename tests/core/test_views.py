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
from core.runs.tasks import Signal
from core.study import View
from tests.core.shipped import walked

ON_REQUEST = {  # computed at a reader's wish
    ("probe", "Sentence"),
    ("weights scaling", "Scaled intruders"),
}


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


def test_every_view_asks_a_question_of_its_own_but_the_first_of_a_page() -> None:
    room = lambda study: study.Spec.__module__.split(".")[-3]  # noqa: E731
    for of, studies in groupby(sorted(STUDIES.values(), key=room), key=room):
        asked = [view.question for study in studies for view in study.views]
        assert [question for question in asked if question and not question.endswith("?")] == [], of
        assert asked.count("") == 1, f"the page of {of} asks for its first view"
        assert len({*asked}) == len(asked), of


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


def test_a_page_offers_the_titled_choices_that_are_drawn() -> None:
    result = Result("audit", {}, "", {"audit": pd.DataFrame({"a": [1]})})
    view = View(choices=lambda result: [("b",), ("a",)], titles={"a": "A", "b": "B", "c": "C"})
    assert list(view.offered(result).items()) == [("a", "A"), ("b", "B")]
    assert View(choices=lambda result: [("a",)]).offered(result) == {}
    assert view.opening(result) == "b", "the main choice, whatever the order of the titles"


@pytest.mark.parametrize("name", STUDIES)
def test_a_view_with_titles_says_what_is_asked(name: str) -> None:
    assert [view.key for view in STUDIES[name].views if bool(view.titles) != bool(view.asked)] == []


def test_a_result_without_rows_draws_nothing() -> None:
    empty = Result("audit", {}, "", {"audit": pd.DataFrame()})
    view = View(draw=lambda result, *, context: {"one": 1}).of_study(STUDIES["audit"])
    assert charts(view, empty) == []
    assert view.figures(empty) == {}
    assert charts(view, replace(empty, tables={"audit": pd.DataFrame({"a": [1]})})) == [1]


def test_what_is_drawn_at_first_is_a_part_on_an_axis_of_its_own() -> None:
    result = Result("audit", {}, "", {"audit": pd.DataFrame({"a": [1, 2]})})
    part = result.with_tables(audit=result.table.head(1))
    assert result.with_tables(audit=result.table) is result
    drawn = []
    view = View(
        draw=lambda result, *, context: drawn.append((len(result.table), context.zoomed)) or {},
        first=lambda result: part,
    ).of_study(STUDIES["audit"])
    for first in (True, False):
        view.drawing(result, first=first)(context=PAGE)
    assert drawn == [(1, True), (2, False)]
    assert view.leaves_out(result)
    assert not replace(view, first=lambda result: result).leaves_out(result)
    assert not replace(view, first=None).leaves_out(result)


@pytest.mark.slow
@pytest.mark.usefixtures("precomputed_results")
@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("probe", "model", {"zoo:seed-0", "zoo:parse-0", "static window of parse-0"}),
        pytest.param(
            *("probe polar", "model"),
            {"zoo:seed-0", "zoo:parse-0", "static window of parse-0", "parser"},
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            *("probe edges", "model", {"zoo:seed-0", "zoo:parse-0", "static window of seed-0"}),
            marks=pytest.mark.exhaustive,
        ),
        ("align", "method", {"kernel", "static-window", "lookup"}),
    ],
)
def test_first_figures_draw_few_lines(name: str, column: str, expected: set[str]) -> None:
    study = STUDIES[name]
    result = study.run(study.Spec(), signal=Signal(look_only=True, patience=60.0))
    view = study.views[0]
    part = view.first(result)
    assert set(part.table[column]) == expected < set(result.table[column])
    assert view.first(part) is part  # nothing is left to leave out
    (chart, *_) = charts(view, part)
    assert chart.to_dict()["height"] <= 320


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.usefixtures("precomputed_results")
def test_the_first_figure_says_where_its_axis_begins() -> None:
    study = STUDIES["probe"]
    result = study.run(study.Spec(), signal=Signal(look_only=True, patience=60.0))
    drawn = study.views[0].drawing(result, first=True)(context=PAGE)
    assert "the axis begins at 48" in str(drawn[0].to_dict()["title"])
    whole = study.views[0].drawing(result)(context=PAGE)
    assert "the axis begins" not in str(whole[0].to_dict()["title"])


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
            assert isinstance(view.sentence(result), str)
            assert any(len(table) for table in view.rows(result).values()) or name == "tokens"
            for table, rows in view.rows(result).items():
                assert all(meaning(table, str(column)) for column in rows.columns)
    assert set(waiting) == ON_REQUEST
