"""The handout of a lesson: one HTML file that prints on two pages, answers last."""

from __future__ import annotations

from pathlib import Path

from core.results.templates import fill, marked
from ui.frame.shell import PAGES
from ui.lessons.lesson import Lesson

TEMPLATE = Path(__file__).with_name("handout.html")


def handout(lesson: Lesson) -> bytes:
    """Write the lesson as HTML without scripts or external files."""
    page = next(entry.title for entry in PAGES if entry.path == lesson.path)
    return fill(TEMPLATE, lesson=lesson, page=page, marked=marked)
