"""Downloads of a result: each file is made when its button is pressed, and the page does not rerun.

Streamlit assigns a file made on a click to no session, and deletes it at the end of the second
script run of any session: with five open tabs that follow a running study, before the browser has
fetched it. The file is therefore registered for the session that asked for it, too, which keeps it
until that session's page is drawn again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from core.results.bundle import zip_result
from core.results.drawing import printing
from core.results.drawing.printing import PALETTES, caption
from core.results.export import Result, chart_png, chart_svg, table_csv, table_parquet
from core.results.papers.reference import bibtex
from ui.archive.making import preview_of, report_of
from ui.archive.reports import address_of, keep_report, serves_reports
from ui.frame.errors import errors_shown
from ui.frame.naming import in_names, names_here
from ui.frame.presenting import presenting
from ui.frame.shared import made_once
from ui.frame.shell import in_bytes

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.drawing.vega import Chart


HELP = {
    "SVG": "Downloads the figure as shown, with lines that are switched off, on a white "
    "background.",
    "PNG": "Downloads the figure as shown, with lines that are switched off, on a white "
    "background, at twice the screen's resolution.",
}
ALL_HELP = (
    "Downloads one zip file with every table as CSV, the data dictionary, every figure as SVG and "
    "PNG, the settings and BibTeX."
)
REPORT_HELP = (
    "Makes one HTML file with the figures, numbers, settings, versions, references, caveats and a "
    "methods paragraph."
)
KEEP_HELP = (
    "Keeps this report on the server. Everybody who has its address can read it until the store is "
    "full."
)
FIGURE_HELP = (
    "Makes a figure for a paper: width, height and colours, as PDF, SVG or PNG (300 dpi), with "
    "caption, methods and BibTeX."
)
MIME = {
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "zip": "application/zip",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "conllu": "text/plain",
}
REPORT = ".html"
AS_SHOWN = "as-shown"  # in the zip: what the view draws, as one figure
CSS_DPI = 96  # pixels per inch: the preview has the size of the printed figure


def show_downloads(
    result: Result,
    draw: printing.Drawing,
    figures: Callable[[], Mapping[str, Chart]],
    *,
    table: str = "",
    view: Hashable = None,
    name: str = "",
    caption: str = "",
    more: Mapping[str, Callable[[], bytes]] | None = None,
) -> None:
    """Draw the button that opens all downloads, with the caption beside it; the caption alone in
    presentation mode. `draw` makes one figure of what the page shows, which sessions share where
    `view`, what it depends on besides result and table, is given."""
    row = st.container(horizontal=True, key=f"downloads_{result.study}")
    row.caption(caption, width="stretch")
    if presenting():
        return
    names = names_here()
    draw, figures, called_so = in_names(draw, names), in_names(figures, names), tuple(names.items())
    data = result.tables.get(table, result.table)
    stem = "-".join(filter(None, ("palimpsest", slug(result.study), slug(name or view))))

    def shared(what: Hashable, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return lambda: made_once(result, ("file", what), make)

    def picture(suffix: str, make: Callable[[], bytes]) -> Callable[[], bytes]:
        return make if view is None else shared((suffix, table, view, called_so), make)

    files: dict[str, tuple[str, Callable[[], bytes]]] = {
        "CSV": ("csv", lambda: table_csv(data)),
        "Parquet": ("parquet", lambda: table_parquet(data)),
        "SVG": ("svg", picture("svg", lambda: chart_svg(printing.one_chart(draw)))),
        "PNG": ("png", picture("png", lambda: chart_png(printing.one_chart(draw)))),
    }
    with row.popover("Export", icon=":material/download:"):
        with st.container(horizontal=True):
            for label, (suffix, make) in files.items():
                _file_button(result.study, label, make, f"{stem}.{suffix}")
            for called, make in (more or {}).items():
                _file_button(result.study, called, make, f"palimpsest-{called}")
        asked, report, everything = _dialog_buttons(result.study)
    if asked:
        figure_dialog(result, draw, (table, view, called_so), stem)
    elif report:
        link = _link()
        file_dialog(
            f"palimpsest-{slug(result.study)}{REPORT}",
            lambda say: made_once(
                result, ("report", link, called_so), lambda: report_of(result, figures(), link, say)
            ),
            files["PNG"][1],
        )
    elif everything:

        def every() -> dict[str, Chart]:
            return {AS_SHOWN: printing.one_chart(draw), **figures()}

        file_dialog(f"{stem}.zip", partial(zip_result, result, every, extra=more))


def _dialog_buttons(study: str) -> list[bool]:
    """Draw the buttons that open dialogs: figure, report, everything; return which was pressed."""
    with st.container(horizontal=True):
        return [
            st.button(label, icon=f":material/{icon}:", key=f"{key}_{study}", help=about)
            for label, icon, key, about in (
                ("Figure", "article", "figure", FIGURE_HELP),
                ("Report", "description", "report", REPORT_HELP),
                ("Download all", "folder_zip", "all", ALL_HELP),
            )
        ]


def _file_button(study: str, label: str, make: Callable[[], bytes], called: str) -> None:
    """Draw the button that makes one file of a study's result and downloads it."""
    mime = MIME[called.rpartition(".")[2]]
    st.download_button(
        label,
        held(make, called, mime),
        called,
        mime,
        key=f"download_{study}_{called.rpartition('.')[2]}",
        on_click="ignore",
        icon=":material/download:",
        help=HELP.get(label),
    )


