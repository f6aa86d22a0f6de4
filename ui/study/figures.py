"""Charts on a page: studies draw them for paper; here they get the theme's colours and fonts.

A chart names its colours, so that a file on white looks the same everywhere. On a dark page each
colour is replaced by its counterpart in `.streamlit/config.toml`: the same hue, lighter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.results.drawing.context import PAGE, Context
from core.results.drawing.files import title_of, words_of
from core.results.drawing.panels import Panels
from core.results.drawing.vega import replaced
from core.results.names import renamed
from ui.frame.naming import names_here
from ui.frame.presenting import HALL, enlarged, presenting
from ui.frame.shared import made_once
from ui.frame.shell import page_theme
from ui.frame.text import plain
from ui.lessons.guess import Mark, marked

if TYPE_CHECKING:
    from core.results.drawing.panels import Drawn
    from core.results.drawing.printing import Drawing
    from core.results.drawing.vega import Chart

    Pick = Callable[[Mapping[str, Any], str], tuple[Mapping[str, Any], dict[str, Any]]]

FAINT = {"light": "#6f675a", "dark": "#a79d8c"}
# Colours of methods that the theme does not list, with their counterparts on a dark page.
DARKER = {
    "#004b75": "#8cb8e8",
    "#8b3a9e": "#c98bd8",
    "#b3a100": "#d6c94a",
    "#7aa6c2": "#9fc3da",
    "#66c2a5": "#8fd8c0",
    "#b66bb0": "#d79ad2",
    "#8c8c8c": "#a0a0a0",
}
ACROSS = 2  # panels beside each other, where a figure does not say it
INK = {"light": "#23201b", "dark": "#ece5d8"}


def show_charts(
    charts: Drawn | Drawing,
    *,
    key: str,
    alt_text: str = "",
    result: object = None,
    view: Hashable = None,
    mark: Mark | None = None,
    pick: Pick | None = None,
    at: str = "",
) -> int:
    """Draw charts in rows, below each other on a phone, each under its title, and return their
    number. With a result, they are drawn once for all sessions per key, view, theme and names of
    models. `mark` is a reader's guess, `at` where points have moved to."""
    specs = page_specs(charts, key=key, result=result, view=view)
    if not specs:
        return 0
    if mark is not None:
        first = next(n for n, spec in enumerate(specs) if not spec.get("usermeta", {}).get("strip"))
        specs = [*specs[:first], marked(specs[first], mark, INK[page_theme()]), *specs[first + 1 :]]
    across = specs[0].get("usermeta", {}).get("across", ACROSS)
    strips = [spec for spec in specs if spec.get("usermeta", {}).get("strip")]
    panels = [spec for spec in specs if not spec.get("usermeta", {}).get("strip")]
    for number, spec in enumerate(strips):
        show_spec(spec, key=f"{key}_strip_{number}")
    for start in range(0, len(panels), across):
        row = panels[start : start + across]
        places = st.columns(across if len(panels) > 1 else 1, gap="medium")
        for number, (place, spec) in enumerate(zip(places, row, strict=False)):
            with place:
                shown, more = (
                    pick(spec, f"{key}_{start + number}") if pick is not None else (spec, {})
                )
                show_spec(shown, key=f"{key}_{start + number}", alt_text=alt_text, at=at, **more)
    return len(panels)


def show_spec(
    spec: Mapping[str, Any], *, key: str, alt_text: str = "", at: str = "", **more: Any
) -> Any:
    """Draw one of `page_specs`: its title as text, then the chart with its alternative text. `more`
    is for `st.vega_lite_chart`, whose value is returned."""
    title, below = title_of(dict(spec))
    title = ", ".join(filter(None, (title, at)))
    if title or below:
        lines = [
            f"**{plain(title)}**" if title else "",
            f":gray[:small[{plain(below)}]]" if below else "",
        ]
        inline = spec.get("usermeta", {}).get("inline")
        st.markdown(("  " if inline else "  \n").join(filter(None, lines)))
    return draw_spec(
        {name: part for name, part in spec.items() if name not in ("title", "usermeta")},
        key=key,
        alt_text=alt_text,
        **more,
    )


