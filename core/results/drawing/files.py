"""A chart as a file: on white, at a width in pixels or in inches, with titles that wrap and letters of one size."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from core.results.drawing.vega import Chart, settled

WIDTH = 640.0  # of a figure that is not made to a measure
PADDING = 12
LETTER = 12.0
FONT = "'Source Sans 3', 'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, sans-serif"
PNG_SCALE = 2.0  # twice the screen's pixels: sharp on a projector and in print
NARROW = 0.5  # mean width of a letter of a title, of its height
JOINED = ("concat", "vconcat")
TRIES = 5  # of drawing several panels until they fill the width
CLOSE = 0.008  # share of its width by which a figure of several panels may miss it
AXIS = 40.0  # units that stand beside a plot


def sheet(
    chart: Chart,
    width: float = WIDTH,
    letter: float = LETTER,
    *,
    titled: bool = True,
    thin: float = 1.0,
    padding: float = PADDING,
) -> dict[str, Any]:
    """The chart's specification as a file needs it.

    Args:
        chart: Ours, or an altair chart of somebody's own study. One that stretches is as wide as asked for; panels are
            widened or narrowed until they fill the width; a drawing with a width of its own (arcs of a sentence) keeps
            it.
        width: Of the whole picture, in its units.
        letter: Size of letters in axes, legends and subtitles.
        titled: Whether titles stand above; panels keep theirs, without a subtitle.
        thin: What the thickness of lines and the diameter of points are multiplied by.
        padding: Round the picture.
    """
    spec: dict[str, Any] = chart.to_dict(open_widths=True) if isinstance(chart, Chart) else chart.to_dict()
    if spec.get("width") == "container":
        spec["width"], spec["autosize"] = width - 2 * padding, {"type": "fit-x", "contains": "content"}
    spec |= {"background": "white", "padding": padding}
    config = spec.get("config", {})
    spec["config"] = config | {name: config.get(name, {}) | part if isinstance(part, dict) else part
                            for name, part in _config(letter, thin).items()}  # fmt: skip
    panels = list(panels_of(spec))
    if not panels:
        spec = settled(spec, width - 2 * padding - AXIS, early=True)
    for each in panels or [spec]:
        _wrap_title(each, (each.get("width") or width) if panels else width - 2 * padding, letter)
    if not titled:
        for each in panels or [spec]:
            if panels and "title" in each:
                each["title"].pop("subtitle", None)
            else:
                each.pop("title", None)
    if thin != 1.0:
        _thinned(spec, thin)
    filled = _filled(spec, width, letter) if panels and "concat" in _deep(spec) else spec
    whole: dict[str, Any] = settled(filled)
    return whole


def svg(spec: dict[str, Any], inches: float = 0.0) -> bytes:
    """SVG of a sheet; `inches` gives its width on paper, 72 units an inch."""
    text = _svg_text(json.dumps(spec))
    if inches:
        wide, high = _size(text)
        text = re.sub(
            r'width="[\d.]+" height="[\d.]+"', f'width="{wide / 72:.3f}in" height="{high / 72:.3f}in"', text, count=1
        )
    return text.encode("utf8")


@lru_cache(maxsize=4)
def _svg_text(spec: str) -> str:
    """The drawing of a specification; a sheet of panels was drawn a moment ago to be measured."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec))


def png(spec: dict[str, Any], scale: float = PNG_SCALE, ppi: float = 72.0) -> bytes:
    """PNG of a sheet; `ppi` dots an inch, 72 units an inch."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(json.dumps(spec), scale=scale, ppi=ppi))


def pdf(spec: dict[str, Any]) -> bytes:
    """PDF of a sheet: 72 units an inch, letters stay letters."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(json.dumps(spec)))


def title_of(spec: dict[str, Any]) -> tuple[str, str]:
    """Title and subtitle of a chart's specification, each in one line; "" where there is none."""
    title = spec.get("title") or {}
    if isinstance(title, str):
        return title, ""
    parts = (title.get("text") or "", title.get("subtitle") or "")
    heading, subtitle = (" ".join(part) if isinstance(part, list) else str(part) for part in parts)
    return heading, subtitle


