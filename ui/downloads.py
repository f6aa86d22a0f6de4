"""Downloads of a result: each file is made when its button is pressed, not before, and the page does not rerun.

A file that streamlit makes on a click belongs to no session, and goes at the second script end of any: with five tabs
that watch a study, before the browser has fetched it. So the file is also entered for the session that asked for it,
which keeps it until that session's page is drawn anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from core.results.export import Result, chart_png, chart_svg, report_html, table_csv, table_parquet
from ui.shared import made_once

if TYPE_CHECKING:
    import altair as alt

HELP = {
    "Report": "One HTML file: figures, numbers, spec, versions, citations, and a methods paragraph ready to paste.",
    "SVG": "The figure as it is shown, on white.",
    "PNG": "The figure as it is shown, on white, at twice the screen's resolution.",
}


def show_downloads(
    result: Result,
    draw: Callable[[], alt.TopLevelMixin],
    figures: Callable[[], Mapping[str, alt.TopLevelMixin]],
    *,
    table: str = "",
    view: Hashable = None,
) -> None:
    """A row of buttons: the table as CSV and Parquet, the figure as SVG and PNG, the report.

    Args:
        result: What the study returned.
        draw: Draws the figure that the page shows.
        figures: Draws every figure of the report.
        table: Name of the table that CSV and Parquet give; the main one by default.
        view: What `draw` depends on beside the result and the table. Where it is given, the pictures are made once
            and shared by all sessions, as the report is.
    """
    data = result.tables.get(table, result.table)

    def shared(name: Hashable, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return lambda: made_once().get(result, ("file", name), make)

    def picture(suffix: str, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return make if view is None else shared((suffix, table, view), make)

    files: tuple[tuple[str, str, str, Callable[[], bytes]], ...] = (
        ("CSV", "csv", "text/csv", lambda: table_csv(data)),
        ("Parquet", "parquet", "application/vnd.apache.parquet", lambda: table_parquet(data)),
        ("SVG", "svg", "image/svg+xml", picture("svg", lambda: chart_svg(draw()))),
        ("PNG", "png", "image/png", picture("png", lambda: chart_png(draw()))),
        ("Report", "html", "text/html", shared("html", lambda: report_html(result, figures()))),
    )
    with st.container(horizontal=True, key=f"downloads_{result.study}"):
        for label, suffix, mime, make in files:
            name = f"palimpsest-{result.study}.{suffix}"
            st.download_button(
                label,
                held(make, name, mime),
                name,
                mime,
                key=f"download_{result.study}_{suffix}",
                on_click="ignore",
                icon=":material/download:",
                help=HELP.get(label),
            )


def held(make: Callable[[], bytes], name: str, mime: str) -> Callable[[], bytes]:
    """The same function, which also enters the file that it makes for the session that is drawing its page now.

    Args:
        make: Makes the file.
        name: The file's name.
        mime: Its media type; with the name and the bytes it is what streamlit knows a file by.
    """
    session = get_script_run_ctx(suppress_warning=True)

    def make_and_hold() -> bytes:
        content = make()
        if session is not None and runtime.exists():
            # Called on a thread that belongs to no session; one that does enters the file for its session.
            entering = threading.Thread(
                target=runtime.get_instance().media_file_mgr.add,
                args=(content, mime, f"held {name}", name),
                kwargs={"is_for_static_download": True},
            )
            add_script_run_ctx(entering, session)
            entering.start()
            entering.join()
        return content

    return make_and_hold
