"""The report: one HTML file. It begins with title, finding, figure, what else the headline says and
one caveat; notes, further figures and tables follow, folded where there are many.

Its template is `templates/report.html`: texts are escaped, figures are SVG images, nothing is run
or loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.errors import DrawingError
from core.results.bundle import Say, silent
from core.results.columns import describe, title_of_table
from core.results.drawing import files as drawn
from core.results.drawing.vega import Chart
from core.results.export import Result
from core.results.numbers import text_of
from core.results.statements import lead_and_rest
from core.results.templates import SHARED, fill, marked

TEMPLATE = SHARED / "report.html"
SHOWN = 5  # figures that are not folded
MOST_ROWS = 40  # of a table; the CSV has all
NOTICES = 4  # notices that are not folded
MISLEADING = "What can mislead here"  # heading of the caveats


def report_html(
    result: Result,
    figures: Mapping[str, Chart],
    *,
    title: str = "Palimpsest report",
    link: str = "",
    command: str = "",
    caveats: Mapping[str, str] | None = None,
    formulas: Mapping[str, str] | None = None,
    say: Say = silent,
) -> bytes:
    """Write the report of a result as HTML: figures in their order, and link, command, caveats and
    formulas where there are any."""
    records = {"Settings": result.spec, "Provenance": result.provenance}
    drawings, lacks = [], []
    try:
        for number, (name, chart) in enumerate(figures.items(), start=1):
            say((number - 1) / len(figures), f"Figure {number} of {len(figures)}")
            drawings.append(_figure(number, name, chart))
    except DrawingError as error:
        lacks.append(str(error))
    lead, rest = lead_and_rest(result.cautioned())
    return fill(
        TEMPLATE,
        result=result,
        title=title,
        lead=lead,
        rest=rest,
        notices=[*lacks, *result.notices, *result.left_out],
        figures=drawings,
        tables=[_table(name, table) for name, table in result.tables.items()],
        records={
            title: json.dumps(each, indent=2, ensure_ascii=False, default=str)
            for title, each in records.items()
        },
        caveats={marked(point): marked(text) for point, text in (caveats or {}).items()},
        formulas=formulas or {},
        misleading=MISLEADING,
        link=link,
        command=command,
        most_figures=SHOWN,
        most_notices=NOTICES,
        most_rows=MOST_ROWS,
    )


def _figure(number: int, name: str, chart: Chart) -> dict[str, Any]:
    spec = drawn.sheet(chart)
    title, below = drawn.title_of(spec)
    caption = ". ".join(part for part in (title or name, below) if part)
    return {
        "number": number,
        "svg": drawn.svg(spec),
        "words": drawn.words_of(spec) or name,
        "caption": caption,
    }


def _table(name: str, table: pd.DataFrame) -> dict[str, Any]:
    from markupsafe import Markup

    # pandas escapes the contents of cells
    body = table.head(MOST_ROWS).to_html(
        index=False,
        escape=True,
        border=0,
        float_format=lambda value: text_of(float(value), "measure"),
    )
    meanings = describe({name: table})[name]
    return {
        "name": name,
        "title": title_of_table(name),
        "rows": len(table),
        "meanings": meanings,
        "markup": Markup(body),
    }
