"""The page's address and its widgets hold the same values: a link reopens a study, the back button
returns to one.

Widget keys belong to a page (`rsa/base`); the address uses the options' names (`?base=`). Streamlit
can bind widgets to the address itself, but it uses the key as the name, so that pages whose options
share a name would share a value. The page therefore reads and writes the address itself, once per
run, before its widgets are drawn. An address is untrusted: every value passes its option's check;
what is refused is ignored, with the option's own error message.

A link to an experiment names its study and holds its options alone, as its command does:
`?study=align+check&layer=2` is `palimpsest align check --layer 2`. Options of two studies on one
page may therefore have one name; their widget keys differ (`alignment/align check/layer`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option, Spec, flag, names, options_of
from ui.frame import former
from ui.frame.text import plain, quote

PAGE = "page shown"
STUDY = "study"  # name of the experiment's study in a link
MOST_NAMES = 64  # models that a link may rename
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
    rivals: bool = flag(
        "Show all rivals",
        False,
        help="Draws all baselines and references, not just the strongest rival and the limit.",
    )
    names: tuple[str, ...] = names("Names", most=MOST_NAMES, help="What figures call models.")


@dataclass(frozen=True)
class Beside:
    """An experiment, a study beside its page's main one, as links hold it.

    Attributes:
        study: Words of its command.
        view: The page's view that shows it.
        options: Widget key, without the page -> option, whose name is that in the link.
        read: Options of the page's form that it depends on.
        added: Whether another package adds the study.
    """

    study: str
    view: str
    options: Mapping[str, Option]
    read: Collection[str]
    added: bool = False


def base_path() -> str:
    """Return the path below which the server answers: "" or, say, "/palimpsest"."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