@st.dialog("Download")
@errors_shown()
def file_dialog(
    called: str, make: Callable[..., bytes], picture: Callable[[], bytes] = bytes
) -> None:
    """Make a file that may take long, with a progress bar told through `say`, and offer it for
    download. A report can also be kept at an address; `picture` makes what links to it show in a
    chat."""
    bar = st.progress(0.0, "Preparing")
    content = make(say=bar.progress)
    bar.empty()
    st.markdown(f"{called}, {in_bytes(len(content))}")
    st.download_button(
        "Save",
        content,
        called,
        MIME[called.rpartition(".")[2]],
        type="primary",
        key="made/save",
        on_click="ignore",
        icon=":material/download:",
    )
    if (
        called.endswith(REPORT)
        and serves_reports()
        and st.button("Keep at an address", key="made/keep", icon=":material/link:", help=KEEP_HELP)
    ):
        address = address_of(keep_report(content, preview_of(picture)))
        st.markdown(f"[{address}]({address})")


@st.dialog("Figure for a paper", width="large")
@errors_shown()
def figure_dialog(result: Result, draw: printing.Drawing, view: Hashable, stem: str) -> None:
    """Offer what the page shows as a figure for a journal: width, height, colours, title, legend,
    files, caption, methods and BibTeX."""
    left, right = st.columns([2, 3])
    paper = _paper(left, right)

    def made(suffix: str) -> bytes:
        return made_once(
            result,
            ("paper", view, paper, suffix),
            lambda: printing.paper_file(draw, paper, suffix),
        )

    pixels = round(CSS_DPI * printing.INCHES[paper.columns])
    st.image(made("svg").decode("utf8"), width=pixels, caption="Shown at its printed size")
    with st.container(horizontal=True):
        for suffix in printing.SUFFIXES:
            called, mime = f"{stem}-{paper.columns}col.{suffix}", MIME[suffix]
            st.download_button(
                suffix.upper(),
                held(partial(made, suffix), called, mime),
                called,
                mime,
                key=f"figure/{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )
    for label, text in (("Caption", caption(draw)), ("Methods", result.methods)):
        st.caption(label)
        st.code(text, language=None, wrap_lines=True)
    st.caption("BibTeX")
    st.code(bibtex(result.citations, result.study), language=None, wrap_lines=True)


def _paper(left: DeltaGenerator, right: DeltaGenerator) -> printing.Paper:
    """Draw the controls of a figure for a paper in two columns; return what they say."""
    widths = {
        count: f"{('One column', 'Two columns')[count - 1]}, {inches} inches"
        for count, inches in printing.INCHES.items()
    }
    columns = left.radio(
        "Width", list(widths), format_func=widths.__getitem__, key="figure/columns"
    )
    with right:
        titled = st.toggle(
            "Title above",
            key="figure/titled",
            help="Adds the title above the figure; most journals have it in the caption.",
        )
        legend = st.toggle(
            "Legend below",
            key="figure/legend",
            help="Names the lines in a legend instead of at their right ends.",
        )
        grey = st.toggle(
            "Readable in greyscale",
            True,
            key="figure/grey",
            help="Gives every line its own dash pattern.",
        )
    height = left.radio(
        "Height",
        list(printing.HEIGHTS),
        index=list(printing.HEIGHTS).index("Usual"),
        horizontal=True,
        key="figure/height",
        help="Makes the plots lower or higher; letters keep their size.",
    )
    palette = left.selectbox(
        "Colours",
        PALETTES,
        key="figure/palette",
        help="Replaces the colours of models and methods. Greys keep only how light a colour is.",
    )
    return printing.Paper(
        int(columns or 1), titled, legend, grey, printing.HEIGHTS[height], palette
    )


def slug(view: Hashable) -> str:
    """Write a view as part of a file's name: lower-case letters, digits and hyphens."""
    parts = view if isinstance(view, tuple) else (view,)
    text = "-".join(str(part) for part in parts if part not in (None, ""))
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60]


def _link() -> str:
    """Return the page's address with the settings of what it shows."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    url = str(st.context.url or "").partition("?")[0]
    return f"{url}{'?' if query else ''}{urlencode(query, doseq=True)}" if url else ""


def held(make: Callable[[], bytes], name: str, mime: str) -> Callable[[], bytes]:
    """Make the function also register its file, which streamlit identifies by name, type and
    content, for the session that is drawing its page now."""
    session = get_script_run_ctx(suppress_warning=True)

    def make_and_hold() -> bytes:
        content = make()
        if session is not None and runtime.exists():
            # This runs on a thread without a session; a thread that has one registers the file for
            # it.
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
