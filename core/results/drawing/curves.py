"""Lines in a plot, the same on every page: bands, lines, points, and each line's name at its right
end.

Names stand apart from each other, joined to their lines; lines that coincide share a name and are
drawn one in the gaps of the other; a line that leaves the axis ends in a break mark. Where there
are more names than the plot is high, or a figure asks for it, a legend below names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from core.results.columns import Tip, ends_of, tip_of, with_tooltips
from core.results.drawing.axes import Plane, layer_plane, span_of
from core.results.drawing.context import Context
from core.results.drawing.description import lines_in_words
from core.results.drawing.labels import breaks, coinciding, drawn_names, end_names, owners
from core.results.drawing.style import GREY, LAYER_TITLE, colour_between, heading, legend
from core.results.drawing.vega import Chart, OfWidth, channel, layered
from core.results.estimates import kind_in
from core.results.numbers import Kind, text_of

WIDE = 0.56  # mean width of a letter, of its height
ONE_LINE = 1.5  # pixels within which two lines are one to the eye
HEIGHT = 320  # of a plot on a page
BAND = 0.16  # opacity of the bands
NULL = "chance level"
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


@dataclass(frozen=True)
class Rule:
    """A grey line across the whole plot: a baseline, chance, no difference.

    Attributes:
        name: At its right end.
        value: Of y.
        dash: As Vega-Lite writes it.
        columns: Further columns of its rows, such as the ends of its interval, for tooltips.
    """

    name: str
    value: float
    dash: Sequence[int] = (1, 0)
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def look(self) -> Look:
        """How it looks."""
        return Look(GREY, dash=self.dash, point=False, width=1.5, band=False)

    def rows(self, plane: Plane) -> pd.DataFrame:
        """Make its rows, for `curves`."""
        ends = {plane.x: list(plane.x_ends), plane.y: float(self.value)}
        return pd.DataFrame({"name": self.name, **ends, **self.columns})


Mark = Callable[[Plane, dict[str, Any]], Chart]  # of the axes and the x axis


def graded(names: Sequence[str], **more: Any) -> dict[str, Look]:
    """Make looks for lines in an order, such as layers: from blue to orange, neighbours with
    different dashes."""
    last = max(len(names) - 1, 1)
    return {
        name: Look(colour_between(place / last), dash=GREY_DASHES[place % len(GREY_DASHES)], **more)
        for place, name in enumerate(names)
    }


def curves(
    table: pd.DataFrame,
    plane: Plane,
    looks: Mapping[str, Look],
    tips: Sequence[Tip | str] = (),
    *,
    under: Sequence[Mark] = (),
    over: Sequence[Mark] = (),
    named: Sequence[tuple[str, float]] = (),
    columns: int | OfWidth = 2,
) -> Chart:
    """Draw lines by name in the order of `looks`, with bands where the table has `low` and `high`.
    Lines with one `who` stand out together when pointed at; `named` are names at the right end of
    what is no line."""
    table = table[table["name"].isin(list(looks)) & table[plane.y].notna()]
    shown = [name for name in looks if (table["name"] == name).any()]
    context = plane.context
    looks = {name: looks[name] for name in shown}
    if context.dashed:
        looks = _dashed(looks)
    room_for_all = (len(shown) + len(named)) * context.row <= plane.pixels
    direct = context.unnamed or (not context.legend and room_for_all)
    twins = _twins(table, plane, shown)
    text = end_names(table, plane, shown, twins, named) if direct and not context.unnamed else []
    x, y = plane.x_of(_room_of(text, context)), plane.y_of()
    # Strokes stand in a legend of broken lines: a dash would tear the shapes of points.
    broken = not direct and len({tuple(look.dash) for look in looks.values()}) > 1
    below = None if direct else legend(columns, lines=broken)
    colour, dash, shape = (
        _by_name(kind, looks, "name", below) for kind in ("colour", "dash", "shape")
    )
    if broken:
        shape = channel("marker:N", scale=None, legend=None)
    rows, tooltip = with_tooltips(table, tips)
    rows = _styled(rows.assign(who=owners(table)), plane, looks, twins)
    base = Chart(rows).encode(x=x)
    layers: list[Any] = [make(plane, x) for make in under]
    if "low" in table.columns and table["low"].notna().any():
        bands = base.filtered("datum.banded && isValid(datum.low)").mark_area(
            opacity=BAND, clip=True
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
    colours = {name: look.colour for name, look in looks.items()}
    layers += breaks(table, plane, x, y, colours)
    layers += [*drawn_names(text, plane, x, colours, shown), *(make(plane, x) for make in over)]
    return layered(*layers).scales(fill="independent", strokeWidth="independent")


def line_chart(
    rows: pd.DataFrame,
    plane: Plane,
    looks: Mapping[str, Look],
    title: str,
    below: str = "",
    *,
    rules: Sequence[Rule] = (),
    line: str = "Model",
    tips: Sequence[Tip | str] = (),
    also: Sequence[Tip | str] = (),
    counted: str = "",
    words: Mapping[str, Any] | None = None,
    **marks: Any,
) -> Chart:
    """Draw lines by name with their bands, tooltips, title and description in words. `tips` replace
    what a tooltip says, `also` follows it; `marks` are those of `curves`, `words` those of
    `lines_in_words`."""
    low, high = ends_of(plane.y)
    if low in rows.columns:
        rows = rows.assign(low=rows[low], high=rows[high])
    drawn = pd.concat([rows, *(rule.rows(plane) for rule in rules)], ignore_index=True)
    looks = {**looks, **{rule.name: rule.look for rule in rules}}
    value = Tip(plane.y, plane.y_title, plane.kind)
    tips = tips or (Tip("name", line), plane.x, value, "low")
    chart = curves(drawn, plane, looks, (*tips, *also), **marks)
    axes = {"x": plane.x, "y": plane.y, "y_title": plane.y_title, "kind": plane.kind}
    axes["x_title"] = plane.x_title.split(" (")[0] or tip_of(plane.x).title
    if counted:
        drawn[plane.x] = drawn[counted].astype(float).fillna(drawn[plane.x])
    text = lines_in_words(drawn, **{"what": title, "names": list(looks), **axes, **(words or {})})
    return chart.properties(
        width="container", height=plane.pixels, title=heading(title, below), description=text
    )


def reach(
    rows: pd.DataFrame,
    y: str,
    rules: Sequence[Rule] = (),
    *,
    zero: bool = False,
    nulls: bool = False,
) -> tuple[float, float]:
    """Compute the ends of an axis for a column, its interval, lines across the plot, and chance
    level where it is drawn (`nulls`)."""
    columns = (y, *ends_of(y), *(("null_low", "null_high") if nulls else ()))
    held = [rows[name] for name in columns if name in rows.columns]
    return span_of(*held, [rule.value for rule in rules], zero=zero)


def layer_chart(
    rows: pd.DataFrame,
    y: str,
    looks: Mapping[str, Look],
    title: str,
    below: str = "",
    *,
    y_title: str = "",
    x_title: str = LAYER_TITLE,
    kind: Kind | None = None,
    ends: tuple[float, float] | None = None,
    zero: bool = False,
    null: str = "",
    rules: Sequence[Rule] = (),
    height: float = HEIGHT,
    context: Context,
    **more: Any,
) -> Chart:
    """Draw a column by layer: a line with its band for each name, chance level (`null_low`,
    `null_high`) as a grey band that tooltips call `null`, and baselines as grey lines. `more` is
    `line_chart`'s."""
    kind = kind or kind_in(rows, y)
    if context.zoomed:
        ends = reach(rows, y, rules, zero=zero, nulls=bool(null))
        begins = f"the axis begins at {text_of(ends[0], kind)}" if ends[0] > 0 else ""
        below = "; ".join(filter(None, (below, begins)))
    ends = ends or reach(rows, y, rules, zero=zero)
    axes = {"x_title": x_title, "kind": kind, "height": height, "context": context}
    plane = layer_plane(rows, y, y_title or tip_of(y).title, ends, **axes)
    if null and rows["null_low"].notna().any():
        widest = {"null_low": ("null_low", "min"), "null_high": ("null_high", "max")}
        band = rows.groupby("layer", as_index=False).agg(**widest).dropna(subset="null_low")
        middle = float(band[["null_low", "null_high"]].iloc[-1].mean())
        more = {"under": [grey_band(band, null)], "named": [(NULL, middle)], **more}
    return line_chart(rows, plane, looks, title, below, rules=rules, **more)


