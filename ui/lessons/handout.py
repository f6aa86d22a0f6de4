"""A lesson on paper: one HTML file that prints on two pages, the answers last, on a page of their own."""

from __future__ import annotations

import html
import re

from ui.lessons.lesson import Lesson

_STYLE = """<style>
body { font: 11.5pt/1.45 "Source Serif 4", "Source Serif Pro", Georgia, serif; max-width: 17cm; margin: 1.5cm auto; }
h1 { font-size: 18pt; font-weight: 500; margin: 0 0 .3cm; } h2 { font-size: 13pt; margin: .6cm 0 .2cm; }
.line { border-bottom: 1px solid #999; height: .9cm; } li { margin-bottom: .2cm; } .faint { color: #555; }
.answers { break-before: page; } @page { margin: 1.8cm; } @media print { body { margin: 0; max-width: none; } }
</style>"""


def handout(lesson: Lesson) -> bytes:
    """The lesson as HTML: nothing in it runs or loads."""
    parts = [
        f"<h1>{_text(lesson.title)}</h1>",
        f"<p class=faint>Palimpsest, {lesson.minutes} minutes. Name:</p>",
        f"<p>{_text(lesson.background)}</p>",
        "<h2>1. Predict</h2>",
        f"<p>{_text(lesson.guess.question)}</p><p>My guess, and why:</p>",
        *["<div class=line></div>"] * 3,
        "<h2>2. Look</h2>",
        "<p>Open the lesson, enter your guess, and read the figure. It is (copy the number):</p><div class=line></div>",
        "<h2>3. Explain</h2>",
        "<p>What could make it so, and what else could?</p>",
        *["<div class=line></div>"] * 4,
        "<h2>4. Try</h2>",
        "<ol>",
        *(f"<li><b>{_text(one.label)}.</b> {_text(one.look_for)}</li>" for one in lesson.tries),
        "</ol>",
        "<h2>5. Five questions</h2>",
        "<ol>",
        *(f"<li>{_text(one.text)}</li>" for one in lesson.questions),
        "</ol>",
        "<section class=answers>",
        "<h2>Answers</h2>",
        f"<p>{_text(lesson.explain)}</p>",
        "<ol>",
        *(f"<li>{_text(one.answer)}</li>" for one in lesson.questions),
        "</ol></section>",
    ]
    title = html.escape(lesson.title)
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{_STYLE}<body>'
    return (page + "\n".join(parts) + "</body></html>\n").encode("utf8")


def _text(markdown: str) -> str:
    """Text of a lesson, whose only markup is **bold** and *emphasis*."""
    escaped = html.escape(markdown, quote=False)
    bold = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", escaped)
    return re.sub(r"\*([^*]+)\*", r"<i>\1</i>", bold)
