"""A page and what stands round it: what Streamlit runs for each visitor and each change."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import streamlit as st
from streamlit import runtime

from core.limits import current_limits, share_beyond_loopback
from ui.archive.reports import serves_reports
from ui.browser.saved import show_saved
from ui.browser.scripts import install_scripts
from ui.frame.errors import errors_shown
from ui.frame.presenting import show_present_button
from ui.frame.process import freeze_heavy_imports
from ui.frame.recent import show_links
from ui.frame.shell import WIDTH, asks, entry_of, navigation, show_logo, show_sidebar
from ui.frame.uploads import limit_uploads
from ui.server.start import prepare_process
from ui.study.run_panel import forget_watched


@cache
def _start() -> None:
    """Set up the process: cores, memory, imports that the garbage collector skips."""
    prepare_process()
    freeze_heavy_imports()


def _names_are_checked() -> bool:
    """Whether no page elsewhere can reach this: a server without ui/server/hosts.py is shared."""
    served = runtime.exists() and type(runtime.get_instance()) is runtime.Runtime  # no AppTest
    return serves_reports() or not served


def draw_page() -> None:
    """Draw the page that was asked for, with navigation, sidebar and logo."""
    share_beyond_loopback(st.get_option("server.address") if _names_are_checked() else None)
    st.set_option("client.showErrorDetails", "none" if current_limits().shared else "full")
    limit_uploads()
    _start()

    page = navigation()
    entry = entry_of(page)
    frame: list[Callable[[], None]] = [show_logo, show_sidebar, partial(show_links, entry)]
    if asks(entry):
        frame += [show_present_button, show_saved, install_scripts]
    for draw in frame:
        with errors_shown():  # the page itself is drawn in any case
            draw()
    forget_watched()
    with st.container(horizontal_alignment="center"), st.container(width=WIDTH), errors_shown():
        page.run()
