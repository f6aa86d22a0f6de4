"""A page's address and its widgets hold the same values: a link reopens a study, the back button goes back to one.

Widget keys belong to a page (`rsa/base`), names in the address are the options' own (`?base=`). Streamlit's own binding
of widgets to the address takes the key for the name, so that pages whose options share a name would share a value:
here the page reads and writes the address itself, once a run, before its widgets are drawn. What an address says is
untrusted: each value goes through its option's check, and what is refused is left out with the option's own sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option
from ui.frame.text import plain, quote

PAGE = "page shown"
Refused = dict[str, str]


class Address:
    """One page's options, as its address and its widgets hold them."""

    def __init__(self, page: str, options: Iterable[Option]) -> None:
        """`options`: those of the study and those that only say what is shown (view, layer)."""
        self.page = page
        self.options = {option.name: option for option in options}

    def key(self, name: str) -> str:
        """The widget key of an option of this page."""
        return f"{self.page}/{name}"

    def __getitem__(self, name: str) -> Any:
        """The option's value as it stands: checked if it came from the address, as typed if from a widget."""
        return st.session_state[self.key(name)]

    def open(self) -> None:
        """Bring address and widgets together; call it once a run, before the widgets."""
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
        """Write what widgets hold into the address; for a fragment, whose runs do not pass `open`."""
        kept = st.session_state[self._own("values")]
        self._write({name: st.session_state.get(self.key(name), kept[name]) for name in self.options})

    def tell(self, name: str) -> None:
        """Have the browser told the option's value again, before its widget is drawn."""
        st.session_state[self.key(name)] = st.session_state[self.key(name)]

    def set(self, name: str, value: Any) -> None:
        """Give an option another value, before its widget is drawn."""
        self.take({name: value})

    def pass_by(self, name: str, value: Any) -> None:
        """Give an option a value on the way to another, before its widget is drawn: no step of the back button."""
        st.session_state[self.key(name)] = value
        self.chosen(name)

    def take(self, values: Mapping[str, Any]) -> None:
        """Give several options other values by one act, which is one step of the browser's back button."""
        for name, value in values.items():
            st.session_state[self.key(name)] = value
            self.chosen(name)
        self.update()

    def propose(self, name: str, value: Any) -> None:
        """Give an option the page's own choice, before its widget is drawn; the address does not say it.

        What nobody chose is no step of the browser's back button.
        """
        st.session_state[self.key(name)] = value
        st.session_state[self._own("proposed")][name] = value

    def proposed(self, name: str) -> Any:
        """The page's own choice for the option; None where it made none, or somebody has chosen since."""
        return st.session_state[self._own("proposed")].get(name)

    def chosen(self, name: str) -> None:
        """Somebody has chosen the option's value: from here on the address says it."""
        st.session_state[self._own("proposed")].pop(name, None)

    def among(self, name: str, offered: Collection[Any], otherwise: Any) -> Any:
        """The option's value where what is shown has it; else another one, with a sentence if it was asked for.

        Call it before the option's widget is drawn, which then offers `offered` and `otherwise`.
        """
        value = self[name]
        if value in offered or value == otherwise:
            return value
        self.announce_missing(name)
        self.set(name, otherwise)
        return otherwise

    def announce_missing(self, name: str) -> None:
        """Say that what is shown has not the option's value, if it was asked for."""
        value = self[name]
        if value != self.options[name].default:
            st.warning(
                f"{quote(str(value))} is asked for, which this study does not have: it is left out.",
                icon=":material/link_off:",
            )

    def forget_refused(self) -> None:
        """The user has chosen for themselves: what the link said no longer matters."""
        st.session_state.pop(self._own("refused"), None)

    def query(self, values: Mapping[str, Any]) -> dict[str, list[str]]:
        """The address of these values: the options that differ from their defaults; what is no value has no place."""
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
            value = option.default
            if given.get(name):
                value, problem = _read_option(option, given[name])
                if problem:
                    refused[name] = problem
            values[name] = list(value) if isinstance(value, tuple) else value
        return values, refused

    def _write(self, values: dict[str, Any], always: bool = False) -> None:
        st.session_state[self._own("values")] = values
        proposed = st.session_state[self._own("proposed")]
        wanted = self.query({name: value for name, value in values.items() if proposed.get(name) != value})
        given = {name: st.query_params.get_all(name) for name in st.query_params}
        if always or wanted != given:
            # Also where nothing seems to differ: what another page's last run sent may still be on its way.
            st.query_params.from_dict(wanted)
        st.session_state[self._own("address")] = wanted


def _read_option(option: Option, texts: list[str]) -> tuple[Any, str]:
    """The option's value, and why not all of what the link says could be used."""
    try:
        return option.read(texts), ""
    except PalimpsestError as error:
        if not option.many or len(texts) == 1:
            return option.default, _left_out(texts, error)
        kept, problems = [], []
        for text in texts:
            _, problem = _read_option(option, [text])
            problems += [problem] if problem else []
            kept += [] if problem else [text]
        try:
            return (option.read(kept) if kept else option.default), " ".join(problems) or _left_out(texts, error)
        except PalimpsestError:
            return option.default, _left_out(texts, error)


def _allowed(option: Option, value: Any) -> bool:
    """Whether the option takes the value: a link to what would be refused leads nowhere, and may be of any length."""
    try:
        option.check(value)
    except PalimpsestError:
        return False
    return True


def _left_out(texts: list[str], error: PalimpsestError) -> str:
    return f"The link asks for {quote(' '.join(texts))}: {plain(str(error))} It is left out."


def _final(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
