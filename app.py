"""Palimpsest: what fine-tuning and pretraining seeds do to a Transformer. `streamlit run
app.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.limits import current_limits, share_beyond_loopback
from core.runs.process.cores import share_cores
from core.runs.process.memory import give_back_large_blocks
from ui.browser.guide import show_guide
from ui.browser.saved import show_saved
from ui.frame.errors import errors_shown
from ui.frame.presenting import show_present_button
from ui.frame.process import freeze_heavy_imports
from ui.frame.recent import show_links
from ui.frame.shell import WIDTH, asks, entry_of, navigation, show_logo, show_sidebar
from ui.frame.uploads import limit_uploads
from ui.study.run_panel import forget_watched


@st.cache_resource(show_spinner=False)
def _start() -> None:
    """Set up the process once: cores, memory, imports that the garbage collector skips."""
    share_cores()
    give_back_large_blocks()
    freeze_heavy_imports()


share_beyond_loopback(st.get_option("server.address"))
st.set_option("client.showErrorDetails", "none" if current_limits().shared else "full")
limit_uploads()
_start()

page = navigation()
entry = entry_of(page)
frame: list[Callable[[], object]] = [show_logo, show_sidebar, partial(show_links, entry)]
if asks(entry):
    frame += [show_present_button, show_saved, show_guide]
for draw in frame:
    with errors_shown():  # the page itself is drawn all the same
        draw()
forget_watched()
with st.container(horizontal_alignment="center"), st.container(width=WIDTH), errors_shown():
    page.run()
