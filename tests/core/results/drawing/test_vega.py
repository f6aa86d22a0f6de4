"""Vega-Lite as dictionaries: charts share nothing, tables are written once, and altair's schema has
no complaint."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST
from core.results.drawing.context import PAGE, Context
from core.results.drawing.files import sheet, svg
from core.results.drawing.panels import beside
from core.results.drawing.printing import Paper, paper_file
from core.results.drawing.vega import Chart, OfWidth, channel, either, equals, layered, rows_of
from core.results.export import Result
from core.studies.rsa.swap.charts import swap_chart
from tests.cases import exhaustive
from tests.core.shipped import BOX, walked

TABLE = pd.DataFrame({"x": [0, 1], "y": [0.5, np.nan], "name": ["a", "it's"]})
COMMANDS = sorted(set(STUDIES) - {"tokens", "sentence", *ON_REQUEST})
NARROW = 3.3  # inches of a column of a paper


def lines(**more: Any) -> Chart:
    return (
        Chart(TABLE, width="container", height=100, **more)
        .mark_line(clip=True)
        .encode(x="x:Q", y="y:Q")
    )


def test_a_chart_is_never_changed_and_its_dictionary_is_its_own() -> None:
    chart = lines()
    chart.encode(color=channel("name:N", scale={"domain": ["a"]})).filtered("datum.x > 0")
    first = chart.to_dict()
    assert set(first["encoding"]) == {"x", "y"}
    assert "transform" not in first
    first["encoding"]["x"]["field"] = "other"
    assert chart.to_dict()["encoding"]["x"]["field"] == "x"


def test_a_table_is_written_once_and_what_is_missing_is_null() -> None:
    unit = Chart(TABLE).encode(x="x:Q", y="y:Q")
    spec = layered(unit.mark_line(), unit.mark_point()).to_dict()
    assert len(spec["datasets"]) == 1
    assert [each["data"] for each in spec["layer"]] == [{"name": next(iter(spec["datasets"]))}] * 2
    table = TABLE.assign(
        n=pd.array([1, None], dtype="Int64"), end=[np.inf, 1.0], on=np.array([True, False])
    )
    assert rows_of(table)[1] == {
        "x": 1,
        "y": None,
        "name": "it's",
        "n": None,
        "end": 1.0,
        "on": False,
    }
    assert rows_of(table)[0]["end"] is None


def test_what_a_chart_says_is_vega_lite() -> None:
    ink = either("datum.x > 0", "black", "white")
    chart = Chart(TABLE, title="Any").mark_line(clip=True).encode(x="x:Q", y="y:Q")
    chart = chart.filtered(equals("name", "it's")).calculated(z="datum.x + 1")
    chart = layered(chart, Chart(TABLE).mark_rule().encode(x="x:Q", x2="y:Q", color=ink)).scales(
        color="independent"
    )
    drawn = chart.to_altair()
    assert isinstance(drawn, alt.LayerChart)
    assert drawn.to_dict()["layer"]
    assert sheet(drawn)["layer"]  # an altair chart is drawn as ours are
    assert chart.to_dict()["layer"][1]["encoding"]["x2"] == {"field": "y"}


def test_what_depends_on_the_width_is_an_expression_until_the_width_is_known() -> None:
    end = OfWidth("width - 50", lambda width: width - 50)
    chart = (
        Chart(TABLE, width="container")
        .mark_line()
        .encode(x=channel("x:Q", scale={"range": [0, end]}), y="y:Q")
    )
    assert chart.to_dict()["encoding"]["x"]["scale"]["range"] == [0, {"expr": "width - 50"}]
    panels = sheet(beside([chart.properties(height=80)] * 2, context=PAGE))["concat"]
    assert [panel["encoding"]["x"]["scale"]["range"][1] for panel in panels] == [
        pytest.approx(panel["width"] - 50, abs=0.1) for panel in panels
    ]


@pytest.fixture(scope="module", params=exhaustive(COMMANDS, "rsa", "weights", "probe"))
def result(request: pytest.FixtureRequest) -> Result:
    """A study's default, from the precomputed results."""
    if not BOX.path.is_file():
        pytest.skip("there are no precomputed results: make precomputed")
    for name, result in walked().results.items():
        if f"{name} ".startswith(f"{request.param} "):
            return result
    pytest.fail(f"there is no precomputed result of {request.param}")


def first_figure(result: Result, context: Context = PAGE) -> tuple[str, Chart]:
    """Name and chart of a study's first figure, without the others."""
    views = ((view, each) for view in STUDIES[result.study].views for each in view.choices(result))
    drawn = (
        replace(view, choices=lambda result, each=each: [each]).figures(result, context)
        for view, each in views
    )
    return next(iter(next(filter(None, drawn)).items()))


@pytest.mark.slow
def test_every_figure_is_vega_lite_and_has_words(result: Result) -> None:
    """What production does not check is checked here, by altair's copy of the schema."""
    for name, chart in STUDIES[result.study].figures(result).items():
        spec = chart.to_dict()
        tables = spec.get("datasets", {})
        # all that the schema says of a table's rows; it takes long to say it of each
        assert all(isinstance(row, dict) for rows in tables.values() for row in rows), name
        firsts = {table: rows[:1] for table, rows in tables.items()}
        alt.TopLevelSpec.validate({**spec, "datasets": firsts} if tables else spec)
        panels = [inner for way in ("concat", "vconcat") for inner in spec.get(way, ())]
        assert all(panel.get("description") or "concat" in panel for panel in panels or [spec]), (
            name
        )


@pytest.mark.slow
def test_a_figure_is_as_wide_as_asked_for(result: Result) -> None:
    name, chart = first_figure(result)
    text = svg(sheet(chart)).decode("utf8")
    assert float(text.split('width="')[1].split('"')[0]) == pytest.approx(640, abs=6), name


@pytest.mark.slow
def test_a_figure_fits_a_column_of_a_paper_with_letters_of_seven_points(result: Result) -> None:
    """A broader figure is made narrower by the journal, and its letters smaller."""

    def draw(*, context: Context) -> Chart:
        return first_figure(result, context)[1]

    text = paper_file(draw, Paper(), "svg").decode("utf8")
    wide = float(text.split('width="')[1].split("in")[0])
    sizes = [float(part.split("px")[0]) for part in text.split('font-size="')[1:]]
    assert min(sizes) * min(NARROW / wide, 1.0) >= 6.99, wide


@pytest.mark.slow
def test_every_letter_of_a_figure_is_of_the_size_that_is_handed_in(result: Result) -> None:
    large = Context(letter=40.0)
    for name, chart in STUDIES[result.study].figures(result, large).items():
        sizes = [
            float(size) for size in re.findall(r'"fontSize": ([\d.]+)', json.dumps(chart.to_dict()))
        ]
        assert all(size >= large.small for size in sizes), (name, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("result", ["swap"], indirect=True)
def test_a_layer_swap_begins_with_three_lines_a_panel(result: Result) -> None:
    figures = STUDIES["swap"].figures(result)
    model = str(result.table["model"].iloc[0])
    for kind, name in (("single", "swap-one-layer"), ("cut", "swap-up-to-layer")):
        assert {name, f"{name}-all"} <= set(figures)
        words = swap_chart(result, kind, model).to_dict()["description"]
        assert ", 3 lines." in words
        assert ", 7 lines." in swap_chart(result, kind, model, every=True).to_dict()["description"]
