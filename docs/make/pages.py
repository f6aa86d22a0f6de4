"""All pages and figures that the build makes, by their place, and the marks of written pages."""

from __future__ import annotations

from collections.abc import Callable

from core.catalogue import STUDIES
from docs.make.figures import figures_of, precomputed
from docs.make.formulas import with_formulas
from docs.make.models import cards_page, licences, models_table
from docs.make.numbers import with_numbers
from docs.make.studies import (
    by_room,
    gallery_page,
    image_of,
    index_page,
    page_of,
    study_page,
)

MARKS: dict[str, Callable[[], str]] = {
    "<!-- made: models -->": models_table,
    "<!-- made: licences -->": licences,
}
"""A line of a written page -> what stands in its place."""


def made_pages() -> dict[str, str]:
    """Write every page that is made from the code: its place -> its Markdown."""
    pages = {page_of(name): study_page(name) for name in STUDIES}
    return pages | {
        "studies/index.md": index_page(),
        "gallery.md": gallery_page(),
        "model-cards.md": cards_page(),
    }


def made_images() -> dict[str, bytes]:
    """Draw every figure of a study: its place -> SVG."""
    return {
        image_of(name, figure): figure.svg for name in precomputed() for figure in figures_of(name)
    }


def studies_navigation() -> list[object]:
    """List the pages of all studies as MkDocs' navigation wants them, by page of the app."""
    rooms = ({room: [page_of(name) for name in names]} for room, names in by_room().items())
    return ["studies/index.md", *rooms]


def filled(markdown: str) -> str:
    """Put what is made in the place of a page's marks, today's numbers in the place of those that
    are marked, and MathML in the place of its formulas."""
    for mark, make in MARKS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    return with_formulas(with_numbers(markdown))
