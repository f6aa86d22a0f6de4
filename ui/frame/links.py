"""The page's address and its widgets hold the same values: a link reopens a study, the back button
returns to one.

Widget keys belong to a page (`rsa/base`); the address uses the options' names (`?base=`). Streamlit
can bind widgets to the address itself, but it uses the key as the name, so that pages whose options
share a name would share a value. The page therefore reads and writes the address itself, once per
run, before its widgets are drawn. An address is untrusted: every value passes its option's check;
what is refused is ignored, with the option's own error message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option, Spec, flag, names
from ui.frame.text import plain, quote

PAGE = "page shown"
MOST_NAMES = 64  # models that a link may rename
# Views of version 0.4 by their names of today: links of that version are still read.
FORMER_VIEWS: Mapping[str, str] = {
    "Layers exchanged": "Layer swap",
    "Known truth": "Benchmark with known answers",
}
Refused = dict[str, str]


@dataclass(frozen=True)
class Manner(Spec):
    """How a page is shown, whatever its study: in every page's address."""

    lesson: bool = flag(
        "Lesson",
        False,
        help="Opens the page's lesson: predict, look, compare, explain.",
    )
    present: bool = flag(
        "Presentation",
        False,
        help="Shows large letters and no form; the arrow keys change view.",
    )
    names: tuple[str, ...] = names("Names", most=MOST_NAMES, help="What figures call models.")


