"""Maps of points: a search marks what it should, zooming in makes room for names, files stay still."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.results.drawing.context import Context
from core.results.drawing.maps import (
    FRAME,
    STAGE,
    STAGE_BOX,
    TURN,
    ZOOM,
    Ends,
    count_matches,
    matches,
    moved,
    moving,
    name_layer,
    opacity,
    placed,
    zoomed,
)
from core.results.drawing.maps import turned as still_points
from core.results.drawing.vega import Chart, layered
from core.runs.process.drawing import draw

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


STAGES = [
    pd.DataFrame({"x": [0.1, 0.9], "y": [0.2, 0.4], "dx": [0.0, 9.0], "dy": [-9.0, 0.0],
                  "room": [1.0, np.inf], "who": ["a", "b"]}),
    pd.DataFrame({"x": [0.5, 0.7], "y": [0.8, 0.6], "dx": [9.0, 0.0], "dy": [0.0, 9.0],
                  "room": [np.inf, 2.0], "who": ["a", "b"]}),
    pd.DataFrame({"x": [0.3, 0.2], "y": [0.1, 0.9], "dx": [0.0, 0.0], "dy": [9.0, 9.0],
                  "room": [1.0, 1.0], "who": ["a", "b"]}),
]  # fmt: skip
FRAMES: list[Ends] = [ENDS, ([0.0, 2.0], [-1.0, 1.0]), ([-1.0, 1.0], [0.0, 2.0])]


def spec_at(stage: float | str, deep: bool = False) -> tuple[Chart, dict[str, Any]]:
    """A chart of points of two axes or three, and its specification at a stage."""
    stages = [rows.assign(z=rows["y"] + rows["x"]) for rows in STAGES] if deep else STAGES
    frames = [[*frame, [-2.0, 2.0]] for frame in FRAMES] if deep else FRAMES
    axes = {
        name: {"field": name, "type": "quantitative", "scale": {"domain": ends, "nice": False}}
        for name, ends in zip("xy", FRAME, strict=True)
    }
    points = moving(stages, ["room"]).encode(**axes)
    spec = moved(layered(points.mark_text()), frames, 2).properties(width=100, height=100).to_dict()
    parameter = next(each for each in spec["params"] if each["name"] == STAGE)
    assert parameter.pop("bind") == {"element": f"#{STAGE_BOX}"}  # which a file does not have
    assert parameter["value"] == 2
    parameter["value"] = stage
    return points, spec


def drawn_at(stage: float | str) -> list[tuple[float, float, str]]:
    """Where the two names are drawn, of 100 pixels by 100, and their opacity."""
    points, spec = spec_at(stage)
    shown = {"condition": {"test": "!datum.room", "value": 0.25}, "value": 1}
    look = {"dx": {"expr": "datum.dx"}, "dy": {"expr": "datum.dy"}}
    names = points.mark_text(**look).encode(text="who:N", opacity=shown)
    text = draw("svg", json.dumps(spec | layered(names).to_dict() | {"params": spec["params"]}))
    found = re.findall(r'<text [^>]*?translate\(([-\d.]+),([-\d.]+)\)"[^>]*>([ab])<', text.decode())
    opacities = re.findall(r'<text [^>]*opacity="([\d.]+)"[^>]*>[ab]<', text.decode())
    assert len(found) == len(opacities) == 2
    return [(float(x), float(y), far) for (x, y, _), far in zip(found, opacities, strict=True)]


def expected_at(stage: int) -> np.ndarray:
    """Pixels of the two names at one stage."""
    (left, right), (bottom, top) = FRAMES[stage]
    rows = STAGES[stage]
    x = (rows["x"] - left) / (right - left) * 100 + rows["dx"]
    y = (top - rows["y"]) / (top - bottom) * 100 + rows["dy"]
    return np.column_stack([x, y])


def places(stage: float | str) -> np.ndarray:
    return np.array([place[:2] for place in drawn_at(stage)])


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_points_that_move_are_where_each_stage_has_them(stage: int) -> None:
    base = places("0") - expected_at(0)  # where the baseline of letters is
    assert np.ptp(base, axis=0) == pytest.approx([0, 0], abs=1e-3)
    assert places(str(stage)) - base == pytest.approx(expected_at(stage), abs=1e-3)
    assert not np.allclose(places(stage), places((stage + 1) % 3))


def test_points_that_move_are_halfway_between_two_stages_and_so_is_their_frame() -> None:
    rows = (STAGES[0][["x", "y"]] + STAGES[1][["x", "y"]]) / 2
    offsets = (STAGES[0][["dx", "dy"]] + STAGES[1][["dx", "dy"]]) / 2
    x = rows["x"] / 1.5 * 100 + offsets["dx"]
    y = (1.0 - rows["y"]) / 1.5 * 100 + offsets["dy"]
    base = (places("0") - expected_at(0))[0]
    assert places("0.5") - base == pytest.approx(np.column_stack([x, y]), abs=1e-3)


@pytest.mark.parametrize(("stage", "faint"), [("0.4", "b"), ("0.6", "a"), ("1.4", "a"), ("2", "")])
def test_what_cannot_be_between_two_stages_is_that_of_the_nearer_one(
    stage: str, faint: str
) -> None:
    opacities = {name: far for name, (_, _, far) in zip("ab", drawn_at(stage), strict=True)}
    assert [name for name, far in opacities.items() if far == "0.25"] == list(faint)


def test_points_of_one_stage_stay() -> None:
    chart = moving(STAGES[:1]).mark_point().to_dict()
    assert "transform" not in chart
    assert list(next(iter(chart["datasets"].values()))[0]) == list(STAGES[0])


def turned(degrees: float, stage: float = 1) -> list[tuple[float, float, float]]:
    """Where the points are drawn when the map is turned, and the widths of their symbols."""
    points, spec = spec_at(stage, deep=True)
    slider = next(each for each in spec["params"] if each["name"] == TURN)
    assert slider["value"] == 0
    slider["value"] = degrees
    dots = layered(points.mark_point(filled=True, size={"expr": "100 * datum.near"})).to_dict()
    text = draw("svg", json.dumps(spec | dots | {"params": spec["params"]})).decode()
    found = re.findall(r'<path [^>]*translate\(([-\d.]+),([-\d.]+)\)" d="M([-\d.]+),', text)
    assert len(found) == 2
    return [(float(x), float(y), float(half)) for x, y, half in found]


def test_a_map_that_is_not_turned_is_as_it_was() -> None:
    rows = STAGES[1]
    expected = np.column_stack([rows["x"] / 2 * 100, (1 - rows["y"]) / 2 * 100])
    flat = np.array(turned(0))
    assert flat[:, :2] == pytest.approx(expected, abs=1e-3)
    assert flat[0, 2] == flat[1, 2]  # nothing is nearer


@pytest.mark.parametrize("degrees", [90, -90])
def test_a_map_turned_by_90_degrees_has_its_third_axis_across(degrees: float) -> None:
    rows = STAGES[1]
    across = (rows["x"] + rows["y"]) * np.sign(degrees)
    side = np.array(turned(degrees))
    assert side[:, 0] == pytest.approx((across + 2) / 4 * 100, abs=1e-3)
    assert side[:, 1] == pytest.approx((1 - rows["y"]) / 2 * 100, abs=1e-3)
    nearer = side[0, 2] > side[1, 2]
    assert nearer == (rows["x"][0] * -np.sign(degrees) > rows["x"][1] * -np.sign(degrees))


def test_points_that_stay_turn_with_those_that_move() -> None:
    rows = STAGES[1].assign(z=STAGES[1]["y"] + STAGES[1]["x"])
    still, moves = (
        chart.mark_point().to_dict()["transform"]
        for chart in (still_points(rows), moving([rows, rows], ["room"]))
    )
    assert still[0] in moves, "the same expression"
    assert "x" not in next(iter(still_points(rows).mark_point().to_dict()["datasets"].values()))[0]


@pytest.mark.slow
def test_a_turned_map_keeps_all_points_in_its_frame() -> None:
    for degrees in range(-90, 91, 30):
        for stage in (0, 0.5, 1, 2):
            assert all(0 <= x <= 100 for x, _, _ in turned(degrees, stage)), (degrees, stage)
