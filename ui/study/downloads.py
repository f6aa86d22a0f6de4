"""Downloads of a result: each file is made when its button is pressed, not before, and the page does not rerun.

A file that streamlit makes on a click belongs to no session, and goes at the second script end of any: with five tabs
that watch a study, before the browser has fetched it. So the file is also entered for the session that asked for it,
which keeps it until that session's page is drawn anew.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from core.catalogue import STUDIES
from core.commands.study import command_line
from core.errors import PalimpsestError
from core.results.drawing.paper import INCHES, Paper, caption, one_chart, paper_file
from core.results.export import Result, chart_png, chart_svg, table_csv, table_parquet
from core.results.references import bibtex
from core.results.report import report_html
from ui.frame.presenting import presenting
from ui.frame.shared import made_once

if TYPE_CHECKING:
    import altair as alt

HELP = {
    "Report": "One HTML file: figures, numbers, spec, versions, citations, and a methods paragraph ready to paste.",
    "SVG": "The figure as it is shown, on white.",
    "PNG": "The figure as it is shown, on white, at twice the screen's resolution.",
}
FIGURE_HELP = "For a paper: one column or two, PDF, SVG or PNG at 300 dots an inch, caption and BibTeX."
MIME = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
CSS_DPI = 96  # pixels an inch: the preview is as large as the print


def show_downloads(
    result: Result,
    draw: Callable[[], Any],
    figures: Callable[[], Mapping[str, alt.TopLevelMixin]],
    *,
    table: str = "",
    view: Hashable = None,
    name: str = "",
) -> None:
    """A row of buttons: the table as CSV and Parquet, the figure as SVG and PNG and for a paper, the report.

    Nothing in presentation mode.

    Args:
        result: What the study returned.
        draw: Draws what the page shows: a chart, several, or `Panels`; a file has all of them as one figure.
        figures: Draws every figure of the report.
        table: Name of the table that CSV and Parquet give; the main one by default.
        view: What `draw` depends on beside the result and the table. Where it is given, the pictures are made once
            and shared by all sessions, as the report is.
        name: What files are called after the study; made from the view without it.
    """
    if presenting():
        return
    data = result.tables.get(table, result.table)
    stem = "-".join(filter(None, ("palimpsest", slug(result.study), slug(name or view))))
    link, command = _link(), command_of(result)

    def shared(what: Hashable, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return lambda: made_once().get(result, ("file", what), make)

    def picture(suffix: str, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return make if view is None else shared((suffix, table, view), make)

    files: tuple[tuple[str, str, str, Callable[[], bytes]], ...] = (
        ("CSV", "csv", "text/csv", lambda: table_csv(data)),
        ("Parquet", "parquet", "application/vnd.apache.parquet", lambda: table_parquet(data)),
        ("SVG", "svg", "image/svg+xml", picture("svg", lambda: chart_svg(one_chart(draw())))),
        ("PNG", "png", "image/png", picture("png", lambda: chart_png(one_chart(draw())))),
        (
            *("Report", "html", "text/html"),
            shared(("html", link), lambda: report_html(result, figures(), link=link, command=command)),
        ),
    )
    with st.container(horizontal=True, key=f"downloads_{result.study}"):
        for label, suffix, mime, make in files:
            called = f"{stem}.{suffix}" if suffix != "html" else f"palimpsest-{slug(result.study)}.html"
            st.download_button(
                label,
                held(make, called, mime),
                called,
                mime,
                key=f"download_{result.study}_{suffix}",
                on_click="ignore",
                icon=":material/download:",
                help=HELP.get(label),
            )
        asked = st.button("Figure", icon=":material/article:", key=f"figure_{result.study}", help=FIGURE_HELP)
    if asked:
        figure_dialog(result, draw, (table, view), stem)


@st.dialog("Figure for a paper", width="large")
def figure_dialog(result: Result, draw: Callable[[], Any], view: Hashable, stem: str) -> None:
    """What the page shows as a journal takes it: size, letters, names of lines, files, caption, BibTeX.

    Args:
        result: What the study returned.
        draw: Draws what the page shows.
        view: What `draw` depends on beside the result.
        stem: Beginning of the files' names.
    """
    left, right = st.columns([2, 3])
    widths = {count: f"{('One column', 'Two columns')[count - 1]}, {inches} inches" for count, inches in INCHES.items()}
    columns = left.radio("Width", list(widths), format_func=widths.__getitem__, key="figure/columns")
    with right:
        titled = st.toggle("Title above", key="figure/titled", help="A caption usually says it.")
        legend = st.toggle("Legend below", key="figure/legend", help="Instead of names at the ends of lines.")
        grey = st.toggle("Readable in grey", True, key="figure/grey", help="A dash of its own for every line.")
    paper = Paper(int(columns or 1), titled, legend, grey)

    def made(suffix: str) -> bytes:
        return made_once().get(result, ("paper", view, paper, suffix), lambda: paper_file(draw, paper, suffix))

    st.image(made("svg").decode("utf8"), width=round(CSS_DPI * INCHES[paper.columns]), caption="As large as in print")
    with st.container(horizontal=True):
        for suffix, mime in MIME.items():
            called = f"{stem}-{paper.columns}col.{suffix}"
            st.download_button(
                suffix.upper(),
                held(partial(made, suffix), called, mime),
                called,
                mime,
                key=f"figure/{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
    st.caption("Caption")
    st.code(caption(draw, result), language=None, wrap_lines=True)
    st.caption("BibTeX")
    st.code(bibtex(result.citations, result.study), language=None, wrap_lines=True)


def command_of(result: Result) -> str:
    """The command that computes the result again; "" for what has none."""
    if result.study not in STUDIES:
        return ""
    try:
        return command_line(result.study, STUDIES[result.study].Spec(**result.spec))
    except (PalimpsestError, TypeError):  # the spec of another version of the program
        return ""


def slug(view: Hashable) -> str:
    """A view as part of a file's name: small letters, digits, hyphens."""
    parts = view if isinstance(view, tuple) else (view,)
    text = "-".join(str(part) for part in parts if part not in (None, ""))
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60]


def _link() -> str:
    """The page's address as it stands, with what it shows."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    url = str(st.context.url or "").partition("?")[0]
    return f"{url}{'?' if query else ''}{urlencode(query, doseq=True)}" if url else ""


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
