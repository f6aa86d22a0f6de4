"""The report of a result as one HTML file, with the words and the command of its study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from core.catalogue import STUDIES
from core.commands.study import command_line
from core.errors import DrawingError, PalimpsestError
from core.results.report import report_html

if TYPE_CHECKING:
    from core.results.bundle import Say
    from core.results.drawing.vega import Chart
    from core.results.export import Result


def report_of(result: Result, figures: Mapping[str, Chart], link: str, say: Say) -> bytes:
    """Make the report, with the caveats and formulas of the study."""
    study = STUDIES.get(result.study)
    names = ("title", "caveats", "formulas")
    words = {name: getattr(study.words, name) for name in names} if study else {}
    return report_html(result, figures, link=link, command=command_of(result), **words, say=say)


def preview_of(picture: Callable[[], bytes]) -> bytes:
    """Make a report's preview picture; empty where figures cannot be drawn, as the report says."""
    try:
        return picture()
    except DrawingError:
        return b""


def command_of(result: Result) -> str:
    """Return the command that reproduces the result; "" if there is none."""
    if result.study not in STUDIES:
        return ""
    try:
        return command_line(result.study, STUDIES[result.study].Spec(**result.spec))
    except (PalimpsestError, TypeError):  # a spec written by another version
        return ""