def grey_band(table: pd.DataFrame, title: str) -> Mark:
    """Draw the range of chance, from `null_low` to `null_high`, as a grey band with its edges."""

    def make(plane: Plane, x: dict[str, Any]) -> Chart:
        rows, tooltip = with_tooltips(table, (Tip("null_low", title, plane.kind),))
        base = Chart(rows)
        area = base.mark_area(opacity=0.3, color=GREY, clip=True).encode(
            x=x, y=plane.y_of("null_low"), y2="null_high:Q", tooltip=tooltip
        )
        edge = base.mark_line(color=GREY, strokeWidth=1, opacity=0.6, clip=True)
        edges = [edge.encode(x=x, y=plane.y_of(end)) for end in ("null_low", "null_high")]
        return layered(area, *edges)

    return make


def _room_of(text: Sequence[Mapping[str, Any]], context: Context) -> float:
    """Compute the pixels that names take at the right end of a plot."""
    longest = max((len(line) for row in text for line in row["text"].split("\n")), default=0)
    return longest * WIDE * context.letter + 22 if text else 0.0


def _styled(
    rows: pd.DataFrame, plane: Plane, looks: Mapping[str, Look], twins: Mapping[str, str]
) -> pd.DataFrame:
    """Add each line's look to its rows; marks are chosen by it."""
    return rows.assign(
        out=rows[plane.y] > plane.high,
        pointed=[looks[name].point for name in rows["name"]],
        marker=[looks[name].shape for name in rows["name"]],
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
    first = coinciding(lines, ONE_LINE)
    return {name: shown[first[number]] for number, name in enumerate(shown)}


def look_channels(
    looks: Mapping[str, Look], column: str = "name", below: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Make the channels of a point's colour and shape by the name in a column, with one legend
    `below`, or none."""
    kinds = {"color": "colour", "shape": "shape"}
    return {name: _by_name(kind, looks, column, below) for name, kind in kinds.items()}


def _by_name(
    kind: str, looks: Mapping[str, Look], column: str, below: dict[str, Any] | None
) -> dict[str, Any]:
    """Make a channel of colour, dash or shape; channels with equal legends have one together."""
    scale = {"domain": list(looks), "range": [getattr(look, kind) for look in looks.values()]}
    return channel(f"{column}:N", title=None, scale=scale, legend=below)
