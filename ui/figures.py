"""Charts as the page shows them: the rooms draw them for paper, here they take the theme's colours and letters.

A room's chart names its colours, so that a file on white looks the same everywhere. On a dark page they are swapped
for their counterparts in `.streamlit/config.toml`, which are the same hues, lifted until they read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from ui.marks import Mark, marked
from ui.presenting import enlarged, presenting
from ui.shared import made_once

if TYPE_CHECKING:
    import altair as alt

COLOUR = re.compile(r'"(#[0-9a-fA-F]{6})"')
FAINT = {"light": "#6f675a", "dark": "#a79d8c"}
INK = {"light": "#23201b", "dark": "#ece5d8"}


def show_charts(
    charts: Sequence[alt.TopLevelMixin] | Callable[[], Sequence[alt.TopLevelMixin]],
    *,
    key: str,
    across: int = 2,
    alt_text: str = "",
    result: object = None,
    view: Hashable = None,
    mark: Mark | None = None,
) -> int:
    """Charts in rows, one below the other on a telephone.

    Args:
        charts: Each stretches to its place. With `result`, a function that draws them.
        key: Unique on the page.
        across: How many beside each other.
        alt_text: What the charts show, for those who do not see them.
        result: What they are drawn from: they are drawn once for it, the key, the view and the theme, and shared
            by all sessions that hold the same object.
        view: Everything else that the drawing depends on.
        mark: A reader's guess, drawn into the first chart.

    Returns:
        How many there were.
    """
    own = page_specs(charts, key=key, result=result, view=view)
    if mark is not None and own:
        own = [marked(own[0], mark, INK[page_theme()]), *own[1:]]
    for start in range(0, len(own), across):
        row = own[start : start + across]
        places = st.columns(across if len(own) > 1 else 1, gap="medium")
        for number, (place, spec) in enumerate(zip(places, row, strict=False)):
            place.vega_lite_chart(spec, key=f"{key}_{start + number}", alt=alt_text or None)
    return len(own)


def page_specs(
    charts: Sequence[alt.TopLevelMixin] | Callable[[], Sequence[alt.TopLevelMixin]],
    *,
    key: str,
    result: object = None,
    view: Hashable = None,
) -> list[dict[str, Any]]:
    """What `show_charts` shows, for who shows it in another way: read it, change nothing in it; others read it too."""
    theme, hall = page_theme(), presenting()

    def specs() -> list[dict[str, Any]]:
        drawn = charts() if callable(charts) else charts
        colours = paired_colours() if theme == "dark" else {}
        own = [themed(chart.to_dict(), theme, colours) for chart in drawn]
        return [with_arrow_data(enlarged(spec) if hall else spec) for spec in own]

    return specs() if result is None else made_once().get(result, ("charts", key, view, theme, hall), specs)


def page_theme() -> str:
    """The theme of the page that is being drawn: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def with_arrow_data(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with its named data as Arrow bytes, which streamlit would make of them in every run."""
    from streamlit.dataframe_util import convert_anything_to_arrow_bytes

    named = spec.get("datasets", {})
    tables = {
        name: isinstance(rows, list) and all(isinstance(row, dict) for row in rows) for name, rows in named.items()
    }
    data = {name: convert_anything_to_arrow_bytes(rows) if tables[name] else rows for name, rows in named.items()}
    return {**spec, "datasets": data} if named else spec


def paired_colours() -> dict[str, str]:
    """Each chart colour of the light theme with its counterpart of the dark one."""
    light, dark = (st.get_option(f"theme.{theme}.chartCategoricalColors") or () for theme in ("light", "dark"))
    return {str(old).lower(): str(new) for old, new in zip(light, dark, strict=False)}


def themed(spec: Mapping[str, Any], theme: str, colours: Mapping[str, str]) -> dict[str, Any]:
    """A chart's specification with the page's colours and a plot as high as the chart says.

    Args:
        spec: Vega-Lite, as `alt.Chart.to_dict` gives it.
        theme: "light" or "dark".
        colours: Colours to swap, in lower case.
    """
    data = {name: spec[name] for name in ("data", "datasets") if name in spec}
    drawing = json.dumps({name: value for name, value in spec.items() if name not in data})
    drawing = COLOUR.sub(lambda found: f'"{colours.get(found[1].lower(), found[1])}"', drawing)
    faint, ink = FAINT[theme], INK[theme]
    own = json.loads(drawing)
    # "fit-x": the legend below does not take its room from the plot, which streamlit's own "fit" would let it do.
    return {
        **data,
        **own,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            **own.get("config", {}),
            "title": {"color": ink, "subtitleColor": faint, "subtitleFontSize": 12, "subtitlePadding": 4, "offset": 12},
            "axis": {"labelColor": faint, "titleColor": faint, "labelFontSize": 12, "titleFontSize": 12},
            "legend": {
                "labelColor": ink,
                "titleColor": faint,
                "labelFontSize": 12,
                "symbolOpacity": 1,
                "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
            },
            "text": {"color": ink},
        },
    }
