"""How errors look: a sentence for what a user can mend, loud for bugs at home, polite for bugs in shared mode."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.errors import PalimpsestError
from core.limits import current_limits
from ui.frame.text import plain

APOLOGY = (
    "Something went wrong that is not your doing. The details are in the server's log; "
    "changing a setting or running the study again may get round it."
)


def show_error(error: BaseException) -> None:
    """Show an error where the page stands: expected ones as a sentence, bugs with their trace unless shared.

    Raises:
        BaseException: The error itself, if it is a bug and the app is not in shared mode.
    """
    if isinstance(error, PalimpsestError):
        st.error(plain(str(error)), icon=":material/error:")
    elif current_limits().shared:
        logging.getLogger(__name__).error("a page failed", exc_info=error)
        st.error(APOLOGY, icon=":material/error:")
    else:
        raise error


@contextmanager
def errors_shown() -> Iterator[None]:
    """Whatever is raised inside is shown by `show_error`; the rest of the page goes on."""
    try:
        yield
    except Exception as error:
        show_error(error)
