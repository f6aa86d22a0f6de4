"""Charts as the page shows them: the rooms draw them for paper, here they take the theme's colours and letters.

A room's chart names its colours, so that a file on white looks the same everywhere. On a dark page they are swapped
for their counterparts in `.streamlit/config.toml`, which are the same hues, lifted until they read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.results.drawing.context import PAGE
from core.results.drawing.files import title_of, words_of
from core.results.drawing.panels import Panels
from ui.frame.presenting import HALL, enlarged, presenting
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.frame.theme import page_theme
from ui.lessons.guess import Mark, marked

if TYPE_CHECKING:
    from core.results.drawing.paper import Drawing
    from core.results.drawing.vega import Chart

    Drawn = Chart | Sequence[Chart] | Panels
    Pick = Callable[[Mapping[str, Any], str], tuple[Mapping[str, Any], dict[str, Any]]]

FAINT = {"light": "#6f675a", "dark": "#a79d8c"}
# Colours of methods that are not among the theme's, with their counterparts on a dark page.
DARKER = {
    "#004b75": "#8cb8e8",
    "#8b3a9e": "#c98bd8",
    "#b3a100": "#d6c94a",
    "#7aa6c2": "#9fc3da",
    "#66c2a5": "#8fd8c0",
    "#b66bb0": "#d79ad2",
    "#8c8c8c": "#a0a0a0",
}
INK = {"light": "#23201b", "dark": "#ece5d8"}


def show_charts(
    charts: Drawn | Drawing,
    *,
    key: str,
    across: int = 2,
    alt_text: str = "",
    result: object = None,
    view: Hashable = None,
    mark: Mark | None = None,
    pick: Pick | None = None,
) -> int:
    """Charts in rows, one below the other on a telephone, each under its title, which wraps as text does.

    Args:
        charts: Each stretches to its place. With `result`, a function that draws them.
        key: Unique on the page.
        across: How many beside each other, where `Panels` do not say it.
        alt_text: What the charts show, where they do not say it themselves.
        result: What they are drawn from: they are drawn once for it, the key, the view and the theme, and shared
            by all sessions that hold the same object.
        view: Everything else that the drawing depends on.
        mark: A reader's guess, drawn into the first chart.
        pick: Makes points to be clicked: `ui.study.layers.Picking.made`.

    Returns:
        How many there were.
    """
    specs = page_specs(charts, key=key, result=result, view=view)
    if not specs:
        return 0
    if mark is not None:
        first = next(n for n, spec in enumerate(specs) if not spec.get("usermeta", {}).get("strip"))
        specs = [*specs[:first], marked(specs[first], mark, INK[page_theme()]), *specs[first + 1 :]]
    across = specs[0].get("usermeta", {}).get("across", across)
    strips = [spec for spec in specs if spec.get("usermeta", {}).get("strip")]
    panels = [spec for spec in specs if not spec.get("usermeta", {}).get("strip")]
    for number, spec in enumerate(strips):
        show_spec(spec, key=f"{key}_strip_{number}")
    for start in range(0, len(panels), across):
        row = panels[start : start + across]
        places = st.columns(across if len(panels) > 1 else 1, gap="medium")
        for number, (place, spec) in enumerate(zip(places, row, strict=False)):
            with place:
                shown, more = pick(spec, f"{key}_{start + number}") if pick is not None else (spec, {})
                show_spec(shown, key=f"{key}_{start + number}", alt_text=alt_text, **more)
    return len(panels)


def show_spec(spec: Mapping[str, Any], *, key: str, alt_text: str = "", **more: Any) -> Any:
    """One of `page_specs` here: its title as text, then the chart with what it says of itself.

    Args:
        spec: The specification; it is not changed.
        key: Unique on the page.
        alt_text: What the chart shows, where it does not say it itself.
        more: As `st.vega_lite_chart` takes it (`on_select`, `width` ...); what it returns is returned.
    """
    title, below = title_of(dict(spec))
    if title or below:
        lines = [f"**{plain(title)}**" if title else "", f":gray[:small[{plain(below)}]]" if below else ""]
        inline = spec.get("usermeta", {}).get("inline")
        st.markdown(("  " if inline else "  \n").join(filter(None, lines)))
    return draw_spec(
        {name: part for name, part in spec.items() if name not in ("title", "usermeta")},
        key=key,
        alt_text=alt_text,
        **more,
    )


def draw_spec(spec: Mapping[str, Any], *, key: str, alt_text: str = "", **more: Any) -> Any:
    """A specification as it is, with its words for who does not see it: the one place that draws a chart.

    Streamlit writes both texts of a chart that has two into the server's log, and those may hold what a user typed.

    Args:
        spec: The specification; it is not changed.
        key: Unique on the page.
        alt_text: What the chart shows, where it does not say it itself.
        more: As `st.vega_lite_chart` takes it; what it returns is returned.
    """
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
    """What `show_charts` shows, for who shows it in another way: read it, change nothing in it; others read it too."""
    theme, hall = page_theme(), presenting()

    def specs() -> list[dict[str, Any]]:
        made = charts(context=HALL if hall else PAGE) if callable(charts) else charts
        colours = paired_colours() if theme == "dark" else {}
        drawn = made.charts if isinstance(made, Panels) else made if isinstance(made, Sequence) else [made]

        def ready(chart: Chart) -> dict[str, Any]:
            spec = themed(chart.to_dict(), theme, colours)
            return with_arrow_data(enlarged(spec) if hall else spec)

        made_specs = [ready(chart) for chart in drawn]
        if isinstance(made, Panels):
            made_specs = [{**spec, "usermeta": {"across": made.across, "inline": made.inline}} for spec in made_specs]
            if made.strip is not None:
                strip = ready(made.strip)
                made_specs.insert(0, {**strip, "usermeta": {"across": made.across, "strip": True}})
        return made_specs

    return specs() if result is None else made_once().get(result, ("charts", key, view, theme, hall), specs)


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
    return DARKER | {str(old).lower(): str(new) for old, new in zip(light, dark, strict=False)}


def themed(spec: Mapping[str, Any], theme: str, colours: Mapping[str, str]) -> dict[str, Any]:
    """A chart's specification with the page's colours and a plot as high as the chart says.

    Args:
        spec: Vega-Lite, as `Chart.to_dict` gives it.
        theme: "light" or "dark".
        colours: Colours to swap, in lower case.
    """
    faint, ink = FAINT[theme], INK[theme]
    recoloured: dict[str, Any] = _recoloured(spec, colours)
    # "fit-x": the legend below does not take its room from the plot, which streamlit's own "fit" would let it do.
    return {
        **recoloured,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {
            **recoloured.get("config", {}),
            "title": {"color": ink, "subtitleColor": faint, "subtitleFontSize": 12, "subtitlePadding": 4, "offset": 12},
            "axisY": {"labelFlush": False},  # streamlit's own pushes the first name of a row down
            "axis": {"labelColor": faint, "titleColor": faint, "labelFontSize": 12, "titleFontSize": 12},
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


def _recoloured(part: Any, colours: Mapping[str, str]) -> Any:
    """The part with each colour as the page has it; data are left alone."""
    if isinstance(part, str):
        return colours.get(part.lower(), part)
    if isinstance(part, list):
        return [_recoloured(each, colours) for each in part]
    if isinstance(part, Mapping):
        return {
            name: each if name in ("data", "datasets") else _recoloured(each, colours) for name, each in part.items()
        }
    return part
