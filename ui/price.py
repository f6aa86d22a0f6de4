"""A study that takes long, or downloads much, says so and waits for a button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.errors import SpecError
from core.options import Spec
from core.results.export import Result
from core.runs.price import Price, length
from ui.forms import Form
from ui.run_panel import run_panel
from ui.text import plain


def agreed(form: Form[Any], spec: Spec, price: Callable[[Any], Price], stored: Callable[[], bool] | None) -> bool:
    """Whether a study may start: at once where it is small, else behind a button that says what it costs.

    Args:
        form: The page's.
        spec: What is asked for.
        price: Of the study.
        stored: Whether its numbers are all there already, so that it costs nothing. None where a model is on the hub:
            looking might then begin to download, and the price, which asks the hub, runs as a study does.
    """
    known: set[Spec] = st.session_state.setdefault(form.address.key("agreed to"), set())
    if spec in known:
        return True
    if stored is None:
        looked = run_panel(
            "price", spec, lambda progress, cancel: _look(spec, price), identity="price", again=form.pressed, quiet=True
        )
        if looked is None:
            return False
        asks, seconds, sentence = looked.provenance["asks"], looked.provenance["seconds"], looked.headline
    else:
        try:
            found = price(spec)
        except SpecError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return False
        asks, seconds, sentence = found.asks and not stored(), found.seconds, found.sentence
    if asks:
        st.markdown(plain(sentence))
        st.button(
            f"Start, about {length(seconds)}",
            type="primary",
            icon=":material/play_arrow:",
            help="It can be cancelled; what was computed is kept, and the same study goes on from there.",
            on_click=known.add,
            args=(spec,),
        )
    return not asks


def _look(spec: Spec, price: Callable[[Any], Price]) -> Result:
    import pandas as pd

    found = price(spec)
    about = {"asks": found.asks, "seconds": found.seconds}
    return Result("price", spec.plain(), found.sentence, {"price": pd.DataFrame()}, provenance=about)
