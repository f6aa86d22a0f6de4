"""Presentation mode, `?present=1`: the figure and its headline, readable from the last row of a
lecture hall.

It hides sidebar, form, tables and downloads. The headline has 28 pixels, text in charts 18. The
arrow keys change view (left, right) and layer (down, up); Escape leaves the mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.results.drawing.context import Context
from core.results.templates import marked
from ui.frame.links import PAGE, Address

PRESENT = "present"
READING = "How to read this"  # label of the line that says so
LETTERS, USUAL = 18.0, 12.0  # font size in charts, here and on a page, in pixels
HALL = Context(letter=LETTERS)
ENLARGED = (1.25, 1.5, 2.0, 3.0)  # times: 1920 x 1080 is half as large again
GROWING = ("labelLimit", "titleLimit", "strokeWidth", "size")
HIDDEN = (
    *(
        "stSidebar",
        "stSidebarCollapsedControl",
        "stExpandSidebarButton",
        "stHeader",
        "stForm",
        "stDataFrame",
    ),
    *(
        "stDownloadButton",
        "stExpander",
        "stCaptionContainer",
        "stPopover",
        "stButtonGroup",
        "stTooltipIcon",
    ),
)
# widget keys: the row of views, the buttons of the arrow keys
VIEWS_ROW, KEYS_ROW = "views", "hall-keys"
_STYLE = (
    "<style>"
    + ", ".join(
        [
            *(f'[data-testid="{name}"]' for name in HIDDEN),
            f".st-key-{VIEWS_ROW}",
            # a table's title stands before it
            '[data-testid="stElementContainer"]:has(+ * [data-testid="stDataFrame"])',
        ]
    )
    + " { display: none !important; }"
    + "[data-testid='stMain'] h1 { font-size: 20px !important; }"
    + "[data-testid='stMain'] .headline { font-size: 28px !important; line-height: 1.3; }"
    + "[data-testid='stMain'] [data-testid='stMarkdownContainer'] :is(p, span) "
    + f"{{ font-size: {LETTERS:.0f}px !important; }}"
    + "[data-testid='stMainBlockContainer'] { padding-top: 1rem; }"
    + f"[data-testid='stMain'] .st-key-{KEYS_ROW} [data-testid='stMarkdownContainer'] p "
    + "{ font-size: 14px !important; }"
    + f".st-key-{KEYS_ROW} {{ position: fixed; top: .75rem; right: 1rem; "
    + "width: auto !important; z-index: 10; }"
    + f"@media (max-width: 640px) {{ .st-key-{KEYS_ROW} {{ position: static; }} }}"
    # a page fits 1280 x 720 pixels: on a larger screen it is enlarged as a whole
    + "".join(
        f"@media (min-width: {round(1280 * times)}px) and (min-height: {round(700 * times)}px) "
        f"{{ [data-testid='stMainBlockContainer'] {{ zoom: {times}; }} }}"
        for times in ENLARGED
    )
    + "</style>"
)


def presenting() -> bool:
    """Whether this page is being presented."""
    return st.query_params.get(PRESENT, "") in ("1", "true")


def enlarged(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Enlarge the fonts and marks of a chart's specification; data stay as they are."""

    def grown(name: str, value: Any) -> Any:
        if name in ("data", "datasets", "params"):
            return value
        if isinstance(value, Mapping):
            return {inner: grown(inner, part) for inner, part in value.items()}
        if isinstance(value, list):
            return [grown("", part) for part in value]
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return value
        if "ontSize" in name:  # the presentation font is large already
            return max(value, min(value * LETTERS / USUAL, LETTERS))
        return value * LETTERS / USUAL if name in GROWING else value

    large = {name: grown(name, value) for name, value in spec.items()}
    config = large.get("config", {})
    every = {"labelOverlap": False, **config.get("axisYDiscrete", {})}  # show the name of every row
    return {**large, "config": {**config, "axisYDiscrete": every}}


def show_reading(line: str) -> None:
    """Show how a view's figure is read, in Markdown, after its label; nothing without a line, and
    nothing in presentation."""
    if line and not presenting():
        st.html(f'<p class="reading"><b>{READING}</b> {marked(line)}</p>')


def clear_stage() -> None:
    """Hide what presentation mode does not show; do nothing outside it."""
    if presenting():
        st.html(_STYLE)


def show_keys(address: Address, *, leave_only: bool = False) -> None:
    """Draw the buttons that the arrow keys press, or only the one that leaves, where a lesson's
    slider uses these keys; nothing outside presentation mode."""
    if not presenting():
        return
    with st.container(horizontal=True, key=KEYS_ROW):
        for name, less, more in (("view", "Left", "Right"), ("layer", "Down", "Up")):
            if name in address.options and not leave_only:
                for key, by in ((less, -1), (more, 1)):
                    st.button(
                        name.capitalize(),
                        key=address.key(f"{name} {key}"),
                        type="tertiary",
                        shortcut=key,
                        on_click=_step,
                        args=(address, name, by),
                    )
        st.button(
            "Leave",
            key=address.key("leave"),
            type="tertiary",
            shortcut="Escape",
            on_click=st.session_state.__setitem__,
            args=(address.key(PRESENT), False),
        )


def show_present_button() -> None:
    """Draw the sidebar's button that starts presentation mode on the present page."""
    st.sidebar.button(
        "Present",
        key="start presenting",
        icon=":material/slideshow:",
        help="Shows the figure and its headline in large letters; Escape leaves.",
        on_click=_present,
    )


def _present() -> None:
    st.session_state[Address(st.session_state[PAGE], ()).key(PRESENT)] = True


def _step(address: Address, name: str, by: int) -> None:
    """Set the option's next or previous value; views wrap around, layers stop at both ends."""
    option, key = address.options[name], address.key(name)
    choices = list(option.meanings)
    if choices:
        st.session_state[key] = choices[(choices.index(st.session_state[key]) + by) % len(choices)]
    else:
        st.session_state[key] = int(min(max(st.session_state[key] + by, option.low), option.high))
