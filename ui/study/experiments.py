"""The view of an experiment: its options, the button that starts it, and its result.

An `Experiment` says which options are its own, which it shares with the page's form, and how its
panels are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.models.references import is_of_revisions
from core.options import Spec, refs_of
from ui.frame.identity import contents
from ui.frame.presenting import show_reading
from ui.frame.text import plain
from ui.study.downloads import slug
from ui.study.experiment import Experiment, reason_of
from ui.study.forms import Form
from ui.study.price import WordedPrice, opens_at_once, refusal, with_price, word_price
from ui.study.results import show_figure, show_headline, show_method, show_rows, view_headline
from ui.study.run_panel import is_stored, request_of, run_panel

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.frame.links import Address

START = "Press Run to start it."
HELP = "Starts the experiment. The time is for two idle cores; stored results take seconds."


def show_experiment(form: Form[Any], experiment: Experiment, spec: Spec) -> None:
    """Draw the view: controls and the Run button, then headline, charts, downloads, tables and
    method."""
    study, result = experiment.study, experiment_result(form, experiment, spec)
    if result is None:
        return
    if result.table.empty:
        show_headline(form, result)
        return
    view = experiment.view
    show_reading(view.how_to_read)
    headline = st.container()  # the headline may depend on controls below it
    choose = experiment.choose or partial(choose_titled, experiment)
    choices = choose(form.address, result)
    with headline:
        show_headline(form, result, view_headline(result, view, *choices))
    if show_figure(
        result,
        view,
        *choices,
        figures=study.figures,
        key=study.name,
        name=slug((study.name, *choices)),
        below=experiment.below and partial(experiment.below, form.address),
        form=form,
        moves=experiment.moves,
    ):
        show_rows(result, view, *choices)
        show_method(result, study)


def choose_titled(experiment: Experiment, address: Address, result: Result) -> tuple[str, ...]:
    """Ask for one of the choices that the experiment's view offers; for nothing where it offers
    none."""
    offered = experiment.view.offered(result)
    if not offered:
        return ()
    chosen = st.segmented_control(
        experiment.view.asked,
        list(offered),
        default=experiment.view.opening(result),
        required=True,
        key=address.key(f"{experiment.study.name} shown"),
        format_func=offered.__getitem__,
        label_visibility="collapsed",
    )
    return (str(chosen),)


def experiment_result(form: Form[Any], experiment: Experiment, spec: Spec) -> Result | None:
    """Draw the controls and the Run button; return the result if it was started or is stored."""
    if problem := experiment.problem(spec):
        st.info(problem, icon=":material/info:")
        return None
    try:
        asked: Spec | None = experiment.asked(form.address, spec)
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        asked = None
    return _result_of(form, experiment, asked)


def _result_of(form: Form[Any], experiment: Experiment, asked: Spec | None) -> Result | None:
    """Draw the experiment's controls; return its result if it has been started or is stored.
    `asked` is None where the values are invalid."""
    study = experiment.study
    if asked is None:
        _controls(form, experiment, None, None, lambda: False)
        return None
    named = refs_of(asked)  # where the Hub has to list revisions, the study asks it, not the page
    models = named if any(map(is_of_revisions, named)) else experiment.models(asked)
    identity = contents(*models, texts=form.texts)
    request = request_of(study, asked, form.texts, identity=identity)
    priced = None
    if not opens_at_once(request):
        priced = word_price(study.name, asked, study.price, form.pressed)

    def stored() -> bool:
        return is_stored(request, refused=bool(refusal(priced)))

    pressed = _controls(form, experiment, asked, priced, stored)
    if pressed is None:
        form.aside.empty()  # it may say where another study's result comes from
        st.info(f"{plain(reason_of(study))} {START}")
        if priced is not None and priced.asks:
            st.markdown(plain(priced.sentence))
        return None
    if (refused := refusal(priced)) and not stored():
        st.error(plain(refused), icon=":material/error:")
        return None
    return run_panel(with_price(request, priced), again=pressed, told=form.aside)


def _controls(
    form: Form[Any],
    experiment: Experiment,
    asked: Spec | None,
    priced: WordedPrice | None,
    stored: Callable[[], bool],
) -> bool | None:
    """Draw the experiment's controls: on the page until it has been started, then in a popover of
    the views' row. Return whether the Run button was just pressed; None if it has not been
    started."""
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
        place = form.settings = form.bar.popover(
            "Settings",
            icon=":material/tune:",
            help="Changes the options of this experiment only, and what is drawn of it.",
        )
    with place, st.form(form.address.key(name), border=False):
        for option in experiment.own:
            form.control(experiment.key(option.name), anew=True)
        st.form_submit_button(
            f"Run, {priced.takes}" if priced is not None else "Run",
            icon=":material/play_arrow:",
            help=plain(priced.sentence) if priced is not None and priced.asks else HELP,
            on_click=state.__setitem__,
            args=(pressed_key, True),
        )
    return pressed if asked in started else None
