"""Colours and shapes: a task has one colour wherever it stands, and no two models here look the
same."""

from __future__ import annotations

from core.results.drawing.context import PAGE
from core.results.drawing.curves import Look
from core.results.drawing.panels import legend_strip
from core.results.drawing.style import (
    BROWN,
    COLOURS,
    TASK_COLOURS,
    colours_of,
    gradient,
    heading,
    legend,
    shapes_of,
    task_of,
)


def test_a_task_has_one_colour_in_any_company() -> None:
    for company in (
        ["zoo:parse-0"],
        ["zoo:sentiment-0", "zoo:parse-2"],
        ["hub:a/b", "zoo:parse-0", "zoo:seed-0"],
    ):
        assert (
            colours_of(company)[next(ref for ref in company if "parse" in ref)]
            == TASK_COLOURS["parse"]
        )


def test_models_without_a_task_take_colours_that_no_task_here_has() -> None:
    colours = colours_of(["zoo:seed-0", *(f"zoo:{task}-0" for task in TASK_COLOURS), "hub:a/b"])
    assert len(set(colours.values())) == len(colours)
    assert colours["zoo:seed-0"] == BROWN
    assert set(colours.values()) <= set(COLOURS)


def test_runs_of_a_task_are_told_apart_by_shape() -> None:
    refs = ["zoo:parse-0", "zoo:parse-1"]
    assert len(set(colours_of(refs).values())) == 1
    assert len(set(shapes_of(refs).values())) == 2


def test_the_task_is_read_off_models_of_the_box_alone() -> None:
    assert task_of("zoo:parse-frozen-2") == "parse"
    assert task_of("hub:parse-0") == ""
    assert task_of("zoo:seed-0") == ""


def test_titles_and_legends_are_vega() -> None:
    begun = {
        text: heading("A", text)["subtitle"]
        for text in ("bands: 95 %", "a map", "seed-0 and parse-0", "0: equal", "33.3 − layer")
    }
    assert [text for text, subtitle in begun.items() if text != subtitle] == [
        "bands: 95 %",
        "a map",
    ]
    assert begun["bands: 95 %"] == "Bands: 95 %"
    assert "subtitle" not in heading("A")
    assert legend(lines=True)["symbolType"] == "stroke"


def test_a_legend_above_panels_has_the_markers_of_their_lines() -> None:
    looks = {"a": Look(shape="square"), "b": Look(shape="diamond"), "c": Look(point=False)}
    layers = legend_strip(looks, context=PAGE).to_dict()["layer"]
    marks = [layer["mark"] for layer in layers]
    assert [mark["shape"] for mark in marks if mark["type"] == "point"] == ["square", "diamond"]


def test_names_of_a_legend_above_panels_do_not_reach_the_next_stroke() -> None:
    names = ("each model", "mean", "Gaussian matrix", "trend")
    strip = legend_strip(dict.fromkeys(names, Look(point=False)), context=PAGE).to_dict()
    rows = next(iter(strip["datasets"].values()))
    (across,) = {layer["encoding"]["x"]["scale"]["domain"][1] for layer in strip["layer"]}
    letter = 340 / across  # pixels that a letter has on a phone
    assert letter > 0.5 * PAGE.letter
    ends = [row["to"] + len(row["name"]) for row in rows]
    assert all(end < row["from"] for end, row in zip(ends, rows[1:], strict=False))


def test_a_long_title_of_a_gradient_stands_above_it() -> None:
    sides = [
        gradient(title, context=PAGE)["titleOrient"] for title in ("Cosine", "Cosine of weights")
    ]
    assert sides == ["left", "top"]