def draw_spec(spec: Mapping[str, Any], *, key: str, alt_text: str = "", **more: Any) -> Any:
    """Draw a specification, as every chart of the app, with its alternative text: of two in one
    chart, Streamlit would write both, and typed text in them, to the server's log."""
    wordless = {name: part for name, part in spec.items() if name != "description"}
    words = words_of(dict(spec)).strip() or alt_text.strip()
    return st.vega_lite_chart(wordless, key=key, alt=words or None, **more)


def page_specs(
    charts: Drawn | Drawing,
    *,
    key: str,
    result: object = None,
    view: Hashable = None,
) -> list[dict[str, Any]]:
    """Return the specifications that `show_charts` draws; sessions share them."""
    theme, hall, names = page_theme(), presenting(), names_here()

    def specs() -> list[dict[str, Any]]:
        with renamed(names):
            made = charts(context=HALL if hall else PAGE) if callable(charts) else charts
        colours = paired_colours() if theme == "dark" else {}
        drawn = (
            made.charts
            if isinstance(made, Panels)
            else made
            if isinstance(made, Sequence)
            else [made]
        )

        def ready(chart: Chart) -> dict[str, Any]:
            spec = themed(chart.to_dict(), theme, colours)
            return with_arrow_data(enlarged(spec) if hall else spec)

        made_specs = [ready(chart) for chart in drawn]
        if isinstance(made, Panels):
            made_specs = [
                {**spec, "usermeta": {"across": made.across, "inline": made.inline}}
                for spec in made_specs
            ]
            if made.strip is not None:
                strip = ready(made.strip)
                made_specs.insert(0, {**strip, "usermeta": {"across": made.across, "strip": True}})
        return made_specs

    drawn_for = ("charts", key, view, theme, hall, tuple(names.items()))
    return specs() if result is None else made_once(result, drawn_for, specs)


def on_page(drawing: Drawing, **what: bool) -> Drawing:
    """Make what draws a figure draw one that does more on a page, such as `zooms` or `moves` of its
    context."""

    def more(*, context: Context) -> Drawn:
        return drawing(context=replace(context, **what))

    return more


def with_arrow_data(spec: dict[str, Any]) -> dict[str, Any]:
    """Convert the specification's data to Arrow bytes, as streamlit would in every run."""
    from streamlit.dataframe_util import convert_anything_to_arrow_bytes

    named = spec.get("datasets", {})
    tables = {
        name: isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        for name, rows in named.items()
    }
    data = {
        name: convert_anything_to_arrow_bytes(rows) if tables[name] else rows
        for name, rows in named.items()
    }
    return {**spec, "datasets": data} if named else spec


def paired_colours() -> dict[str, str]:
    """Map each chart colour of the light theme to its counterpart of the dark theme."""
    light, dark = (
        st.get_option(f"theme.{theme}.chartCategoricalColors") or () for theme in ("light", "dark")
    )
    return DARKER | {str(old).lower(): str(new) for old, new in zip(light, dark, strict=False)}


def themed(spec: Mapping[str, Any], theme: str, colours: Mapping[str, str]) -> dict[str, Any]:
    """Give a chart's specification the colours of the page ("light" or "dark"), and keep the height
    of its plot."""
    faint, ink = FAINT[theme], INK[theme]
    recoloured: dict[str, Any] = replaced(spec, lambda text: colours.get(text.lower(), text))
    # Streamlit's own "fit" would shrink the plot to make room for the legend below it.
    return {
        **recoloured,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            **recoloured.get("config", {}),
            "title": {
                "color": ink,
                "subtitleColor": faint,
                "subtitleFontSize": 12,
                "subtitlePadding": 4,
                "offset": 12,
            },
            "axisY": {"labelFlush": False},  # streamlit's setting moves the first row's name down
            "axis": {
                "labelColor": faint,
                "titleColor": faint,
                "labelFontSize": 12,
                "titleFontSize": 12,
            },
            "legend": {
                "labelColor": ink,
                "titleColor": faint,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "symbolOpacity": 1,
                "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
            },
            "text": {"color": ink},
        },
    }
