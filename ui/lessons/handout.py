"""A lesson on paper: one HTML file that prints on two pages, the answers last, on a page of their own."""

from __future__ import annotations

from pathlib import Path

from core.results.templates import fill, marked
from ui.lessons.lesson import Lesson

TEMPLATE = Path(__file__).with_name("handout.html")


def handout(lesson: Lesson) -> bytes:
    """The lesson as HTML: nothing in it runs or loads."""
    return fill(TEMPLATE, lesson=lesson, marked=marked)
