"""The report: one file with everything, short enough to be read. Figures with captions; tables folded, long ones cut.

The page is `templates/report.html`: texts are escaped there, figures are embedded as SVG images, nothing runs or loads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.results.bundle import Say, silent
from core.results.columns import describe
from core.results.drawing import files as drawn
from core.results.numbers import text_of
from core.results.templates import SHARED, fill, marked

if TYPE_CHECKING:
    import pandas as pd

    from core.results.drawing.vega import Chart
    from core.results.export import Result

TEMPLATE = SHARED / "report.html"
SHOWN = 5  # figures that are not folded
MOST_ROWS = 40  # of a table; the CSV has them all
NOTICES = 4  # notices that are not folded
MISLEADING = "What would mislead you here"  # above the caveats


def report_html(
    result: Result,
    figures: Mapping[str, Chart],
    *,
    link: str = "",
    command: str = "",
    caveats: Mapping[str, str] | None = None,
    formulas: Mapping[str, str] | None = None,
    say: Say = silent,
) -> bytes:
    """The report of a result.

    Args:
        result: What the study returned.
        figures: Charts by name, in the order in which they are shown.
        link: Address of the page that shows it; none where empty.
        command: What computes it again; none where empty.
        caveats, formulas: Of the study, as `core.study.Study` has them.
        say: Told what is being made, and how far it is.
    """
    records = {"Spec": result.spec, "Provenance": result.provenance}
    drawings = []
    for number, (name, chart) in enumerate(figures.items(), start=1):
        say((number - 1) / len(figures), f"Figure {number} of {len(figures)}")
        drawings.append(_figure(number, name, chart))
    return fill(
        TEMPLATE,
        result=result,
        notices=[*result.notices, *(f"{name}: {text}" for name, text in result.failures.items())],
        figures=drawings,
        tables=[_table(name, table) for name, table in result.tables.items()],
        records={title: json.dumps(each, indent=2, ensure_ascii=False, default=str) for title, each in records.items()},
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
    return {"number": number, "svg": drawn.svg(spec), "words": drawn.words_of(spec) or name, "caption": caption}


def _table(name: str, table: pd.DataFrame) -> dict[str, Any]:
    from markupsafe import Markup

    # pandas escapes what stands in the cells
    body = table.head(MOST_ROWS).to_html(index=False, escape=True, border=0, float_format=_number)
    meanings = describe({name: table})[name]
    return {"name": name, "rows": len(table), "meanings": meanings, "markup": Markup(body)}


def _number(value: Any) -> str:
    return text_of(float(value), "measure")
