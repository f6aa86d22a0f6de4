"""Controls made from options: the widget, its label, help, bounds and default are the option's.

form = Form("rsa", RsaSpec, display=options_of(Display), title="Which layers does fine-tuning change?", lead="...")
form.draw(controls)     # folded to a line that says the study; `controls` calls form.control("base"), form.rest() ...
spec = form.spec()      # None where something is no choice, which is then said below the form
view = form.view()
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option, Spec, flag, options_of
from core.options.summary import summary
from ui import lessons
from ui.frame import presenting, shell
from ui.frame.identity import UPLOAD, Upload, upload_control, upload_of
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.controls import draw_control
from ui.study.run_panel import ENDED_WITHOUT

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from ui.study.experiment import Experiment

WRONG = ":material/error:"
NO_STUDY = "What is asked for makes no study yet"
ACROSS = 3  # controls beside each other among the options
# A browser that hears "closed" twice leaves open what was opened between; it obeys when the label is another one.
WORD_JOINER = "\u2060"
S = TypeVar("S", bound=Spec)
Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class Manner(Spec):
    """How a page is shown, whatever its study: in every page's address."""

    lesson: bool = flag("Lesson", False, help="The page's lesson: predict, look, compare, explain.")
    present: bool = flag("Presentation", False, help="For a lecture hall: large letters, no form; arrow keys.")


