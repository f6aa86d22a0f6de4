"""A result as a zip file: what the command line writes, with figures, data dictionary and BibTeX.

Its size and time are bounded: files beyond `MOST_BYTES`, and figures that are not drawn after
`MOST_SECONDS`, are left out and listed in `left-out.txt`.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from core.errors import DrawingError
from core.results.columns import describe
from core.results.drawing.vega import Chart
from core.results.export import (
    Result,
    chart_png,
    chart_svg,
    result_json,
    table_csv,
    tables_by_file,
)
from core.results.papers.reference import bibtex

Say = Callable[[float, str], object]
"""Called with the progress from 0 to 1 and what is being made."""
MOST_BYTES = 200_000_000  # of all files together, uncompressed
MOST_SECONDS = 120.0  # for all figures together
LEFT_OUT = "left-out.txt"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can say


def silent(share: float, what: str) -> None:
    """Report no progress."""


def zip_result(
    result: Result,
    figures: Callable[[], Mapping[str, Chart]],
    *,
    extra: Mapping[str, Callable[[], bytes]] | None = None,
    say: Say = silent,
    clock: Callable[[], float] = time.monotonic,
) -> bytes:
    """Pack `result.json`, every table as CSV, the data dictionary, BibTeX, `extra` files (name ->
    what makes one) and every figure as SVG and PNG into a zip, as far as bytes and seconds
    allow."""
    tables = tables_by_file(result)
    say(0.0, "Tables")
    files: dict[str, Callable[[], bytes]] = {
        "result.json": partial(result_json, result),
        "dictionary.csv": lambda: table_csv(dictionary(result)),
        "references.bib": lambda: bibtex(result.citations, result.study).encode("utf8"),
        **{name: partial(table_csv, table) for name, table in tables.items()},
        **(extra or {}),
    }
    pack = _Pack()
    for name, make in files.items():
        pack.add(name, make)
    say(0.1, "Figures")
    drawn, ends = figures(), clock() + MOST_SECONDS
    for number, (name, chart) in enumerate(drawn.items()):
        say(0.1 + 0.9 * number / len(drawn), f"Figure {number + 1} of {len(drawn)}")
        for suffix, picture in (("svg", chart_svg), ("png", chart_png)):
            if clock() > ends:
                pack.leave_out(
                    f"figures/{name}.{suffix}", f"not drawn within {MOST_SECONDS:.0f} seconds"
                )
            else:
                pack.add(f"figures/{name}.{suffix}", partial(picture, chart))
    say(1.0, "Done")
    return pack.content()


def dictionary(result: Result) -> pd.DataFrame:
    """Make the data dictionary of a result's tables: file, table, column, meaning."""
    files = dict(zip(result.tables, tables_by_file(result), strict=True))
    rows = [
        (files[name], name, column, meaning)
        for name, columns in describe(result.tables).items()
        for column, meaning in columns.items()
    ]
    return pd.DataFrame(rows, columns=["file", "table", "column", "meaning"])


class _Pack:
    """A zip file under construction, up to `MOST_BYTES`."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._zip = zipfile.ZipFile(self._buffer, "w", zipfile.ZIP_DEFLATED)
        self._bytes = 0
        self._lacks: list[str] = []

    def add(self, name: str, make: Callable[[], bytes]) -> None:
        """Add a file, or record why it is not there."""
        try:
            content = make()
        except DrawingError as error:
            self.leave_out(name, str(error))
            return
        if self._bytes + len(content) > MOST_BYTES:
            self.leave_out(
                name, f"the files would be larger than {MOST_BYTES / 1e6:.0f} MB together"
            )
            return
        self._bytes += len(content)
        self._write(name, content)

    def _write(self, name: str, content: bytes | str) -> None:
        """Write a file, with the earliest time of the format where the clock is before it, as that
        of a computer without a battery."""
        entry = zipfile.ZipInfo(name, max(time.localtime()[:6], EARLIEST))
        entry.external_attr = 0o644 << 16
        self._zip.writestr(entry, content, zipfile.ZIP_DEFLATED)

    def leave_out(self, name: str, reason: str) -> None:
        """Record that a file is not in the zip, and why."""
        self._lacks.append(f"{name}: {reason}")

    def content(self) -> bytes:
        """Close the zip and return it."""
        if self._lacks:
            self._write(LEFT_OUT, "\n".join(self._lacks) + "\n")
        self._zip.close()
        return self._buffer.getvalue()
