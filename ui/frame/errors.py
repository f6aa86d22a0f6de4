"""How errors are shown: as a sentence if users can fix them, as a traceback for bugs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import streamlit as st

from core.errors import PalimpsestError, by_number, readable_error
from core.limits import current_limits
from ui.frame.text import plain

if TYPE_CHECKING:
    from core.results.export import Result

APOLOGY = (
    "Something went wrong in Palimpsest itself. The details are in the server's log. "
    "Change a setting or run the study again; that may avoid the problem."
)


def show_error(error: BaseException) -> None:
    """Show an error at this place of the page: expected ones as a sentence, bugs with a traceback
    unless shared."""
    error = readable_error(error)
    if isinstance(error, PalimpsestError):
        st.error(plain(str(error)), icon=":material/error:")
        return
    logging.getLogger(__name__).error("a page failed", exc_info=error)
    if current_limits().shared:
        st.error(APOLOGY, icon=":material/error:")
    else:
        st.exception(error)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what is raised inside with `show_error`, and go on with the rest of the page."""
    try:
        yield
    except Exception as error:
        show_error(error)


def show_failures(result: Result) -> None:
    """Say what was left out of a result, and why."""
    for names, sentence in by_cause(result.failures).items():
        were, who = by_number(len(names), "was", "were"), ", ".join(names)
        reason = sentence.replace(f"{who} is ", "it is ", 1)
        st.warning(
            f"**{plain(who)}** {were} left out: {plain(reason)}",
            icon=":material/warning:",
        )


def by_cause(failures: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Group failed tasks by their reason: names -> the reason in one sentence."""
    causes: dict[str, list[str]] = {}
    for name, reason in failures.items():
        causes.setdefault(reason.replace(name, "it"), []).append(name)
    return {tuple(names): failures[names[0]] for names in causes.values()}
