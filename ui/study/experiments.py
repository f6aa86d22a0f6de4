"""An experiment: a study that has a view beside its page's own, with options of its own and a button that starts it.

A page says in an `Experiment` which options are the experiment's own, which it shares with the page's form and how its
panels are drawn; `show_experiment` is the view of every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Spec
from ui.frame.identity import contents
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.experiment import Experiment, Shown
from ui.study.forms import Form, sentence_of
from ui.study.price import Said, say
from ui.study.results import show_charts, show_headline, show_method, show_table
from ui.study.run_panel import is_stored, run_panel

if TYPE_CHECKING:
    from core.results.export import Result

HELP = "On two idle cores; what was computed before is quick."


def views_of(experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """The views that experiments are, with what each of them tells."""
    return {view: experiment.study.purpose for view, experiment in experiments.items()}


def show_experiment(form: Form[Any], experiment: Experiment, spec: Spec) -> None:
    """The whole view: controls and the button with its price, then headline, charts, downloads, tables and method.

    Args:
        form: The page's.
        experiment: What is shown.
        spec: The page's study, with which it shares options.
    """
    if problem := experiment.problem(spec):
        st.info(problem, icon=":material/info:")
        return
    study = experiment.study
    try:
        asked: Spec | None = experiment.asked(form.address, spec)
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        asked = None
    result = _result_of(form, experiment, asked)
    if result is None:
        return
    if result.table.empty:
        show_headline(result, bar=form.bar)
        return
    headline = st.container()  # what it says may depend on controls below it
    if experiment.shown is not None:
        shown = experiment.shown(form.address, result)
    else:
        shown = Shown(lambda *, context: [*study.figures(result, context).values()], result.tables)
    with headline:
        show_headline(result, shown.sentence, form.bar)
    if not show_charts(shown.charts, key=study.name, alt_text=result.headline, result=result, view=shown.view):
        return
    view = (study.name, shown.view)
    show_downloads(result, shown.charts, lambda: study.figures(result), table=experiment.table, view=view)
    for name, table in shown.tables.items():
        show_table(table, name)
    show_method(result, study)


def _result_of(form: Form[Any], experiment: Experiment, asked: Spec | None) -> Result | None:
    """The experiment's controls, and its result where it has been started or everything is there already.

    Args:
        form, experiment: As for `show_experiment`.
        asked: What is asked for; None where that is no study.
    """
    study, texts = experiment.study, form.texts

    def run(progress: Any, signal: Any) -> Any:
        return study.run(asked, texts, progress=progress, signal=signal)

    if asked is None:
        _controls(form, experiment, None, None, lambda: False)
        return None
    identity = (form.identity, contents(*experiment.models(asked)))
    said = say(study.name, asked, study.price, form.pressed)

    def stored() -> bool:
        return is_stored(study.name, asked, run, identity=identity)

    pressed = _controls(form, experiment, asked, said, stored)
    if pressed is None:
        st.info(f"{sentence_of(study.purpose)} It starts when you press its button.")
        if said is not None and said.asks:
            st.markdown(plain(said.sentence))
        return None
    if said is not None and said.refused and not stored():
        st.error(plain(said.refused), icon=":material/error:")
        return None
    return run_panel(study.name, asked, run, identity=identity, again=pressed, told=form.aside)


def _controls(
    form: Form[Any], experiment: Experiment, asked: Spec | None, said: Said | None, stored: Callable[[], bool]
) -> bool | None:
    """Draw the experiment's controls: on the page until it has been started, then behind a button of the view's row.

    What is all in the store, or came with the box, needs no start.

    Args:
        form, experiment, asked: As for `_result_of`.
        said: Its price; None where there is none to say.
        stored: Whether the numbers of what is asked for are there already.

    Returns:
        Whether its button was just pressed, None where it has not been started.
    """
    state, name = st.session_state, experiment.study.name
    pressed_key = form.address.key(f"{name} pressed")
    started: set[Spec] = state.setdefault(form.address.key("started"), set())
    pressed = bool(state.pop(pressed_key, False))
    if asked is not None and asked not in started and (pressed or stored()):
        started.add(asked)
    place = st.container()
    if asked in started:  # the figure gets the room
        if not experiment.own:
            return pressed
        place = form.bar.popover("Settings", icon=":material/tune:", help="Options of this experiment alone.")
    with place, st.form(form.address.key(name), border=False):
        for option in experiment.own:
            form.control(option, anew=True)
        st.form_submit_button(
            f"Run, {said.takes}" if said is not None else "Run",
            icon=":material/play_arrow:",
            help=plain(said.sentence) if said is not None and said.asks else HELP,
            on_click=state.__setitem__,
            args=(pressed_key, True),
        )
    return pressed if asked in started else None