class Form(Generic[S]):
    """A page's form: the study's options as controls, and the spec that they hold."""

    def __init__(
        self,
        page: str,
        spec: type[S],
        display: Iterable[Option] = (),
        *,
        title: str = "",
        lead: str = "",
        experiments: Mapping[str, Experiment] | None = None,
    ) -> None:
        """Read the address, see `ui.frame.links.Address.open`, and write the page's first line.

        Args:
            page: The page's name in widget keys, its own.
            spec: The study's spec.
            display: Options of what is shown (view, layer): in the address too, no part of the study.
            title, lead: The page's first line, see `ui.frame.shell.open_page`; none for a form inside a page.
            experiments: Views that are studies of their own: their title, line and options stand in the page's place.
        """
        self._spec = spec
        self._names = [option.name for option in options_of(spec)]
        self._drawn: set[str] = set()
        of_experiments = [option for each in (experiments or {}).values() for option in each.options]
        self.address = Address(page, (*options_of(spec), *display, *of_experiments, *options_of(Manner)))
        if title:
            shell.enter()
        first_line = st.container()
        self.address.open()
        self.experiment = experiments.get(str(self.address["view"])) if experiments else None
        self.aside: DeltaGenerator = first_line
        if title:
            if self.experiment is not None:
                title, lead = self.experiment.study.title, sentence_of(self.experiment.study.purpose)
            with first_line:
                self.aside = shell.show_head(title, lead)
        presenting.clear_stage()
        self.pressed = False
        self.bar = self.fold = st.container()

    def draw(self, controls: Callable[[], Drawn]) -> Drawn | None:
        """The form with these controls; nothing, and None, in a view of an experiment that reads none of them."""
        if self.experiment is not None and not self.experiment.read:
            return None
        with self.body():
            return controls()

    @contextmanager
    def body(self) -> Iterator[None]:
        """The form, folded to one line that says the study; what is typed inside counts when its button is pressed.

        It is open while something in it is no choice, and where `unfold` was called.
        """
        state, key = st.session_state, self.address.key("fold")
        study = self._study()
        if study is None:
            state[self._open] = True
        state[key] = state.get(self._open, False)
        if not state[key]:
            for name in self._names:  # a browser that gets two runs at once would begin with lowest values otherwise
                self.address.tell(name)
        line = plain(self._line(study)) if study is not None else NO_STUDY
        told = WORD_JOINER * (state.get(self._presses, 0) % 2)
        self.fold = st.expander(f"{line} :blue[**Change**]{told}", key=key, on_change=self._folded)
        with self.fold, st.form(self.address.key("form"), border=False):
            yield

    def _line(self, study: S) -> str:
        """The study in a line: the experiment's, in its view."""
        if self.experiment is None:
            return summary(study, self._read(study))
        try:
            return summary(self.experiment.asked(self.address, study))
        except PalimpsestError:
            return NO_STUDY

    def say_read(self, spec: S, result: Result) -> None:
        """Say in the form's line how many sentences the result read, where the text has fewer than were asked for."""
        before = summary(spec, self._read(spec))
        st.session_state[self.address.key("read")] = (_text_of(spec), result.sentences_read)
        if summary(spec, self._read(spec)) != before:
            st.rerun()  # the line stands above what is drawn by now

    def _read(self, spec: S) -> int | None:
        """How many sentences of this study's text were read, as far as it is known."""
        text, count = st.session_state.get(self.address.key("read"), (None, None))
        return count if text == _text_of(spec) else None

    def without_result(self) -> NoReturn:
        """There is nothing to look at: a study that failed, was left or refused opens the form, one that runs does not.

        Ends the page.
        """
        if st.session_state.get(ENDED_WITHOUT):
            self.unfold(self._last())
        st.stop()

    def unfold(self, why: Hashable) -> None:
        """Open the form, since there is no result to look at: once for each reason, then the reader decides."""
        state, key = st.session_state, self.address.key("unfolded for")
        if state.get(key) != why:
            state[key] = why
            if not state.get(self._open, False):
                state[self._open] = True
                st.rerun()

    @property
    def _open(self) -> str:
        return self.address.key("form open")

    @property
    def _presses(self) -> str:
        return self.address.key("presses")

    def _folded(self) -> None:
        """The reader opened or closed the form."""
        st.session_state[self._open] = bool(st.session_state[self.address.key("fold")])

    def _chosen(self) -> None:
        """The button was pressed: what a link said is forgotten, and the figure gets the room."""
        self.address.forget_refused()
        st.session_state[self._open] = False
        st.session_state[self._presses] = st.session_state.get(self._presses, 0) + 1
        st.session_state.pop(self.address.key("unfolded for"), None)

    def _study(self) -> S | None:
        """The study that the controls hold, None where they hold none."""
        try:
            return self._spec(**{name: self.address[name] for name in self._names})
        except PalimpsestError:
            return None

    def control(self, name: str, *, anew: bool = False, **layout: Any) -> None:
        """Draw an option's control; below it a sentence where its value is none.

        Args:
            name: The option's.
            anew: Tell the browser the value in every run: for a control in a popover, which the browser makes when the
                popover is opened, and gives its lowest value if an earlier run has told it.
            layout: For the control.
        """
        self._drawn.add(name)
        if anew:
            self.address.tell(name)
        if not self._applies(name):
            layout["disabled"] = True
        draw_control(self.address, name, **layout)
        try:
            self.address.options[name].check(self.address[name])
        except PalimpsestError as error:
            st.error(plain(str(error)), icon=WRONG)

    def _applies(self, name: str) -> bool:
        """Whether an option has to do with what is shown: in an experiment's view not all of the page's have."""
        return self.experiment is None or name in self.experiment.read or name not in self._names

    def text(self) -> None:
        """The controls of a text: what, which genres, how many sentences, and an upload."""
        source, genres, amount, upload = st.columns([3, 4, 2, 2], vertical_alignment="bottom")
        with upload:
            upload_control(self.address)
        with source:
            self.control("corpus")
        with genres:
            self.control("genres")
        with amount:
            self.control("sentences")

    def rest(self, label: str = "Options") -> None:
        """All options that have no control yet, folded; opened, a popover would show lowest values."""
        shown = [name for name in self._names if self.address.options[name].shown and self._applies(name)]
        left = [name for name in shown if name not in self._drawn]
        if left:
            with st.expander(label, icon=":material/tune:"):
                places = st.columns(ACROSS, gap="medium")
                for number, name in enumerate(left):
                    with places[number * ACROSS // len(left)]:
                        self.control(name)

    def button(self, label: str = "Run") -> None:
        """The form's button; whoever presses it has chosen, and what a link said is forgotten."""
        pressed = st.form_submit_button(
            label,
            type="primary",
            icon=":material/play_arrow:",
            on_click=self._chosen,
            help="What was computed before is read from the store; only what is new is computed.",
        )
        self.pressed = self.pressed or pressed

    def spec(self, **fixed: Any) -> S | None:
        """What the controls hold; where that is no study a sentence says why, and the last one stands (None at first).

        Args:
            fixed: Options that have another value than their controls.
        """
        values = {name: self.address[name] for name in self._names} | fixed
        problems = []
        for name, value in values.items():
            try:
                values[name] = self.address.options[name].check(value)
            except PalimpsestError as error:
                problems.append((name, str(error)))
        for name, problem in problems:
            if name not in self._drawn:
                st.error(plain(problem), icon=WRONG)
        if problems:
            return self._last()
        if values.get("corpus", "").startswith(f"{UPLOAD}:") and self.upload is None:
            st.error("This study reads an upload: choose the file under “Upload”, or another text.", icon=WRONG)
            self.unfold("upload")
            return self._last()
        try:
            spec = self._spec(**values)
        except PalimpsestError as error:
            st.error(plain(str(error)), icon=WRONG)
            return self._last()
        st.session_state[self.address.key("last")] = spec
        return spec

    def _last(self) -> S | None:
        """The last study that made sense: its result stays on the page while something is mended."""
        return st.session_state.get(self.address.key("last"))

    def view(self, groups: Mapping[str, Sequence[str]] | None = None) -> str:
        """The selector of views, an option of the page's display called `view`; `bar` is the row that it stands in.

        Args:
            groups: Views by the name of their group, where they are too many for one row.
        """
        presenting.show_keys(self.address, leave_only=lessons.waiting(self.address))
        lessons.predict(self.address)
        option = self.address.options["view"]
        offered = list(option.known)
        self.address.tell("view")
        self.bar = st.container(
            horizontal=True,
            vertical_alignment="center",
            gap="xsmall",
            key=presenting.VIEWS_ROW,
        )
        with self.bar:
            if groups:
                offered = self._group(groups)
            st.segmented_control(
                option.label,
                offered,
                required=True,
                key=self.address.key("view"),
                label_visibility="collapsed",
            )
            meanings = [f"**{name}**: {option.known[name]}" for name in offered]
            st.markdown("", help="  \n".join(meanings), width="content")
        return str(self.address["view"])

    def _group(self, groups: Mapping[str, Sequence[str]]) -> list[str]:
        """The selector of groups; the views of the chosen one. Each group remembers its view."""
        state, key, view = st.session_state, self.address.key("group"), self.address.key("view")
        current = next(name for name, views in groups.items() if state[view] in views)
        state[key] = current
        state[f"{key} {current}"] = state[view]

        def changed() -> None:
            state[view] = state.get(f"{key} {state[key]}", groups[state[key]][0])

        st.segmented_control(
            "Views", list(groups), required=True, key=key, label_visibility="collapsed", on_change=changed
        )
        return list(groups[current])

    @property
    def identity(self) -> str:
        """Tells studies of two uploads of the same name apart."""
        return self.upload.identity if self.upload else ""

    @property
    def upload(self) -> Upload | None:
        """The file at hand, if it is the text chosen."""
        return upload_of(self.address)

    @property
    def texts(self) -> dict[str, bytes]:
        """The upload under its CorpusRef; empty for what a study reads itself."""
        return {self.upload.ref: self.upload.content} if self.upload else {}


def sentence_of(purpose: str) -> str:
    """A study's purpose as a sentence."""
    return f"{purpose[0].upper()}{purpose[1:]}."


def _text_of(spec: Spec) -> tuple[Any, ...]:
    """What decides how many sentences of which text are read."""
    return tuple(getattr(spec, name, None) for name in ("corpus", "genres", "sentences"))
