"""What all charts share: numbers, names apart, coinciding lines, figures for papers, the report."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from core.results.columns import Tip, with_tooltips
from core.results.drawing import files as drawn
from core.results.drawing.axes import Plane, layer_plane
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, graded
from core.results.drawing.description import lines_in_words, points_in_words
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.labels import coinciding, crossings, dodge, free_labels
from core.results.drawing.panels import Panels, legend_strip
from core.results.drawing.printing import (
    HEIGHTS,
    Drawing,
    Paper,
    caption,
    joined,
    one_chart,
    paper_file,
)
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.numbers import Kind, text_of
from core.results.papers.reference import cite
from core.results.report import report_html

LAYERS = [0, 1, 2]


def lines(**values: list[float]) -> pd.DataFrame:
    return pd.concat(
        [pd.DataFrame({"name": name, "layer": LAYERS, "y": ys}) for name, ys in values.items()]
    )


def plane(table: pd.DataFrame, high: float = 1.0, *, context: Context = PAGE) -> Plane:
    return layer_plane(table, "y", "Similarity", (0.0, high), height=200, context=context)


def chart(table: pd.DataFrame, high: float = 1.0, *, context: Context = PAGE) -> Chart:
    looks = {str(name): Look() for name in dict.fromkeys(table["name"])}
    tips = (Tip("name", "Model"), Tip("y", "Similarity", "share"))
    made = curves(table, plane(table, high, context=context), looks, tips)
    return made.properties(
        width="container", height=200, title="A rather long title that has to wrap in one column"
    )


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.254, "share", ".25"), (1.0, "share", "1.00"), (-0.03, "share", "\u2212.03"), (-0.001, "share", ".00"),
        (-3.25, "gain", "\u22123.2"), (0.254, "per cent", "25 %"), (1234.5, "measure", "1,234"),
        (0.00123, "measure", "0.00123"), (7, "whole", "7"),
    ],
)  # fmt: skip
def test_a_number_is_written_one_way(value: float, kind: Kind, text: str) -> None:
    assert text_of(value, kind) == text


def test_a_band_is_one_line_of_a_tooltip() -> None:
    rows, shown = with_tooltips(
        pd.DataFrame({"low": [0.1], "high": [0.25]}),
        [Tip("low", "Band", "share"), Tip("none", "No")],
    )
    assert rows["told_low"].tolist() == [".10 to .25"]
    assert len(shown) == 1


def test_names_stand_apart_in_order_and_as_near_as_they_can() -> None:
    values = np.array([0.5, 0.51, 0.1, 0.99])
    placed = dodge(values, 0.1, 0.0, 1.0)
    assert (np.diff(placed[np.argsort(values)]) >= 0.1 - 1e-9).all()
    assert placed[2] == 0.1
    assert placed[:2].mean() == pytest.approx(0.505)
    assert dodge([0.5, 0.5], [0.4, 0.2], 0, 1) == pytest.approx([0.35, 0.65])
    assert dodge([2.0], 0.1, 0, 1).tolist() == [1.0]


def test_lines_that_coincide_share_a_name() -> None:
    one = np.array([0.1, 0.2, np.nan])
    assert coinciding([one, one + 0.001, one + 0.5], 0.01) == [0, 0, 2]
    spec = json.dumps(chart(lines(a=[1, 0.5, 0.2], b=[1, 0.5, 0.2], c=[1, 0.9, 0.8])).to_dict())
    assert '"a = b"' in spec
    assert '"c"' in spec


def test_a_line_that_leaves_the_axis_is_broken_where_it_does() -> None:
    assert crossings([0, 1, 2], [0.5, 1.5, 0.5], 1.0).tolist() == [0.5, 1.5]
    beyond = json.dumps(chart(lines(a=[2.0, 2.5, 2.57], b=[0.1, 0.2, 0.3])).to_dict())
    assert "a 2.57" in beyond
    assert "M-1,0.45" in beyond
    assert "M-1,0.45" not in json.dumps(chart(lines(b=[0.1, 0.2, 0.3])).to_dict())


def test_names_of_points_lie_on_no_other_name_or_point() -> None:
    x, y = np.array([50.0, 52, 54, 56, 58, 60]), np.full(6, 50.0)
    places = free_labels(x, y, np.full(6, 30.0), 10, (120, 100), 3)
    there = [place for place in places if place is not None]
    assert 1 <= len(there) < 6
    for i, (ax, ay) in enumerate(there):
        assert all(abs(ax - bx) >= 30 or abs(ay - by) >= 10 for bx, by in there[i + 1 :])


def test_few_cells_carry_their_numbers_and_many_do_not() -> None:
    for size, numbered in ((3, True), (12, False)):
        cells = pd.DataFrame(
            [{"i": i, "j": j, "v": i / 12} for i in range(size) for j in range(size)]
        )
        made = heatmap(
            cells, "Cells", x="i", y="j", value="v", x_title="i", y_title="j", value_title="v",
            context=PAGE,
        )  # fmt: skip
        marks = [layer["mark"]["type"] for layer in made.to_dict()["layer"]]
        assert ("text" in marks) is numbered


@pytest.mark.slow
@pytest.mark.parametrize("paper", [Paper(), Paper(2, True, True, False)])
def test_no_letter_of_a_printed_figure_is_under_seven_points(paper: Paper) -> None:
    table = lines(a=[1, 0.5, 0.2], b=[1, 0.6, 0.4])

    def panels(*, context: Context) -> Panels:
        strip = legend_strip({"a": Look(), "b": Look()}, context=context)
        return Panels([chart(table, context=context)] * 3, across=3, strip=strip)

    for draw in (partial(chart, table), panels):
        text = paper_file(draw, paper, "svg").decode("utf8")
        width = re.search(r'width="([\d.]+)in"', text)
        assert width is not None
        assert float(width[1]) == pytest.approx({1: 3.3, 2: 6.9}[paper.columns], abs=0.08)
        scale = float(width[1]) * 72 / float(re.search(r'viewBox="0 0 ([\d.]+)', text)[1])  # type: ignore[index]
        sizes = [float(size) * scale for size in re.findall(r'font-size="([\d.]+)px"', text)]
        assert sizes
        assert min(sizes) >= 7 - 0.01
    assert paper_file(partial(chart, table), paper, "pdf").startswith(b"%PDF")


def test_titles_wrap_and_go() -> None:
    spec = drawn.sheet(chart(lines(a=[1, 0.5, 0.2])), 200, 8)
    assert len(spec["title"]["text"]) > 1
    assert "title" not in drawn.sheet(chart(lines(a=[1, 0.5, 0.2])), 200, 8, titled=False)


def test_for_grey_every_line_has_a_dash_of_its_own() -> None:
    both = lines(a=[1, 0.5, 0.2], b=[1, 0.6, 0.4])
    spec = chart(both, context=Context(dashed=True)).to_dict()
    dashes = next(
        layer["encoding"]["strokeDash"]
        for layer in spec["layer"]
        if "strokeDash" in layer.get("encoding", {})
    )
    assert len({str(dash) for dash in dashes["scale"]["range"]}) == 2


def test_a_chart_says_what_it_shows() -> None:
    said = lines_in_words(
        lines(a=[1, 0.5, 0.2]), "RSA", x="layer", y="y", x_title="Layer", y_title="RSA"
    )
    assert said == (
        "RSA. Line chart of RSA by layer from 0 to 2, 1 line. a: 1.00 at 0, .20 at 2. "
        "Highest 1.00 (a at 0), lowest .20 (a at 2)."
    )


def test_a_baseline_that_is_highest_everywhere_is_highest_nowhere_in_particular() -> None:
    table = lines(a=[1, 0.5, 0.2], chance=[2, 2, 2])
    said = lines_in_words(table, "RSA", x="layer", y="y", x_title="Layer", y_title="RSA")
    assert said.endswith("Highest 2.00 (chance), lowest .20 (a at 2).")


def test_the_report_is_short_and_says_how_to_reproduce_it() -> None:
    table = pd.DataFrame({"x": range(5000), "y": np.linspace(0, 1, 5000)})
    result = Result(
        "weights",
        {},
        "A finding.",
        {"main": table},
        methods="We did it.",
        citations=cite(["hu2022"]),
    )
    figures = {f"f{number}": chart(lines(a=[1, 0.5, 0.2])) for number in range(9)}
    page = report_html(
        result, figures, link="http://localhost/rsa?a=b", command="python -m core rsa"
    ).decode()
    assert page.count("<tr>") <= 42
    assert "first 40 of 5,000 rows" in page
    assert "Hu et al. 2022. LoRA" in page
    assert page.index("More figures") > page.rindex("Figure 5.")
    assert "python -m core rsa" in page
    assert 'href="http://localhost/rsa?a=b"' in page
    assert "javascript:x" in report_html(result, {}, link="javascript:x").decode()
    assert 'href="javascript' not in report_html(result, {}, link="javascript:x").decode()


def test_a_caption_says_what_is_shown_and_leaves_the_methods_out() -> None:
    said = caption(partial(chart, lines(a=[1, 0.5, 0.2])))
    assert said.endswith("one column.")
    assert ".." not in said


def test_a_title_that_asks_keeps_its_question_mark() -> None:
    asking = chart(lines(a=[1, 0.5, 0.2])).properties(title="Do neighbours share a label?")
    assert caption(lambda *, context: asking) == "Do neighbours share a label?"


def test_a_higher_figure_is_higher_and_as_wide() -> None:
    def draw(*, context: Context) -> Chart:
        made = chart(lines(a=[1, 0.5, 0.2]), context=context)
        return made.properties(height=context.height(200))

    def size(paper: Paper) -> list[float]:
        text = paper_file(draw, paper, "svg").decode("utf8")
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)', text)
        assert box is not None
        return [float(box[1]), float(box[2])]

    sizes = [size(Paper(height=height)) for height in HEIGHTS.values()]
    assert len({width for width, _ in sizes}) == 1
    assert sizes == sorted(sizes, key=lambda pair: pair[1])
    assert sizes[2][1] > 1.2 * sizes[1][1] > 1.3 * sizes[0][1]


@pytest.mark.slow
def test_joined_views_of_every_kind_are_one_figure() -> None:
    def panels(draw: Drawing) -> int:
        return len(one_chart(draw).to_dict().get("concat", [0]))

    alone = partial(chart, lines(a=[1, 0.5, 0.2]))

    def several(*, context: Context) -> list[Chart]:
        return [alone(context=context)] * 2

    def arranged(*, context: Context) -> Panels:
        return Panels([alone(context=context)] * 3, across=3)

    drawn: list[tuple[Drawing, int]] = [(alone, 1), (several, 2), (arranged, 3)]
    for draw, count in drawn:
        assert panels(draw) == count
        for below, more in drawn:
            assert panels(joined(draw, below)) == count + more
    assert one_chart(joined(arranged, alone)).to_dict()["columns"] == 3


def test_a_figure_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        paper_file(partial(chart, lines(a=[1, 0.5, 0.2])), Paper(), "zip")


def test_lines_in_an_order_differ_in_more_than_hue() -> None:
    looks = list(graded([f"layer {number}" for number in range(13)]).values())
    assert len({(look.colour, tuple(look.dash)) for look in looks}) == 13
    assert all(first.dash != second.dash for first, second in pairwise(looks))


def test_a_map_of_points_says_who_lies_where() -> None:
    table = pd.DataFrame(
        {"x": [0, 1, 2], "y": [5, 0, 9], "word": ["the", "old", "door"], "role": ["a", "a", "b"]}
    )
    said = points_in_words(table, "Map", name="word", group="role", point="word")
    assert "3 words" in said
    assert "left the, right door, top door, bottom old" in said
    assert "a (2), b (1)" in said
    assert "nothing" in points_in_words(table.iloc[:0], "Map", name="word")