def base_path() -> str:
    """Return the path below which the server answers: "" or, say, "/palimpsest"."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


class Address:
    """The options of one page, as its address and its widgets hold them."""

    def __init__(self, page: str, options: Iterable[Option]) -> None:
        """Take the options of the study and those of the display (view, layer)."""
        self.page = page
        self.options = {option.name: option for option in options}

    def key(self, name: str) -> str:
        """Return the widget key of an option of this page."""
        return f"{self.page}/{name}"

    def __getitem__(self, name: str) -> Any:
        """Return the option's value: checked if from the address, as typed if from a widget."""
        return st.session_state[self.key(name)]

    def open(self) -> None:
        """Synchronise address and widgets; call it once per run, before the widgets."""
        state = st.session_state
        entered = state.get(PAGE) != self.page
        state[PAGE] = self.page
        given = {name: st.query_params.get_all(name) for name in st.query_params}
        if entered or given != state.get(self._own("address")):
            values, state[self._own("refused")] = self._read(given)
            state[self._own("proposed")] = {}
        else:
            kept = state[self._own("values")]
            values = {name: state.get(self.key(name), kept[name]) for name in self.options}
        for name, value in values.items():
            if self.key(name) not in state or state[self.key(name)] != value:
                state[self.key(name)] = value
        self._write(values, always=entered)
        for sentence in state.get(self._own("refused"), {}).values():
            st.warning(sentence, icon=":material/link_off:")

    def update(self) -> None:
        """Write the widgets' values into the address; for a fragment, which skips `open`."""
        kept = st.session_state[self._own("values")]
        self._write(
            {name: st.session_state.get(self.key(name), kept[name]) for name in self.options}
        )

    def tell(self, name: str) -> None:
        """Send the option's value to the browser again, before its widget is drawn."""
        st.session_state[self.key(name)] = st.session_state[self.key(name)]

    def set(self, name: str, value: Any) -> None:
        """Set an option to another value, before its widget is drawn."""
        self.take({name: value})

    def pass_by(self, name: str, value: Any) -> None:
        """Give an option an intermediate value, before its widget is drawn: no step of the back
        button."""
        st.session_state[self.key(name)] = value
        self.chosen(name)

    def take(self, values: Mapping[str, Any]) -> None:
        """Set several options at once, which makes one step for the browser's back button."""
        for name, value in values.items():
            st.session_state[self.key(name)] = value
            self.chosen(name)
        self.update()

    def propose(self, name: str, value: Any) -> None:
        """Set an option to the page's own choice, before its widget is drawn; the address omits it.

        A value that nobody chose makes no step for the browser's back button.
        """
        st.session_state[self.key(name)] = value
        st.session_state[self._own("proposed")][name] = value

    def proposed(self, name: str) -> Any:
        """Return the page's own choice; None if there is none or the user has chosen."""
        return st.session_state[self._own("proposed")].get(name)

    def chosen(self, name: str) -> None:
        """Note that the user has chosen the option's value: from here on it is in the address."""
        st.session_state[self._own("proposed")].pop(name, None)

    def among(self, name: str, offered: Collection[Any], otherwise: Any) -> Any:
        """Return the option's value if it is offered; otherwise fall back, with a warning if the
        link asked for it.

        Call it before the option's widget is drawn, which then offers `offered` and `otherwise`.
        """
        value = self[name]
        if value in offered or value == otherwise:
            return value
        self.announce_missing(name)
        self.set(name, otherwise)
        return otherwise

    def announce_missing(self, name: str) -> None:
        """Warn that this study does not have the option's value, if the link asked for it."""
        value = self[name]
        if value != self.options[name].default:
            st.warning(
                f"The link asks for {quote(str(value))}, which this study does not have. It is "
                "ignored.",
                icon=":material/link_off:",
            )

    def forget_refused(self) -> None:
        """Forget the refused values of the link, once the user has made a choice."""
        st.session_state.pop(self._own("refused"), None)

    def query(self, values: Mapping[str, Any]) -> dict[str, list[str]]:
        """Write the values as an address: only valid ones that differ from the default."""
        return {
            name: option.write(values[name])
            for name, option in self.options.items()
            if name in values
            and _final(values[name]) != option.default
            and option.write(values[name])
            and _allowed(option, values[name])
        }

    def _own(self, what: str) -> str:
        return f"{self.page}//{what}"

    def _read(self, given: Mapping[str, list[str]]) -> tuple[dict[str, Any], Refused]:
        values, refused = {}, {}
        for name, option in self.options.items():
            value, texts = option.default, given.get(name)
            if texts and name == "view":
                texts = [FORMER_VIEWS.get(text, text) for text in texts]
            if texts:
                value, problem = _read_option(option, texts)
                if problem:
                    refused[name] = problem
            values[name] = list(value) if isinstance(value, tuple) else value
        return values, refused

    def _write(self, values: dict[str, Any], always: bool = False) -> None:
        st.session_state[self._own("values")] = values
        proposed = st.session_state[self._own("proposed")]
        wanted = self.query(
            {name: value for name, value in values.items() if proposed.get(name) != value}
        )
        given = {name: st.query_params.get_all(name) for name in st.query_params}
        if always or wanted != given:
            # Even if nothing seems to differ: what another page's last run sent may not have
            # arrived yet.
            st.query_params.from_dict(wanted)
        st.session_state[self._own("address")] = wanted


def _read_option(option: Option, texts: list[str]) -> tuple[Any, str]:
    """Read the option's value; the second part says what was refused, and why.

    Of several values those that are valid are kept, if they are enough for the option.
    """
    try:
        return option.read(texts), ""
    except PalimpsestError as error:
        if not option.many or len(texts) == 1:
            return option.default, _left_out(texts, error)
    any_number = replace(option, low=0)  # a value alone is no fault
    kept, problems = [], []
    for text in dict.fromkeys(texts):
        try:
            any_number.read([text])
            kept.append(text)
        except PalimpsestError as error:
            problems.append(_left_out([text], error))
    value = option.default
    try:
        value = option.read(kept) if kept else value
    except PalimpsestError as error:
        problems.append(_left_out(kept, error))
    return value, " ".join(problems)


def _allowed(option: Option, value: Any) -> bool:
    """Whether the option accepts the value: refused values stay out of links."""
    try:
        option.check(value)
    except PalimpsestError:
        return False
    return True


def _left_out(texts: list[str], error: PalimpsestError) -> str:
    return f"The link asks for {quote(' '.join(texts))}: {plain(str(error))} It is ignored."


def _final(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
