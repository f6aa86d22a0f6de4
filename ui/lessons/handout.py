"""A lesson on paper: one HTML file that prints on two pages, the answers last, on a page of their own."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup, escape

from core.results.templates import fill
from ui.lessons.lesson import Lesson

TEMPLATE = Path(__file__).with_name("handout.html")


def handout(lesson: Lesson) -> bytes:
    """The lesson as HTML: nothing in it runs or loads."""
    return fill(TEMPLATE, lesson=lesson, marked=marked)


def marked(markdown: str) -> Markup:
    """Text of a lesson, whose only markup is **bold** and *emphasis*."""
    bold = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", str(escape(markdown)))
    return Markup(re.sub(r"\*([^*]+)\*", r"<i>\1</i>", bold))
