"""Downloads of a result: each file is made when its button is pressed, not before, and the page does not rerun."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core.results.export import Result, chart_png, chart_svg, report_html, table_csv, table_parquet

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
) -> None:
    """A row of buttons: the table as CSV and Parquet, the figure as SVG and PNG, the report.

    Args:
        result: What the study returned.
        draw: Draws the figure that the page shows.
        figures: Draws every figure of the report.
        table: Name of the table that CSV and Parquet give; the main one by default.
    """
    data = result.tables.get(table, result.table)
    files: tuple[tuple[str, str, str, Callable[[], bytes]], ...] = (
        ("CSV", "csv", "text/csv", lambda: table_csv(data)),
        ("Parquet", "parquet", "application/vnd.apache.parquet", lambda: table_parquet(data)),
        ("SVG", "svg", "image/svg+xml", lambda: chart_svg(draw())),
        ("PNG", "png", "image/png", lambda: chart_png(draw())),
        ("Report", "html", "text/html", lambda: report_html(result, figures())),
    )
    with st.container(horizontal=True, key=f"downloads_{result.study}"):
        for label, suffix, mime, make in files:
            st.download_button(
                label,
                make,
                f"palimpsest-{result.study}.{suffix}",
                mime,
                key=f"download_{result.study}_{suffix}",
                on_click="ignore",
                icon=":material/download:",
                help=HELP.get(label),
            )
