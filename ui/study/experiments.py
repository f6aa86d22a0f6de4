"""An experiment beside a page's study: options of its own, and a button that starts what takes long."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.commands.pricing import Pricing
from core.options import Spec
from ui.frame.text import plain
from ui.study.forms import Form
from ui.study.price import Said, say
from ui.study.run_panel import is_stored, run_panel

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from ui.study.jobs import Work

HELP = "On two idle cores; what was computed before is quick."


def started(
    form: Form[Any],
    view: str,
    own: Iterable[str],
    asked: Spec | None,
    said: Said | None,
    stored: Callable[[Any], bool],
) -> bool | None:
    """Draw the experiment's controls: on the page until it has been started, then behind a button of the view's row.

    What is all in the store, or came with the box, or is quick, needs no start.

    Args:
        form: The page's; the options are in its address.
        view: The view that the experiment is.
        own: Names of the options, in the address.
        asked: What the controls hold, None where that is no study.
        said: Its price; None where there is none to say.
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
            f"Run, {said.takes}" if said is not None else "Run",
            icon=":material/play_arrow:",
            help=plain(said.sentence) if said is not None and said.asks else HELP,
            on_click=state.__setitem__,
            args=(pressed_key, True),
        )
    return pressed if asked in known else None


def result_of(
    form: Form[Any],
    view: str,
    own: Iterable[str],
    asked: Spec | None,
    run: Work,
    *,
    pricing: Pricing,
    name: str,
    identity: Hashable,
    waiting: str,
    aside: DeltaGenerator,
    icon: str | None = None,
) -> Result | None:
    """The experiment's controls, and its result where it has been started or everything is there already.

    Args:
        form, view, own, asked: As for `started`.
        pricing: Of the study.
        run, name, identity: As for `run_panel`.
        waiting: What stands below the controls until it has been started, with this `icon`.
        aside: Where the line about the numbers' origin stands.
    """

    def stored(asked: Any) -> bool:
        return is_stored(name, asked, run, identity=identity)

    said = say(name, asked, pricing, form.pressed) if asked is not None else None
    pressed = started(form, view, own, asked, said, stored)
    if asked is None:
        return None
    if pressed is None:
        st.info(waiting, icon=icon)
        if said is not None and said.asks:
            st.markdown(plain(said.sentence))
        return None
    if said is not None and said.refused and not stored(asked):
        st.error(plain(said.refused), icon=":material/error:")
        return None
    return run_panel(name, asked, run, identity=identity, again=pressed, told=aside)
