"""Palettes replace colours, all of them and nothing else."""

from __future__ import annotations

import copy
import json
import re

import pytest

from core.results.columns import Tip
from core.results.drawing import style
from core.results.drawing.context import Context
from core.results.drawing.curves import Look, curves
from core.results.drawing.printing import (
    GREYS,
    HEX,
    MUTED,
    PALETTES,
    TOL,
    USUAL,
    Paper,
    grey_of,
    in_palette,
    paper_file,
)
from core.results.drawing.vega import Chart, replaced
from tests.core.results.drawing.test_drawing import lines, plane

SPEC = {
    "mark": {"type": "line", "color": style.BLUE},
    "encoding": {
        "color": {"scale": {"range": [style.ORANGE, style.GREEN.lower()]}},
        "fill": {"scale": {"scheme": "viridis", "reverse": True}},
    },
    "datasets": {"rows": [{"colour": style.BLUE}]},
    "data": {"name": style.BLUE},
}


def test_each_colour_of_a_palette_is_another_colour() -> None:
    assert {*TOL} >= {*style.COLOURS, *style.TASK_COLOURS.values()}
    assert len({*TOL.values()}) == len(TOL)


@pytest.mark.parametrize("palette", PALETTES)
def test_data_and_the_chart_itself_stay_as_they_are(palette: str) -> None:
    before = copy.deepcopy(SPEC)
    made = in_palette(SPEC, palette)
    assert before == SPEC
    assert made["datasets"] == SPEC["datasets"]
    assert made["data"] == SPEC["data"]
    assert (made == SPEC) is (palette == USUAL)


def test_a_colour_in_any_case_is_replaced() -> None:
    made = in_palette(SPEC, MUTED)
    assert made["mark"]["color"] == TOL[style.BLUE]
    assert made["encoding"]["color"]["scale"]["range"] == [TOL[style.ORANGE], TOL[style.GREEN]]
    assert made["encoding"]["fill"] == SPEC["encoding"]["fill"]  # type: ignore[index]


def test_greys_have_no_hue_and_the_luminance_of_their_colour() -> None:
    made = in_palette(SPEC, GREYS)
    assert made["mark"]["color"] == "#575757"  # .587 * 0x72 + .114 * 0xb2 = 87.2
    assert made["encoding"]["fill"]["scale"] == {"reverse": True, "range": ["#1a1a1a", "#f2f2f2"]}
    assert grey_of("white") == "white"
    assert [grey_of(end) for end in ("#000000", "#FFFFFF")] == ["#000000", "#ffffff"]


@pytest.mark.slow
def test_a_file_has_the_palette_s_colours_only() -> None:
    table = lines(a=[1, 0.5, 0.2], b=[1, 0.6, 0.4])
    looks = {"a": Look(colour=style.BLUE), "b": Look(colour=style.ORANGE)}

    def draw(*, context: Context) -> Chart:
        return curves(table, plane(table, context=context), looks, (Tip("name", "Model"),))

    grey = paper_file(draw, Paper(palette=GREYS), "svg").decode("utf8")
    assert all(len({*re.findall("..", colour[1:].lower())}) == 1 for colour in HEX.findall(grey))
    usual, muted = (
        {*HEX.findall(paper_file(draw, Paper(palette=name), "svg").decode("utf8").upper())}
        for name in (USUAL, MUTED)
    )
    assert usual & {colour.upper() for colour in TOL}
    assert not muted & {colour.upper() for colour in TOL}


def test_an_unknown_palette_is_refused() -> None:
    with pytest.raises(KeyError):
        in_palette(SPEC, "Rainbow")


def test_only_strings_are_replaced() -> None:
    assert replaced([1, None, {"a": "x"}], str.upper) == [1, None, {"a": "X"}]
    assert json.dumps(replaced(SPEC, lambda text: text)) == json.dumps(SPEC)