def words_of(spec: dict[str, Any]) -> str:
    """What the chart says of itself: its description, or those of its panels."""
    descriptions = [spec.get("description", ""), *(panel.get("description", "") for panel in panels_of(spec))]
    return " ".join(text for text in descriptions if text)


def _config(letter: float, thin: float) -> dict[str, Any]:
    return {
        "font": FONT,
        "view": {"stroke": None},
        "title": {
            "fontSize": letter + 1,
            "subtitleFontSize": letter,
            "subtitlePadding": 3,
            "offset": 8,
            "anchor": "start",
        },
        "axis": {"labelFontSize": letter, "titleFontSize": letter, "titleFontWeight": "normal", "gridColor": "#e4e4e4"},
        "legend": {
            "labelFontSize": letter,
            "titleFontSize": letter,
            "titleFontWeight": "normal",
            "symbolSize": 60 * thin**2 + 10,
            "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
        },
        "text": {"fontSize": letter},
    }


def _deep(spec: dict[str, Any]) -> set[str]:
    """Ways in which the sheet's panels are put together."""
    ways: set[str] = {way for way in JOINED if way in spec}
    for way in list(ways):
        for each in spec[way]:
            ways |= _deep(each)
    return ways


def panels_of(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The single plots of a figure of several; none of one that is a single plot."""
    for way in JOINED:
        for each in spec.get(way, ()):
            inner = list(panels_of(each))
            yield from inner or [each]


def _wrap_title(spec: dict[str, Any], width: float, letter: float) -> None:
    title = spec.get("title")
    if not title:
        return
    if isinstance(title, str):
        title = spec["title"] = {"text": title, "anchor": "start"}
    text, below = title_of(spec)
    title["text"] = textwrap.wrap(text, max(int(width / (1.12 * NARROW * (letter + 1))), 12)) or [""]
    if below:
        title["subtitle"] = textwrap.wrap(below, max(int(width / (NARROW * letter)), 12))


def _thinned(node: Any, thin: float) -> None:
    """Thinner lines, smaller points, in every mark."""
    if isinstance(node, list):
        for each in node:
            _thinned(each, thin)
    elif isinstance(node, dict):
        mark = node.get("mark")
        if isinstance(mark, dict):
            for name, power in (("strokeWidth", 1), ("size", 2 if mark.get("type") == "point" else 1)):
                if isinstance(mark.get(name), (int, float)):
                    mark[name] *= thin**power
            if isinstance(mark.get("strokeDash"), list):
                mark["strokeDash"] = [part * thin for part in mark["strokeDash"]]
        for name, each in node.items():
            if name not in ("datasets", "data", "config"):
                _thinned(each, thin)


def _filled(spec: dict[str, Any], width: float, letter: float) -> dict[str, Any]:
    """The sheet with panels widened or narrowed until the picture is as wide as asked for.

    What stands beside the plots mostly stays as it is, so that the second drawing fits, which `svg` has then; names
    that reach over the end of a narrow plot take a little more.
    """
    grid = spec if "concat" in spec else next(each for each in spec["vconcat"] if "concat" in each)
    across = min(grid.get("columns", len(grid["concat"])), len(grid["concat"]))
    more = 0.0
    for _ in range(TRIES):
        drawn = _at_widths(spec, more / across, more, letter)
        off = width - _size(_svg_text(json.dumps(drawn)))[0]
        if abs(off) < CLOSE * width:
            break
        more += off
    return drawn


def _at_widths(spec: dict[str, Any], more: float, strip: float, letter: float) -> dict[str, Any]:
    """The sheet with its panels so much wider, and what stands above all of them; open widths are worked out."""
    made = {name: each for name, each in spec.items() if name not in JOINED}
    for way in JOINED:
        for each in spec.get(way, ()):
            if any(inner in each for inner in JOINED):
                panel = _at_widths(each, more, strip, letter)
            else:
                wide = max(float(each["width"]) + (more if way == "concat" else strip), 60.0)
                panel = {**settled(each, wide), "width": round(wide, 1)}
                _wrap_title(panel, wide + 30, letter)
            made.setdefault(way, []).append(panel)
    return made


def _size(text: str) -> tuple[float, float]:
    match = re.search(r'width="([\d.]+)" height="([\d.]+)"', text)
    return (float(match[1]), float(match[2])) if match else (0.0, 0.0)
