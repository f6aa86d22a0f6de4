"""Lines in a plot, the same on every page: bands, lines, points, and each line's name at its right
end.

Names stand apart from each other, joined to their lines; lines that coincide share a name and are
drawn one in the gaps of the other; a line that leaves the axis ends in a break mark. Where there
are more names than the plot is high, or a figure asks for it, a legend below names them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.results.drawing.axes import Plane
from core.results.drawing.description import lines_in_words
from core.results.drawing.labels import coinciding, crossings, dodge
from core.results.drawing.style import GREY, colour_between, heading, legend
from core.results.drawing.vega import Chart, channel, equals, layered
from core.results.numbers import Tip, text_of, told

if TYPE_CHECKING:
    import pandas as pd

LONGEST_NAME = 21  # letters of a line of a name
WIDE = 0.56  # mean width of a letter, of its height
BREAK = (
    "M-1,0.45L1,-0.15M-1,0.95L1,0.35"  # two strokes across a line: it goes on outside of the axis
)
SAME = 1.5  # pixels within which two lines are one to the eye
GREY_DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [1, 2], [10, 3], [5, 2, 1, 2, 1, 2])


@dataclass(frozen=True)
class Look:
    """How a line looks, and whether its band is drawn. Reference lines are grey, dashed and without
    points."""

    colour: str = GREY
    shape: str = "circle"
    dash: Sequence[int] = (1, 0)
    point: bool = True
    width: float = 2.0
    band: bool = True


def graded(names: Sequence[str], **more: Any) -> dict[str, Look]:
    """Make looks for lines in an order, such as layers: from blue to orange, neighbours with
    different dashes.

    Args:
        names: In their order.
        more: As `Look` takes it.
    """
    last = max(len(names) - 1, 1)
    return {
        name: Look(colour_between(place / last), dash=GREY_DASHES[place % len(GREY_DASHES)], **more)
        for place, name in enumerate(names)
    }


def curves(
    table: pd.DataFrame,
    plane: Plane,
    looks: Mapping[str, Look],
    tips: Sequence[Tip] = (),
    *,
    under: Sequence[Any] = (),
    over: Sequence[Any] = (),
    named: Sequence[tuple[str, float]] = (),
    opacity: float = 0.18,
) -> Chart:
    """Draw lines by name, with bands where the table has `low` and `high`.

    Args:
        table: Columns `name`, the plane's x and y, and those of the tips; `who` where several lines
            are one model's, which stand out together on a page when one of them is pointed at.
        plane: The axes.
        looks: Name -> how its line looks, in the order of the legend.
        tips: What a tooltip says.
        under, over: Layers below and above the lines, as functions of the x axis.
        named: Names at the right end of things that are not lines, such as a band: (name, y).
        opacity: Of bands.
    """
    table = table[table["name"].isin(list(looks)) & table[plane.y].notna()]
    shown = [name for name in looks if (table["name"] == name).any()]
    context = plane.context
    looks = {name: looks[name] for name in shown}
    if context.dashed:
        looks = _dashed(looks)
    room_for_all = (len(shown) + len(named)) * context.row <= plane.pixels
    direct = context.unnamed or (not context.legend and room_for_all)
    twins = _twins(table, plane, shown)
    text = _end_names(table, plane, shown, twins, named) if direct and not context.unnamed else []
    longest = max((len(line) for row in text for line in row["text"].split("\n")), default=0)
    room = (longest * WIDE * context.letter + 22) * context.roomy if text else 0.0
    x, y = plane.x_of(room), plane.y_of()
    colour, dash, shape = (
        _scale(kind, shown, looks, direct) for kind in ("colour", "dash", "shape")
    )
    rows, tooltip = told(table, tips)
    rows = _styled(rows.assign(who=owners(table)), plane, looks, twins)
    base = Chart(rows).encode(x=x)
    layers: list[Any] = [make(x) for make in under]
    if "low" in table.columns and table["low"].notna().any():
        bands = base.filtered("datum.banded && isValid(datum.low)").mark_area(
            opacity=opacity, clip=True
        )
        layers.append(bands.encode(y=plane.y_of("low"), y2="high:Q", color=colour))
    lines = base.mark_line(clip=True)
    broad = channel("broad:Q", scale=None, legend=None)
    layers.append(
        lines.filtered("!datum.twin").encode(
            y=y, color=colour, strokeDash=dash, strokeWidth=broad, tooltip=tooltip
        )
    )
    if rows["twin"].any():
        above = base.filtered("datum.twin").mark_line(clip=True, strokeDash=[5, 7], strokeWidth=2)
        layers.append(above.encode(y=y, color=colour, detail="name:N", tooltip=tooltip))
    if rows["pointed"].any():
        points = base.filtered("datum.pointed && !datum.out").mark_point(
            size=55, filled=True, opacity=1
        )
        layers.append(points.encode(y=y, color=colour, shape=shape, tooltip=tooltip))
    layers += _breaks(table, plane, x, y, looks)
    layers += [*_names(text, plane, x, looks, shown), *(make(x) for make in over)]
    return layered(*layers).scales(fill="independent", strokeWidth="independent")


def finished(
    chart: Any, table: pd.DataFrame, plane: Plane, what: str, below: str = "",
    names: Sequence[str] = (), *, said: str = "", **axes: Any,
) -> Chart:  # fmt: skip
    """Give the chart of `curves` its size, its title and its description in words.

    Args:
        chart: The lines.
        table: Their rows.
        plane: Their axes.
        what, below: The title, and the line below it.
        names: Lines that the words tell of; all without it.
        said: What the words begin with, where that is not the title.
        axes: `x_title`, `y_title` and `kind` in words, where they are not the plane's.
    """
    titles = {"x_title": plane.x_title.split(" (")[0], "y_title": plane.y_title, "kind": plane.kind}
    words = lines_in_words(
        table, said or what, x=plane.x, y=plane.y, names=names, **{**titles, **axes}
    )
    result: Chart = chart.properties(
        width="container", height=plane.pixels, title=heading(what, below), description=words
    )
    return result


def owners(table: pd.DataFrame) -> list[str]:
    """Name whose row each one is, with its `who` on a second line where it has one."""
    if "who" not in table.columns:
        return [str(name) for name in table["name"]]
    pairs = zip(table["who"], table["name"], strict=True)
    return [
        f"{name}\n{who}" if isinstance(who, str) and who != name else str(name)
        for who, name in pairs
    ]


def grey_band(table: pd.DataFrame, plane: Plane, low: str, high: str, title: str) -> Any:
    """Draw the range of chance as a grey band with its edges, for `under`."""
    rows = table.assign(low=table[low], high=table[high])
    rows, tooltip = told(rows, (Tip("low", title, plane.kind),))

    def make(x: dict[str, Any]) -> Any:
        base = Chart(rows).encode(x=x, y=plane.y_of("low"), tooltip=tooltip)
        area = base.mark_area(opacity=0.3, color=GREY, clip=True).encode(y2="high:Q")
        edges = [
            Chart(rows)
            .mark_line(color=GREY, strokeWidth=1, opacity=0.6, clip=True)
            .encode(x=x, y=plane.y_of(edge))
            for edge in ("low", "high")
        ]
        return layered(area, *edges)

    return make


def _styled(
    rows: pd.DataFrame, plane: Plane, looks: Mapping[str, Look], twins: Mapping[str, str]
) -> pd.DataFrame:
    """Add each line's look to its rows; marks are chosen by it."""
    return rows.assign(
        out=rows[plane.y] > plane.high,
        pointed=[looks[name].point for name in rows["name"]],
        broad=[looks[name].width * plane.context.thin for name in rows["name"]],
        banded=[looks[name].band for name in rows["name"]],
        twin=[twins[name] != name for name in rows["name"]],
    )


