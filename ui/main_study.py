"""A page's main study, which all pages of studies show alike.

    form.draw(controls)
    spec, view = asked_for(form)  # or the view of an experiment, which ends the page
    result = main_result(form, spec, refs, form.texts, name="RSA")
    ...                           # what only this page draws
    conclude(form, spec, result)

`studied` alone is for a study that a view asks for beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import streamlit as st

from core.options import Spec
from ui import lessons
from ui.choosing.folders import folder_picker
from ui.frame import presenting
from ui.frame.identity import contents
from ui.study import pins
from ui.study.experiments import show_experiment
from ui.study.forms import Form
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method
from ui.study.run_panel import request_of

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import Study, View

S = TypeVar("S", bound=Spec)


def asked_for(
    form: Form[S], below: Callable[[], None] | None = None, **fixed: Any
) -> tuple[S, View]:
    """Return the spec that a drawn form asks for, with the `fixed` options, and the view that is
    shown; end the page without a valid spec, before a lesson's guess, and after an experiment's
    view."""
    folder_picker(form)
    if below is not None:
        with form.fold:
            below()
    spec = form.spec(**fixed)
    if spec is None:
        st.stop()
    presenting.show_keys(form.address, leave_only=lessons.waiting(form.address))
    lessons.predict(form.address)
    view = form.view()
    if form.experiment is not None:
        show_experiment(form, form.experiment, spec)
        st.stop()
    return spec, view


def studied(
    form: Form[Any],
    study: Study,
    spec: Any,
    refs: Sequence[str],
    texts: Mapping[str, bytes] | None = None,
    *,
    name: str,
    again: bool | None = None,
) -> Result | None:
    """Return a study's result, asked for from a page; None while there is none, with the reason on
    the page. `texts` are uploads, by the name that the spec has for them."""
    identity = contents(*refs, texts=texts)
    request = request_of(study, spec, texts, name=name, identity=identity)
    return priced_panel(form, request, study.price, again=again)


def main_result(
    form: Form[S],
    spec: S,
    refs: Sequence[str],
    texts: Mapping[str, bytes],
    *,
    name: str,
    reads: S | None = None,
) -> Result:
    """Return the result of a page's main study; end the page where there is none, or nothing in it.
    `reads` is the spec whose line says how many sentences were read, where that is another."""
    result = studied(form, form.study, spec, refs, texts, name=name)
    if result is None:
        form.without_result()
    form.say_read(reads or spec, result)
    if result.table.empty:
        without_figure(form, reads or spec, result)
    return result


def without_figure(form: Form[S], spec: S, result: Result) -> NoReturn:
    """End the page below the headline of a result in which there is nothing to draw."""
    show_headline(form, result)
    form.unfold(spec)
    st.stop()


def conclude(form: Form[S], spec: S, result: Result) -> None:
    """Draw what stands below a page's figure: the pinned result, the lesson's end, the method."""
    pins.beside(form, spec, result)
    lessons.conclude(form.address, result)
    show_method(result, form.study)