class Address:
    """The options of one page, as its address and its widgets hold them."""

    def __init__(self, page: str, options: Iterable[Option], beside: Iterable[Beside] = ()) -> None:
        """Take the options of the study and those of the display (view, layer), and the page's
        experiments."""
        self.page = page
        self._main = {option.name: option for option in options}
        self._beside = {each.view: each for each in beside}
        owned = {
            key: option for each in self._beside.values() for key, option in each.options.items()
        }
        self.options = self._main | owned

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
            asked, state[self._own("refused")] = self._read(given)
            defaults = {key: _for_widget(option.default) for key, option in self.options.items()}
            values = (defaults if entered else self._now()) | asked
            proposed = {} if entered else state[self._own("proposed")]
            state[self._own("proposed")] = {
                name: value for name, value in proposed.items() if name not in asked
            }
        else:
            values = self._now()
        for name, value in values.items():
            if self.key(name) not in state or state[self.key(name)] != value:
                state[self.key(name)] = value
        self._write(values, always=entered)
        for sentence in state.get(self._own("refused"), {}).values():
            st.warning(sentence, icon=":material/link_off:")

    def update(self) -> None:
        """Write the widgets' values into the address; for a fragment, which skips `open`."""
        self._write(self._now())

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

    def of_study(self, study: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what shows a study with these options: its values by widget key, and its view if
        it is an experiment of the page."""
        shown = next((each for each in self._beside.values() if each.study == study), None)
        if shown is None:
            return dict(values)
        keys = {option.name: key for key, option in shown.options.items()}
        return {keys.get(name, name): value for name, value in values.items()} | {
            "view": shown.view
        }

    def propose(self, name: str, value: Any) -> None:
        """Set an option to the page's own choice before its widget is drawn; the address omits it,
        so that it is no step for the browser's back button."""
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
        link asked for it. Call it before the widget is drawn, which then offers `offered` and
        `otherwise`."""
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
                f"The link asks for {quote(str(value))}, which this study does not have. "
                "It is ignored.",
                icon=":material/link_off:",
            )

    def forget_refused(self) -> None:
        """Forget the refused values of the link, once the user has made a choice."""
        st.session_state.pop(self._own("refused"), None)

    def query(self, values: Mapping[str, Any]) -> dict[str, list[str]]:
        """Write the values as an address: only valid ones that differ from the default."""
        return {
            option.name: option.as_query(values[name])
            for name, option in self.options.items()
            if name in values
            and _final(values[name]) != option.default
            and option.as_query(values[name])
            and _allowed(option, values[name])
        }

    def _own(self, what: str) -> str:
        return f"{self.page}//{what}"

    def _now(self) -> dict[str, Any]:
        """Return all values as the widgets have them."""
        state = st.session_state
        earlier = state[self._own("values")]
        return {name: state.get(self.key(name), earlier[name]) for name in self.options}

    def _held(self, view: object) -> dict[str, str]:
        """Return what the links of a view hold: widget key -> name in the link."""
        if (shown := self._beside.get(str(view))) is None:
            return dict(zip(self._main, self._main, strict=True))
        read = (*shown.read, *(option.name for option in options_of(Manner)))
        return {name: name for name in self._main if name in read} | {
            key: option.name for key, option in shown.options.items()
        }

    def _former(self, given: Mapping[str, list[str]], view: str) -> dict[str, str]:
        """Return what a link without a study holds; those of earlier versions held the options of
        every experiment, under names of their own."""
        names = {
            (each.view, key): former.former_name(each.study, option.name, added=each.added)
            for each in self._beside.values()
            for key, option in each.options.items()
        }
        return self._held("") | {
            key: name
            for (shown, key), name in names.items()
            if name and (shown == view or name in given)
        }

    def _today(self, view: str) -> str:
        """Return the name that a view of this page has today."""
        offered = self.options["view"].meanings if "view" in self.options else {}
        return next((name for name in former.VIEWS.get(view, ()) if name in offered), view)

    def _read(self, given: Mapping[str, list[str]]) -> tuple[dict[str, Any], Refused]:
        """Read what the link holds, and say what of it is refused, and why."""
        values: dict[str, Any] = {}
        refused: Refused = {}
        given = former.of_today(given)
        asked = given.get(STUDY)
        shown = next((each for each in self._beside.values() if asked == [each.study]), None)
        if shown is not None:
            values["view"], held = shown.view, self._held(shown.view)
        else:
            view = (given.get("view") or [""])[-1]
            held = self._former(given, self._today(view))
            if asked:
                refused[STUDY] = (
                    f"The link asks for the study {quote(' '.join(asked))}, "
                    "which this page does not show beside its own. It is ignored."
                )
        options = {STUDY, *held.values(), *(option.name for option in self.options.values())}
        for name in sorted(given.keys() - options):
            refused[name] = (
                f"The link asks for {quote(name)}, which is no option of this page. It is ignored."
            )
        for key, name in held.items():
            value, texts = self.options[key].default, given.get(name)
            if texts and name == "view":
                texts = [self._today(text) for text in texts]
            if texts:
                value, problem = _read_option(self.options[key], texts)
                if problem:
                    refused[key] = problem
            values[key] = _for_widget(value)
        return values, refused

    def _write(self, values: dict[str, Any], always: bool = False) -> None:
        st.session_state[self._own("values")] = values
        proposed, view = st.session_state[self._own("proposed")], values.get("view")
        wanted = self.query(
            {key: values[key] for key in self._held(view) if proposed.get(key) != values[key]}
        )
        if (shown := self._beside.get(str(view))) is not None:
            wanted = {STUDY: [shown.study], **wanted}
        given = {name: st.query_params.get_all(name) for name in st.query_params}
        if always or wanted != given:
            # Even if nothing seems to differ: what another page's last run sent may not have
            # arrived yet.
            st.query_params.from_dict(wanted)
        st.session_state[self._own("address")] = wanted


def _read_option(option: Option, texts: list[str]) -> tuple[Any, str]:
    """Read the option's value, and what was refused, and why. Of several values the valid ones are
    kept, if they are enough for the option."""
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


def _for_widget(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _final(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
