"""An experiment beside a page's study: options of its own, and a button that starts what takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from core.options import Spec
from ui.forms import Form


def started(
    form: Form[Any],
    view: str,
    own: Iterable[str],
    asked: Spec | None,
    takes: str,
    stored: Callable[[Any], bool],
) -> bool | None:
    """Draw the experiment's controls: on the page until it has been started, then behind a button of the view's row.

    What is all in the store, or came with the box, or is quick, needs no start.

    Args:
        form: The page's; the options are in its address.
        view: The view that the experiment is.
        own: Names of the options, in the address.
        asked: What the controls hold, None where that is no study.
        takes: About how long it takes, in words.
        stored: Whether the numbers of what is asked for are there already, or soon will be.

    Returns:
        Whether its button was just pressed, None where it has not been started.
    """
    state, pressed_key = st.session_state, form.address.key(f"{view} pressed")
    known: set[Spec] = state.setdefault(form.address.key("started"), set())
    pressed = bool(state.pop(pressed_key, False))
    if asked is not None and asked not in known and (pressed or stored(asked)):
        known.add(asked)
    place = st.container()
    if asked in known:  # the figure gets the room
        place = form.bar.popover("Settings", icon=":material/tune:", help="Options of this experiment alone.")
    with place, st.form(form.address.key(view), border=False):
        for name in own:
            form.control(name, anew=True)
        st.form_submit_button(
            f"Run, {takes}",
            icon=":material/play_arrow:",
            help="On two idle cores; what was computed before is quick.",
            on_click=state.__setitem__,
            args=(pressed_key, True),
        )
    return pressed if asked in known else None
