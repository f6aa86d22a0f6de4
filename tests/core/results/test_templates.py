"""Pages from templates: a text stays a text wherever it is put, and a name that nobody gave is an
error."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from core.results.export import Result
from core.results.report import report_html
from core.results.templates import SHARED, fill
from tests import ROOT

HOSTILE = (
    "</pre></style><script>alert('1')</script><img src=x onerror=\"alert(2)\"> & {{ 7 * 7 }} "
    "' onload='x"
)
OF_META = {"name", "property", "content"}  # what a chat shows of a report
ALLOWED = {"href", "class", "style", "lang", "charset", "border", *OF_META}


class Markers(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(link: str) -> Markers:
    table = pd.DataFrame({HOSTILE: [HOSTILE], "x": [1.0]})
    result = Result(
        study=HOSTILE,
        spec={"corpus": HOSTILE},
        headline=HOSTILE,
        tables={HOSTILE: table},
        notices=(HOSTILE,) * 9,
        failures={HOSTILE: HOSTILE},
        provenance={"versions": {HOSTILE: HOSTILE}},
        methods=HOSTILE,
    )
    return Markers(report_html(result, {}, link=link, command=HOSTILE).decode("utf8"))


@pytest.mark.parametrize(
    "link", ["", HOSTILE, "javascript:alert(1)", f"https://example.org/{HOSTILE}"]
)
def test_hostile_text_stays_text_wherever_a_report_puts_it(link: str) -> None:
    page = hostile(link)
    assert not {"script", "img", "iframe", "object"} & set(page.tags)
    assert {name for name, _ in page.attributes} <= ALLOWED
    links = [value for name, value in page.attributes if name == "href"]
    assert links == ([link] if link.startswith("https://") else [])
    assert (
        page.text.count(HOSTILE) >= 9 + 5
    )  # notices, and study, headline, methods, command, the table's name
    assert "49" not in page.text


def test_a_name_that_was_not_given_is_an_error(tmp_path: Path) -> None:
    template = tmp_path / "greeting.html"
    template.write_text("Hello, {{ name }}.\n", encoding="utf8")
    assert fill(template, name="<b>") == b"Hello, &lt;b&gt;.\n"
    assert fill(template, name=Markup("<b>")) == b"Hello, <b>.\n"
    with pytest.raises(UndefinedError):
        fill(template)


def test_every_template_stands_in_the_frame_and_loads_nothing() -> None:
    templates: list[Any] = [*(ROOT / "core").rglob("*.html"), *(ROOT / "ui").rglob("*.html")]
    assert {path.name for path in templates} >= {
        "page.html",
        "report.html",
        "pair.html",
        "handout.html",
    }
    for path in templates:
        source = path.read_text(encoding="utf8")
        assert path.parent == SHARED or source.startswith('{% extends "page.html" %}'), path
        assert "<script" not in source
        assert "| safe" not in source
