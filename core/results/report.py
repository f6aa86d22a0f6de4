"""The report: one file with everything, short enough to be read. Figures with captions; tables folded, long ones cut.

Every text is escaped; figures are embedded as SVG images, so nothing in the file runs or loads.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.results.bundle import Say, silent
from core.results.columns import describe
from core.results.drawing import files as drawn
from core.results.numbers import text_of

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

SHOWN = 5  # figures that are not folded
MOST_ROWS = 40  # of a table; the CSV has them all
NOTICES = 4  # notices that are not folded
MISLEADING = "What would mislead you here"  # above the caveats


def report_html(
    result: Result,
    figures: Mapping[str, alt.TopLevelMixin],
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
    parts = [f"<h1>Palimpsest: {html.escape(result.study)}</h1>"]
    parts.append(f"<p class=headline>{html.escape(result.headline)}</p>")
    said = [*result.notices, *(f"{name}: {text}" for name, text in result.failures.items())]
    parts += _folded("Notes", [f"<p class=notice>{html.escape(text)}</p>" for text in said], NOTICES)
    drawings = []
    for number, (name, chart) in enumerate(figures.items(), start=1):
        say((number - 1) / len(figures), f"Figure {number} of {len(figures)}")
        drawings.append(_figure(number, name, chart))
    parts += _folded("More figures", drawings, SHOWN)
    parts += ["<h2>Methods</h2>", f"<p>{html.escape(result.methods)}</p>"]
    parts += [f"<p>{html.escape(words)}:</p><pre>{html.escape(tex)}</pre>" for words, tex in (formulas or {}).items()]
    if caveats:
        points = [f"<li><b>{_marked(point)}</b> {_marked(text)}</li>" for point, text in caveats.items()]
        parts += [f"<h2>{MISLEADING}</h2>", "<ul>", *points, "</ul>"]
    if link or command:
        parts.append("<h2>Again</h2>")
    if link:
        kind = f'<a href="{html.escape(link)}">' if link.startswith(("http://", "https://")) else "<span>"
        parts.append(f"<p>The page: {kind}{html.escape(link)}</{'a' if kind.startswith('<a') else 'span'}></p>")
    if command:
        parts.append(f"<p>The command line:</p><pre>{html.escape(command)}</pre>")
    parts += ["<h2>References</h2>", "<ul>"]
    parts += [f"<li>{html.escape(reference.line)}</li>" for reference in result.citations]
    parts += ["</ul>", "<h2>Tables</h2>"]
    parts += [_table(name, table) for name, table in result.tables.items()]
    for title, record in (("Spec", result.spec), ("Provenance", result.provenance)):
        text = json.dumps(record, indent=2, ensure_ascii=False, default=str)
        parts.append(f"<details><summary>{title}</summary><pre>{html.escape(text)}</pre></details>")
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Palimpsest report</title>{_STYLE}<body>'
    return (page + "\n".join(parts) + "</body></html>\n").encode("utf8")


def _marked(text: str) -> str:
    """A caveat's text with its *emphasis* and `code` as HTML."""
    text = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html.escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def _folded(title: str, parts: Sequence[str], shown: int) -> list[str]:
    """The first ones as they are, the others folded."""
    if len(parts) <= shown:
        return list(parts)
    rest = "\n".join(parts[shown:])
    return [*parts[:shown], f"<details><summary>{title} ({len(parts) - shown})</summary>{rest}</details>"]


def _figure(number: int, name: str, chart: alt.TopLevelMixin) -> str:
    spec = drawn.sheet(chart)
    title, below = drawn.title_of(spec)
    words = drawn.words_of(spec)
    image = base64.b64encode(drawn.svg(spec)).decode("ascii")
    caption = ". ".join(part for part in (title or name, below) if part)
    return (
        f'<figure><img alt="{html.escape(words or name)}" src="data:image/svg+xml;base64,{image}">'
        f"<figcaption><b>Figure {number}.</b> {html.escape(caption)}.</figcaption></figure>"
    )


def _table(name: str, table: pd.DataFrame) -> str:
    meanings = (f"<b>{html.escape(c)}</b>: {html.escape(m)}" for c, m in describe({name: table})[name].items())
    cut = f"<p class=columns>The first {MOST_ROWS} of {len(table):,} rows; the CSV has all.</p>"
    body = table.head(MOST_ROWS).to_html(index=False, escape=True, border=0, float_format=_number)
    return (
        f"<details><summary>{html.escape(name)} ({len(table):,} rows)</summary>"
        f"<p class=columns>{'; '.join(meanings)}.</p>{cut if len(table) > MOST_ROWS else ''}{body}</details>"
    )


def _number(value: Any) -> str:
    return text_of(float(value), "measure")


_STYLE = """<style>
body { font: 16px/1.5 "Source Sans 3", "Source Sans Pro", "Helvetica Neue", Arial, sans-serif; max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; color: #23201b; background: #fff; }
h1, h2, .headline { font-family: "Source Serif 4", "Source Serif Pro", Georgia, serif; font-weight: 500; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 1.6rem 0 .4rem; }
.headline { font-size: 1.2rem; line-height: 1.4; } .notice { border-left: 3px solid #d55e00; padding-left: .75rem; }
figure { margin: 1.2rem 0; } img { max-width: 100%; } figcaption, .columns { font-size: 13px; color: #5c5548; }
details { margin: .4rem 0; } summary { cursor: pointer; }
pre { background: #f4f2ec; padding: .75rem; overflow-x: auto; font-size: 13px; white-space: pre-wrap; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
</style>"""
