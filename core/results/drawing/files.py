"""Charts as files: on white, at a width in pixels or inches, with wrapped titles and one font
size."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from typing import Any

from core.results.drawing.vega import Chart, mapped, settled
from core.runs.encoding import key_of
from core.runs.process.drawing import draw
from core.runs.store import current_store

WIDTH = 640.0  # default width of a figure
PADDING = 12
LETTER = 12.0
FONT = "'Source Sans 3', 'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, sans-serif"
PNG_SCALE = 2.0  # twice the screen's pixels: sharp on a projector and in print
NARROW = 0.5  # mean width of a letter of a title, as a share of its height
JOINED = ("concat", "vconcat")
TRIES = 5  # largest number of drawings until several panels fill the width
CLOSE = 0.008  # tolerated share of the width by which a figure of several panels misses it
AXIS = 40.0  # width of an axis beside a plot


def sheet(
    chart: Chart,
    width: float = WIDTH,
    letter: float = LETTER,
    *,
    titled: bool = True,
    thin: float = 1.0,
    padding: float = PADDING,
) -> dict[str, Any]:
    """Make the specification of a chart for a file. One that stretches gets this width, panels are
    resized to fill it, a fixed width stays. `thin` multiplies lines and points; panels keep their
    titles."""
    spec: dict[str, Any] = (
        chart.to_dict(open_widths=True) if isinstance(chart, Chart) else chart.to_dict()
    )
    if spec.get("width") == "container":
        spec["width"], spec["autosize"] = (
            width - 2 * padding,
            {"type": "fit-x", "contains": "content"},
        )
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
        marks = {name: part for name, part in spec.items() if name != "config"}
        spec |= mapped(marks, partial(_thinned, thin=thin))
    filled = _filled(spec, width, letter) if panels and _has_grid(spec) else spec
    return dict(settled(filled))


def svg(spec: dict[str, Any], inches: float = 0.0) -> bytes:
    """Draw a sheet as SVG; with `inches` its size is in inches, 72 units per inch."""
    text = _svg_text(json.dumps(spec))
    if inches:
        wide, high = _size(text)
        text = re.sub(
            r'width="[\d.]+" height="[\d.]+"',
            f'width="{wide / 72:.3f}in" height="{high / 72:.3f}in"',
            text,
            count=1,
        )
    return text.encode("utf8")


def _svg_text(spec: str) -> str:
    """Return a specification's drawing as SVG from the store; draw it if it is not there."""
    key = key_of("drawing", "svg", metadata.version("vl-convert-python"), spec)

    def drawn() -> dict[str, str]:
        return {"svg": draw("svg", spec).decode("utf8")}

    return str(current_store().get_or_compute(key, drawn)[0]["svg"])


def png(spec: dict[str, Any], scale: float = PNG_SCALE, ppi: float = 72.0) -> bytes:
    """Draw a sheet as PNG with `ppi` dots per inch, 72 units per inch."""
    return draw("png", json.dumps(spec), scale=scale, ppi=ppi)


def pdf(spec: dict[str, Any]) -> bytes:
    """Draw a sheet as PDF: 72 units per inch, with text as text."""
    return draw("pdf", json.dumps(spec))


def title_of(spec: dict[str, Any]) -> tuple[str, str]:
    """Read title and subtitle of a chart's specification, each in one line; "" where there is
    none."""
    title = spec.get("title") or {}
    if isinstance(title, str):
        return title, ""
    parts = (title.get("text") or "", title.get("subtitle") or "")
    heading, subtitle = (" ".join(part) if isinstance(part, list) else str(part) for part in parts)
    return heading, subtitle


def words_of(spec: dict[str, Any]) -> str:
    """Read the description of a chart, or those of its panels."""
    descriptions = [
        spec.get("description", ""),
        *(panel.get("description", "") for panel in panels_of(spec)),
    ]
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
        "axis": {
            "labelFontSize": letter,
            "titleFontSize": letter,
            "titleFontWeight": "normal",
            "gridColor": "#e4e4e4",
        },
        "legend": {
            "labelFontSize": letter,
            "titleFontSize": letter,
            "titleFontWeight": "normal",
            "symbolSize": 60 * thin**2 + 10,
            "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
        },
        "text": {"fontSize": letter},
    }


def _has_grid(spec: dict[str, Any]) -> bool:
    """Whether some of the sheet's panels share a row."""
    return "concat" in spec or any(map(_has_grid, spec.get("vconcat", ())))


def panels_of(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the plots of a figure of several panels; none of a single plot."""
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
    title["text"] = textwrap.wrap(text, max(int(width / (1.12 * NARROW * (letter + 1))), 12)) or [
        ""
    ]
    if below:
        title["subtitle"] = textwrap.wrap(below, max(int(width / (NARROW * letter)), 12))


def _thinned(part: Any, thin: float) -> Any:
    """Make the lines of a mark thinner and its points smaller; other parts are unchanged."""
    mark = part.get("mark") if isinstance(part, dict) else None
    if not isinstance(mark, dict):
        return part
    powers = {"strokeWidth": 1, "size": 2 if mark.get("type") == "point" else 1}
    look = {
        name: each * thin ** powers[name]
        if name in powers and isinstance(each, (int, float))
        else each
        for name, each in mark.items()
    }
    if isinstance(mark.get("strokeDash"), list):
        look["strokeDash"] = [stroke * thin for stroke in mark["strokeDash"]]
    return {**part, "mark": look}


def _filled(spec: dict[str, Any], width: float, letter: float) -> dict[str, Any]:
    """Resize the sheet's panels until the figure has the given width. Axes keep their size, so the
    second drawing usually fits; names that extend beyond a narrow plot need further ones."""
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
    """Make the sheet's panels wider by `more` and the strip above them by `strip`, and resolve open
    widths."""
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
