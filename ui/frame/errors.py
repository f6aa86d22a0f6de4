"""How errors are shown: as a sentence if users can fix them, as a traceback for bugs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.errors import PalimpsestError, explained
from core.limits import current_limits
from ui.frame.text import plain

APOLOGY = (
    "Something went wrong in Palimpsest itself. The details are in the server's log. "
    "Change a setting or run the study again; that may avoid the problem."
)


def show_error(error: BaseException) -> None:
    """Show an error at this place of the page: expected ones as a sentence, bugs with a traceback
    unless shared."""
    error = explained(error)
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