def _dashed(looks: Mapping[str, Look]) -> dict[str, Look]:
    """Give every line that is not dashed yet a dash of its own."""
    dashed, number = {}, 0
    for name, look in looks.items():
        dash = look.dash
        if list(dash) == [1, 0]:
            dash, number = GREY_DASHES[number % len(GREY_DASHES)], number + 1
        dashed[name] = replace(look, dash=dash)
    return dashed


def _twins(table: pd.DataFrame, plane: Plane, shown: Sequence[str]) -> dict[str, str]:
    """Map each name to that of the first line with which its line coincides."""
    if not shown:
        return {}
    wide = table.drop_duplicates(["name", plane.x]).pivot(
        index=plane.x, columns="name", values=plane.y
    )
    lines = [plane.up(wide[name].to_numpy(dtype=float)) for name in shown]
    first = coinciding(lines, SAME)
    return {name: shown[first[number]] for number, name in enumerate(shown)}


def _end_names(
    table: pd.DataFrame,
    plane: Plane,
    shown: Sequence[str],
    twins: Mapping[str, str],
    named: Sequence[tuple[str, float]],
) -> list[dict[str, Any]]:
    """Make one row per name: where its line ends, where the name is placed, and its text."""
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(twins.values()):
        line = table[table["name"] == name].sort_values(plane.x)
        x, value = float(line[plane.x].iloc[-1]), float(line[plane.y].iloc[-1])
        words = " = ".join(each for each in shown if twins[each] == name)
        if value > plane.high:
            words += f" {text_of(value, plane.kind)}"
        whose = "\n".join(dict.fromkeys(owners(table[table["name"].map(twins.get) == name])))
        rows.append(
            {
                "text": words,
                "name": name,
                "who": whose,
                "x": x,
                "y": min(max(value, plane.low), plane.high),
            }
        )
    rows += [
        {"text": text, "name": "", "who": "", "x": plane.x_ends[1], "y": value}
        for text, value in named
    ]
    if rows:
        wrapped = [textwrap.wrap(row["text"], LONGEST_NAME) for row in rows]
        sizes = [plane.context.row * len(lines) for lines in wrapped]
        ups = dodge(plane.up([row["y"] for row in rows]), sizes, 0.0, plane.pixels)
        for row, lines, at in zip(rows, wrapped, plane.back(ups), strict=True):
            # Vega puts the first line, not the middle, at the place.
            up = -(len(lines) - 1) * plane.context.row / 2
            row |= {"text": "\n".join(lines), "at": float(at), "end": plane.x_ends[1], "up": up}
    return rows


