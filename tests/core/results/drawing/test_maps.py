"""Maps of points: a search marks what it should, zooming in makes room for names, files stay still."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.results.drawing.context import Context
from core.results.drawing.maps import (
    ZOOM,
    count_matches,
    matches,
    name_layer,
    opacity,
    placed,
    zoomed,
)
from core.results.drawing.vega import Chart

PAGE, FILE = Context(zooms=True), Context()
ENDS = ([0.0, 1.0], [0.0, 1.0])
CROWD = pd.DataFrame({"x": 0.5 + 0.01 * np.arange(6), "y": 0.5})
NAMES = ["a long name"] * 6


def crowd(context: Context, names: list[str] = NAMES) -> pd.DataFrame:
    return placed(CROWD, names, ENDS, 200, 4, bold=[False] * 6, context=context)


@pytest.mark.parametrize(
    ("wanted", "marked"),
    [
        ("", [False, False, False]),
        (" , ", [False, False, False]),
        ("PARSE", [True, True, False]),
        ("sst", [False, False, True]),
        ("parse-1, nothing", [False, True, False]),
        ("parse-0,sst", [True, False, True]),
        ("nothing", [False, False, False]),
    ],
)
def test_a_search_finds_parts_of_any_text(wanted: str, marked: list[bool]) -> None:
    texts = {"name": ["parse-0", "parse-1", "sentiment"], "data": ["EWT", "EWT", "SST-2"]}
    assert matches(texts, wanted).tolist() == marked


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        ([True, False, True], "2 of 3 words match “hid”"),
        ([True, False, False], "1 of 3 words matches “hid”"),
        ([False, False, False], "none of 3 words match “hid”"),
    ],
)
def test_matches_are_counted(marked: list[bool], said: str) -> None:
    assert count_matches(np.array(marked), " hid ", "word") == said
    assert count_matches(np.array(marked), " ", "word") == ""


def test_names_without_room_get_it_when_the_map_is_enlarged() -> None:
    still, page = crowd(FILE), crowd(PAGE)
    assert still["named"].tolist() == page["named"].tolist()
    assert 0 < page["named"].sum() < 6
    assert np.isinf(still.loc[~still["named"], "room"]).all()
    later = page.loc[~page["named"], "room"]
    assert np.isfinite(later).any()
    assert (later > 1).all()
    assert np.isfinite(page[["dx", "dy"]].to_numpy()).all()


def test_names_that_appear_on_zooming_in_lie_on_no_other_name() -> None:
    page = crowd(PAGE, ["ab"] * 6)
    largest = float(page["room"].max())
    assert 1 < largest < np.inf
    x = page["x"] * PAGE.narrow * largest + page["dx"]
    y = (1 - page["y"]) * 200 * largest + page["dy"]
    wide = 2 * PAGE.letter * 0.48 + 2
    for i in range(6):
        for j in range(i):
            assert abs(x[i] - x[j]) >= wide - 1e-6 or abs(y[i] - y[j]) >= PAGE.letter - 1e-6


def test_only_a_map_on_a_page_moves() -> None:
    points = Chart(crowd(PAGE).assign(marked=True)).encode(x="x:Q", y="y:Q")
    layers = [points.mark_point(), name_layer(points, ENDS, faded=True, context=PAGE)]
    first, second = (layer.to_dict() for layer in zoomed(layers, context=PAGE))
    assert [param["name"] for param in first["params"]] == [ZOOM]
    assert first["mark"]["clip"]
    assert second["mark"]["clip"]
    assert len(second["encoding"]["opacity"]["condition"]) == 2
    still = name_layer(points, ENDS, faded=False, context=FILE)
    assert zoomed([still], context=FILE) == [still]
    assert still.to_dict()["transform"] == [{"filter": "datum.named"}]
    assert "opacity" not in still.to_dict()["encoding"]


def test_the_wheel_needs_a_key_and_fingers_do_not_drag() -> None:
    (layer,) = zoomed([Chart(CROWD).mark_point()], context=PAGE)
    select = layer.to_dict()["params"][0]["select"]
    assert "ctrlKey" in select["zoom"]
    assert "metaKey" in select["zoom"]
    assert "pointerType === 'mouse'" in select["translate"]


def test_points_beside_marked_ones_are_faint() -> None:
    assert opacity(0.9, faded=False) == {"value": 0.9}
    faded = opacity(0.9, faded=True)
    assert faded["condition"]["value"] == 0.9
    assert faded["value"] < 0.5
