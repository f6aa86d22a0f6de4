"""The price of a study: one that is long or large says what it costs and waits for a button."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.commands.prices import Pricing, advice
from core.errors import PalimpsestError
from core.limits import Limits, current_limits
from core.models.hub.client import RESOLVED_FOR
from core.options import refs_of
from core.results.export import Result
from core.runs.price import duration_text
from core.runs.process.remembered import remembered
from ui.frame.shared import A_MOMENT, MOST
from ui.frame.text import plain
from ui.study.forms import Form
from ui.study.run_panel import AFRESH, ENDED_WITHOUT, Request, is_stored, run_panel


@dataclass(frozen=True)
class WordedPrice:
    """A price in words.

    Attributes:
        asks: Whether the study waits for a button.
        seconds: Its expected duration.
        sentence: The price.
        refused: Why this instance refuses the study; "" if it does not.
    """

    asks: bool
    seconds: float
    sentence: str
    refused: str = ""

    @property
    def takes(self) -> str:
        """Return the duration for a button's label."""
        return f"about {duration_text(self.seconds)}"


def refusal(priced: WordedPrice | None) -> str:
    """Return why this instance refuses the study; "" if it does not, or its price is unknown."""
    return priced.refused if priced is not None else ""


def word_price(name: str, spec: Any, pricing: Pricing, again: bool = False) -> WordedPrice | None:
    """Return a study's price in words; None while the Hub is queried, or if that fails, which the
    panel shows. `again` asks a Hub that could not be reached once more."""
    if not any("hub:" in ref for ref in refs_of(spec)):
        try:
            return _word_price(pricing, spec, current_limits())
        except PalimpsestError:
            return WordedPrice(False, 0.0, "")  # the study itself says what is wrong with it
    now = int(time.monotonic() / RESOLVED_FOR)  # a download and the Hub's answer change a price
    asked = (name, now)
    look = Request("price", spec, lambda progress, signal: _look(pricing, spec), identity=asked)
    looked = run_panel(look, again=again, quiet=True)
    return WordedPrice(**looked.provenance) if looked is not None else None


def priced_panel(
    form: Form[Any], request: Request, pricing: Pricing, *, again: bool | None
) -> Result | None:
    """Run a study as `run_panel` does; if it is large and neither stored nor precomputed, wait for
    a button that says what it costs. `again` is None for the form's button."""
    again = form.pressed if again is None else again
    if opens_at_once(request):
        return run_panel(request, again=again, told=form.aside)
    priced = word_price(request.study, request.spec, pricing, again)

    def stored() -> bool:
        remote = any("hub:" in ref for ref in refs_of(request.spec))
        return not remote and is_stored(request, refused=bool(refusal(priced)))

    if not agreed(form, request.spec, priced, stored):
        return None
    return run_panel(with_price(request, priced), again=again, told=form.aside)


def opens_at_once(request: Request) -> bool:
    """Whether a result opens without the models that it is of, and is not to be recomputed."""
    return request.shelved and request.key not in st.session_state.get(AFRESH, ())


def with_price(request: Request, priced: WordedPrice | None) -> Request:
    """Add to a request how long its study should take, where that is known."""
    return request if priced is None else replace(request, seconds=priced.seconds)


def agreed(
    form: Form[Any], spec: Any, priced: WordedPrice | None, stored: Callable[[], bool]
) -> bool:
    """Whether a study may start: at once if it is small or stored, otherwise after its button was
    pressed. It waits while the price is unknown."""
    accepted: set[Any] = st.session_state.setdefault(form.address.key("agreed to"), set())
    if priced is None:
        return False
    if not (priced.refused or (priced.asks and spec not in accepted)) or stored():
        return True
    st.session_state[ENDED_WITHOUT] = bool(priced.refused)
    if priced.refused:
        st.error(plain(priced.refused), icon=":material/error:")
        return False
    st.markdown(plain(priced.sentence))
    st.button(
        f"Start, {priced.takes}",
        type="primary",
        icon=":material/play_arrow:",
        help="Starts the study. You can cancel it at any time; what was computed is kept, and a "
        "later run resumes.",
        on_click=accepted.add,
        args=(spec,),
    )
    return False


@remembered(MOST, seconds=A_MOMENT)
def _word_price(pricing: Pricing, spec: Any, limits: Limits) -> WordedPrice:
    """Price a study under an instance's limits, which a price reads for itself."""
    price = pricing(spec)
    refused = price.refusal(advice(pricing, spec, price.excess)) if price.excess else ""
    return WordedPrice(price.asks, price.seconds, price.sentence, refused)


def _look(pricing: Pricing, spec: Any) -> Result:
    import pandas as pd

    priced = _word_price(pricing, spec, current_limits())
    return Result("price", {}, priced.sentence, {"price": pd.DataFrame()}, provenance=vars(priced))