def _names(
    rows: Sequence[dict[str, Any]],
    plane: Plane,
    x: Any,
    looks: Mapping[str, Look],
    shown: Sequence[str],
) -> list[Any]:
    """Draw names at the right ends of their lines, in ink, each joined to its line by a stroke of
    its colour."""
    import pandas as pd

    if not rows:
        return []
    chart = Chart(pd.DataFrame(rows))
    at = plane.y_of("at")
    strokes = [
        chart.filtered(equals("name", name))
        .mark_rule(color=looks[name].colour, strokeWidth=1.5, xOffset=4, x2Offset=13)
        .encode(x={**x, "field": "x"}, x2="end:Q", y=plane.y_of("y"), y2="at:Q")
        for name in shown
        if any(row["name"] == name for row in rows)
    ]
    words = chart.mark_text(
        align="left",
        baseline="middle",
        dx=16,
        dy={"expr": "datum.up"},
        fontSize=plane.context.letter,
        lineBreak="\n",
        lineHeight=plane.context.row,
    )
    return [*strokes, words.encode(x={**x, "field": "end"}, y=at, text="text:N")]


def _breaks(
    table: pd.DataFrame, plane: Plane, x: Any, y: Any, looks: Mapping[str, Look]
) -> list[Any]:
    """Draw two strokes across a line where it leaves the plot at the top."""
    import pandas as pd

    marks = []
    for name in looks:
        line = table[table["name"] == name].sort_values(plane.x)
        values, places = line[plane.y].to_numpy(dtype=float), line[plane.x].to_numpy(dtype=float)
        at = list(crossings(places, values, plane.high))
        if len(values) and (values > plane.high).all():  # nothing of it is in the plot
            at = [float(places[-1])]
        who = owners(line.head(1))[0] if len(line) else name
        marks += [
            {"name": name, "who": who, plane.x: float(place), plane.y: plane.high} for place in at
        ]
    if not marks:
        return []
    rows = pd.DataFrame(marks)
    chart = Chart(rows)
    return [
        chart.filtered(equals("name", name))
        .mark_point(
            shape=BREAK,
            size=130,
            filled=False,
            strokeWidth=1.6,
            opacity=1,
            color=looks[name].colour,
        )
        .encode(x=x, y=y)
        for name in dict.fromkeys(rows["name"])
    ]


def _scale(kind: str, shown: Sequence[str], looks: Mapping[str, Look], direct: bool) -> Any:
    """Make a scale of colour, dash or shape by name; one legend serves all three where lines have
    no names at their ends."""
    below = None if direct else legend()
    values: list[Any] = [
        looks[name].colour
        if kind == "colour"
        else list(looks[name].dash)
        if kind == "dash"
        else looks[name].shape
        for name in shown
    ]
    return channel(
        "name:N", title=None, scale={"domain": list(shown), "range": values}, legend=below
    )
