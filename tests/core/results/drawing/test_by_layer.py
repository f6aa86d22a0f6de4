"""Columns by layer and through training: what a record says of a column is in its figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.results.columns import COLUMNS, Tip, tip_of, with_tooltips
from core.results.drawing.context import PAGE
from core.results.drawing.curves import NULL, Look, Rule, layer_chart
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.training import step_chart

LOOKS = {"a": Look(), "b": Look()}


def rows(y: str, **more: Any) -> pd.DataFrame:
    table = pd.DataFrame({"name": list("aabb"), "layer": [0, 1, 0, 1], y: [0.1, 0.2, 0.3, 0.4]})
    return table.assign(**more)


def marked(layer: dict[str, Any], part: str) -> bool:
    return bool(layer.get("mark", {}).get("type") == part)


def test_a_column_by_layer_has_the_title_the_kind_and_the_interval_of_its_record() -> None:
    table = rows("cost", cost_low=[0.0] * 4, cost_high=[0.5] * 4, metric="uas")
    spec = layer_chart(table, "cost", LOOKS, "Costs", context=PAGE).to_dict()
    area = next(layer for layer in spec["layer"] if marked(layer, "area"))
    assert area["encoding"]["y"]["scale"]["domain"] == pytest.approx([-0.03, 0.53])
    assert area["encoding"]["y"]["title"] == "Cost"
    drawn = [row for table in spec["datasets"].values() for row in table if "told_low" in row]
    assert {row["told_low"] for row in drawn} == {"0 to +0.5"}  # points, with their sign
    assert spec["description"].startswith("Costs. Line chart of Cost by layer from 0 to 1, 2 lines")


def test_chance_is_the_widest_of_all_lines_and_drawn_only_where_it_is_asked_for() -> None:
    table = rows("similarity", null_low=[0.0, 0.1, -0.1, 0.1], null_high=[0.2, 0.2, 0.3, 0.2])
    spec = layer_chart(table, "similarity", LOOKS, "All", null="Chance", context=PAGE).to_dict()
    band = next(layer for layer in spec["layer"] if "layer" in layer)
    low = spec["datasets"][band["layer"][0]["data"]["name"]]
    assert [(row["null_low"], row["null_high"]) for row in low] == [(-0.1, 0.3), (0.1, 0.2)]
    assert f'"{NULL}"' in json.dumps(spec)
    without = layer_chart(table, "similarity", LOOKS, "All", context=PAGE).to_dict()
    assert not any("layer" in layer for layer in without["layer"])


def test_a_baseline_is_a_grey_line_from_end_to_end_within_the_axis() -> None:
    rules = [Rule("baseline", 0.9, (2, 3), {"low": 0.8, "high": 1.0})]
    spec = layer_chart(rows("score"), "score", LOOKS, "All", rules=rules, context=PAGE).to_dict()
    line = next(layer for layer in spec["layer"] if marked(layer, "line"))
    across = [row for row in spec["datasets"][line["data"]["name"]] if row["name"] == "baseline"]
    assert [(row["layer"], row["score"], row["pointed"]) for row in across] == [
        (0.0, 0.9, False),
        (1.0, 0.9, False),
    ]
    assert line["encoding"]["y"]["scale"]["domain"][1] > 0.9
    assert line["encoding"]["strokeDash"]["scale"]["range"][-1] == [2, 3]
    assert not across[0]["banded"]


def test_steps_are_told_by_checkpoint_and_counted_from_nothing() -> None:
    table = rows("value", model=["x@0", "x@100"] * 2, tokens=[0, 1000] * 2, steps=[0, 100] * 2)
    rules = [Rule("chance", 0.5)]
    spec = step_chart(table, "value", "Score", LOOKS, "All", rules=rules, context=PAGE).to_dict()
    assert "by training step from 0 to 100, 3 lines" in spec["description"]
    told_steps = {
        row["told_step"]
        for table in spec["datasets"].values()
        for row in table
        if "told_step" in row
    }
    assert "chance" in told_steps
    assert len(told_steps) == 3


def test_a_tooltip_is_named_by_columns() -> None:
    table = pd.DataFrame(
        {
            "model": ["a"], "layer": [3.0], "js": [0.0012], "low": [0.001], "high": [0.002],
            "p_value": [0.0123], "clear": [True], "steps": pd.array([None], dtype="Int64"),
        }
    )  # fmt: skip
    names = ("model", "layer", "js", "low", "p_value", "clear", "steps", "of no table")
    shown, tooltip = with_tooltips(table, names)
    assert {each["field"]: each["title"] for each in tooltip} == {
        "told_model": "Model",
        "told_layer": "Layer",
        "told_js": "JS divergence (bits)",
        "told_low": "95 % interval",
        "told_p_value": "p-value",
        "told_clear": "Distinguishable",
        "told_steps": "Steps",
    }
    words = shown.filter(like="told_").iloc[0].tolist()
    assert words == ["a", "3", ".0012", ".0010 to .0020", "p = .012", "True", "n/a"]


def test_a_table_may_say_more_of_a_column() -> None:
    assert tip_of("truth.unchanged") == Tip("unchanged", "Unchanged layers", "whole")
    assert tip_of("unchanged").title == "Unchanged matrices"
    assert tip_of("divergence.items") == Tip("items", "Number of words", "whole")


def test_a_cell_that_is_almost_one_is_not_written_as_one() -> None:
    cells = pd.DataFrame({"layer": [0, 1, 2], "family": "all", "accuracy": [1.0, 0.9996, 0.9]})
    spec = heatmap(cells, "Cells", x="layer", y="family", value="accuracy", context=PAGE).to_dict()
    (rows,) = spec["datasets"].values()
    whole, almost, less = (row["written"] for row in rows)
    assert almost == "<1"
    assert "<" not in whole + less


def test_a_heatmap_says_its_value_as_its_record_does() -> None:
    cells = pd.DataFrame({"layer": [1, 2], "family": ["q", "k"], "accuracy": [0.25, 0.5]})
    spec = heatmap(cells, "Cells", x="layer", y="family", value="accuracy", context=PAGE).to_dict()
    assert "Heatmap of accuracy, 2 rows, 2 columns. Highest 50 %" in spec["description"]
    titles = [each["title"] for each in spec["layer"][0]["encoding"]["tooltip"]]
    assert titles == ["Matrix", "Layer", "Accuracy"]


def test_no_chart_says_again_what_a_record_says() -> None:
    """A line of a tooltip is written out only where title or kind are not the column's own."""
    again = [
        f"{path}: {column}"
        for path in Path("core").rglob("*.py")
        for column, title in re.findall(r'\bTip\("(\w+)", "([^"]+)"', path.read_text("utf8"))
        if column in COLUMNS and title == tip_of(column).title
    ]
    assert again == []


def test_nothing_to_draw_is_said() -> None:
    empty = rows("value", model="m", tokens=0, steps=0, family="q").iloc[:0]
    for chart in (
        layer_chart(empty, "value", LOOKS, "All", context=PAGE),
        step_chart(empty, "value", "Score", LOOKS, "All", context=PAGE),
        heatmap(empty, "All", x="layer", y="family", value="value", context=PAGE),
    ):
        assert chart.to_dict()["description"] == "All: nothing could be drawn."


def test_a_line_that_ends_early_is_joined_to_its_name_by_dots() -> None:
    table = rows("score").iloc[:3]  # b ends where a goes on
    spec = layer_chart(table, "score", LOOKS, "All", context=PAGE).to_dict()
    strokes = [layer for layer in spec["layer"] if marked(layer, "rule")]
    dotted = {each["transform"][0]["filter"][-3:]: "strokeDash" in each["mark"] for each in strokes}
    assert dotted == {'"a"': False, '"b"': True}
