"""A page's form, made from the options of its study's spec.

form = Form("rsa", RsaSpec, display=options_of(Display), title="Which layers?", lead="...")
form.draw(controls)  # folded to one line; `controls` calls form.control("base"), form.rest()
spec = form.spec()  # None if a value is invalid, which an error says below the form
view = form.view()
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import streamlit as st

from core.errors import PalimpsestError, counted
from core.options import Option, Spec, choice, named, options_of
from core.options.summary import summary
from ui.frame import presenting, shell
from ui.frame.identity import UPLOAD, Upload, take_upload, upload_control, upload_of
from ui.frame.links import Address, Manner
from ui.frame.text import plain
from ui.frame.uploads import awaits_upload, submit_upload
from ui.study.controls import draw_control
from ui.study.experiment import Experiment, reason_of
from ui.study.run_panel import ENDED_WITHOUT, offer_afresh

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.study import Study, View

WRONG = ":material/error:"
NO_STUDY = "These settings are not complete yet"
NO_FILE = "This link needs an uploaded file. Choose it under “Upload”, or choose another text."
TEXT = ("corpus", "genres", "sentences")  # options that decide which sentences are read
ACROSS = 3  # columns of controls in the folded options
ROW = 4  # views of the page's own study beside the menu of all others
MORE = "More experiments"
MENU_HELP = "Notes on this result. Pin it, rename its models, or recompute it."
# A browser ignores a second "closed" for an expander opened in between, unless the label differs.
WORD_JOINER = "\u2060"
S = TypeVar("S", bound=Spec)
Drawn = TypeVar("Drawn")


class Form(Generic[S]):
    """The form of a page: the study's options as controls, and the spec made from them."""

    def __init__(
        self,
        page: str,
        spec: type[S],
        display: Iterable[Option] = (),
        *,
        title: str = "",
        lead: str = "",
        studies: Sequence[Study] = (),
        experiments: Mapping[str, Experiment] | None = None,
        asked: Mapping[str, Callable[[Address, Any], Spec]] | None = None,
    ) -> None:
        """Read the address and draw the page's first line, none for a form inside a page. `display`
        are options in the address that are not the study's. `studies` are those that the page
        always shows, its main one first; `asked` makes the spec of a view that shows another
        study than the main one; `experiments` are by the name of their view."""
        self._studies, self._experiments, self._asked = studies, experiments or {}, asked or {}
        self._views = views_of((*studies, *(each.study for each in self._experiments.values())))
        self._spec = spec
        self.options = {option.name: option for option in options_of(spec)}
        self._drawn: set[str] = set()
        purposes = {name: view.purpose for name, view in self._views.items()}
        views = choice("View", next(iter(purposes), ""), purposes, help="The figure that is shown.")
        shown = named(view=views) if studies else ()
        options = (*options_of(spec), *shown, *display, *options_of(Manner))
        beside = [each.beside for each in self._experiments.values()]
        self.address = Address(page, options, beside)
        if title:
            shell.enter()
        first_line = st.container()
        self.address.open()
        take_upload(self.address)
        view = str(self.address["view"]) if studies else ""
        self.experiment = self._experiments.get(view)
        self.aside = self._corner = first_line
        if title:
            title = (view and self._views[view].question) or title
            if self.experiment is not None:
                lead = reason_of(self.experiment.study)
            with first_line:
                self.aside, self._corner = shell.show_head(title)
        self._lead = lead
        self._menu: DeltaGenerator | None = None
        presenting.clear_stage()
        self.below_headline: DeltaGenerator | None = None  # where pinned results stand
        self.pressed = False
        self.settings: DeltaGenerator | None = None  # of a started experiment, in the row of views
        self.bar = self.fold = st.container()

    @property
    def study(self) -> Study:
        """The page's main study."""
        return self._studies[0]

    def draw(self, controls: Callable[[], Drawn]) -> Drawn | None:
        """Draw the form with these controls, unless the experiment uses none of them."""
        if self.experiment is not None and not self.experiment.read:
            return None
        with self.body():
            return controls()

    @contextmanager
    def body(self) -> Iterator[None]:
        """Draw the form, folded to a line that summarises the study; changes apply when its button
        is pressed. It is open while a value is invalid, and after `unfold`."""
        state, key = st.session_state, self.address.key("fold")
        study = self._valid_spec()
        if study is None:
            state[self._open] = True
        state[key] = state.get(self._open, False)
        if not state[key]:
            # otherwise a browser that gets two runs at once starts from the lowest values
            for name in self.options:
                self.address.tell(name)
        line = plain(self._line(study)) if study is not None else NO_STUDY
        told = WORD_JOINER * (state.get(self._presses, 0) % 2)
        self.fold = st.expander(f"{line} :blue[**Change**]{told}", key=key, on_change=self._folded)
        with self.fold, st.form(self.address.key("form"), border=False):
            yield

    def _line(self, study: S) -> str:
        """Summarise the study in one line; in a view of another study, that one."""
        shown = str(self.address["view"]) if self._studies else ""
        asked = self.experiment.asked if self.experiment else self._asked.get(shown)
        if asked is None:
            return summary(study, self._read(study))
        try:
            return summary(asked(self.address, study))
        except PalimpsestError:
            return NO_STUDY

    def say_read(self, spec: S, result: Result) -> None:
        """Show the number of sentences read in the form's line, if it is smaller than asked."""
        before = summary(spec, self._read(spec))
        st.session_state[self.address.key("read")] = (_text_of(spec), result.sentences_read)
        if summary(spec, self._read(spec)) != before:
            st.rerun()  # the line is above what has been drawn so far

    def _read(self, spec: S) -> int | None:
        """Return how many sentences of this study's text were read, if it is known."""
        text, count = st.session_state.get(self.address.key("read"), (None, None))
        return count if text == _text_of(spec) else None

    def without_result(self) -> NoReturn:
        """End the page without a result, saying what it would show; open the form if the study
        failed or was cancelled."""
        st.caption(self._lead)
        if st.session_state.get(ENDED_WITHOUT):
            self.unfold(self._last())
        st.stop()

    def unfold(self, why: Hashable) -> None:
        """Open the form because there is no result, once for each reason."""
        state, key = st.session_state, self.address.key("unfolded for")
        before, state[key] = state.get(key), why
        if before != why and not state.get(self._open, False):
            state[self._open] = True
            st.rerun()

    @property
    def _open(self) -> str:
        return self.address.key("form open")

    @property
    def _presses(self) -> str:
        return self.address.key("presses")

    def _folded(self) -> None:
        """Note that the user opened or closed the form."""
        st.session_state[self._open] = bool(st.session_state[self.address.key("fold")])

    def _chosen(self) -> None:
        """Forget the link's refused values and fold the form, after its button was pressed."""
        self.address.forget_refused()
        submit_upload(self.address)
        st.session_state[self._open] = False
        st.session_state[self._presses] = st.session_state.get(self._presses, 0) + 1
        st.session_state.pop(self.address.key("unfolded for"), None)

    def close(self) -> None:
        """Fold the form, from a callback that has filled it."""
        st.session_state[self._open] = False

    def _valid_spec(self) -> S | None:
        """Make the spec of the controls' values; None if they are invalid."""
        try:
            return self._spec(**{name: self.address[name] for name in self.options})
        except PalimpsestError:
            return None

    def control(self, name: str, *, anew: bool = False, **layout: Any) -> None:
        """Draw an option's control, with an error below it if its value is invalid. `anew` sends
        the value in every run: a popover's control is made when that opens, with its lowest value
        if only an earlier run sent one."""
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
        """Whether an option affects the view: an experiment uses only some of them."""
        return self.experiment is None or name in self.experiment.read or name not in self.options

    def row(self, widths: Mapping[str, int], **layouts: Mapping[str, Any]) -> None:
        """Draw controls beside each other: option -> width; `layouts` are those of `control`."""
        for place, name in zip(st.columns([*widths.values()]), widths, strict=True):
            with place:
                self.control(name, **layouts.get(name, {}))

    def text(self) -> None:
        """Draw the controls of the text: corpus, genres, number of sentences, upload."""
        *places, upload = st.columns([3, 4, 2, 2], vertical_alignment="bottom")
        with upload:
            upload_control(self.address)
        for place, name in zip(places, TEXT, strict=True):
            with place:
                self.control(name)

    def rest(self, label: str = "Options") -> None:
        """Draw all remaining options in an expander; a popover would show lowest values."""
        shown = [name for name, option in self.options.items() if option.shown]
        left = [name for name in shown if self._applies(name) and name not in self._drawn]
        if left:
            with st.expander(label, icon=":material/tune:"):
                places = st.columns(ACROSS, gap="medium")
                for number, name in enumerate(left):
                    with places[number * ACROSS // len(left)]:
                        self.control(name)

    def button(self, label: str = "Run") -> None:
        """Draw the form's button."""
        self.pressed |= st.form_submit_button(
            label,
            type="primary",
            icon=":material/play_arrow:",
            on_click=self._chosen,
            help="Runs the study with these settings. Stored results are used again; only what is "
            "new is computed.",
        )

    def spec(self, **fixed: Any) -> S | None:
        """Make the spec of the controls' values, but the fixed ones; if they are invalid, show why
        and return the last valid spec."""
        values = {name: self.address[name] for name in self.options} | fixed
        problems = []
        for name, value in values.items():
            try:
                values[name] = self.options[name].check(value)
            except PalimpsestError as error:
                problems.append((name, str(error)))
        for name, problem in problems:
            if name not in self._drawn:
                st.error(plain(problem), icon=WRONG)
        if awaits_upload(self.address) or problems:
            return self._last()
        if values.get("corpus", "").startswith(f"{UPLOAD}:") and self.upload is None:
            st.error(NO_FILE, icon=WRONG)
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
        """Return the last valid spec, whose result stays while a value is corrected."""
        return st.session_state.get(self.address.key("last"))

    def view(self) -> View:
        """Draw the selector of views, the display's option `view`, in the row `bar`: the first of
        the page's study and the one that is shown, beside a menu of all others."""
        option, key = self.address.options["view"], self.address.key("view")
        shown = str(self.address["view"])
        row = [name for name in self._views if name not in self._experiments][:ROW]
        row += [] if shown in row else [shown]
        beyond = [name for name in self._views if name not in row]
        meanings = "  \n".join(f"**{name}**: {option.meanings[name]}" for name in beyond)
        self.address.tell("view")
        self.bar = st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key=presenting.VIEWS_ROW
        )
        with self.bar:
            st.segmented_control(
                option.label, row, required=True, key=key, label_visibility="collapsed"
            )
            if beyond:
                state, more = st.session_state, self.address.key("more")
                st.menu_button(
                    MORE, beyond, key=more, help=meanings,
                    on_click=lambda: state.update({key: state[more]}),
                )  # fmt: skip
        view = self._views[shown]
        if self.experiment is None:
            presenting.show_reading(view.how_to_read)
        return view

    def menu(self, notes: Sequence[str] = ()) -> DeltaGenerator:
        """Return the page's menu, which a run's first call draws: what the page shows, the notes on
        its result, and the button that recomputes it; pins and names are added."""
        if self._menu is None:
            count = f" ({counted(len(notes), 'note')})" if notes else ""
            self._menu = self._corner.popover(
                f"Menu{count}", icon=":material/more_vert:", type="tertiary", help=MENU_HELP
            )
            with self._menu:
                st.markdown(self._lead)
                st.markdown("\n".join(f"- {plain(note)}" for note in notes))
                offer_afresh()
        return self._menu

    @property
    def upload(self) -> Upload | None:
        """Return the uploaded file if it is the chosen text."""
        return upload_of(self.address)

    @property
    def texts(self) -> dict[str, bytes]:
        """Return the upload under its CorpusRef; empty if the study reads the text itself."""
        return {self.upload.ref: self.upload.content} if self.upload else {}


def views_of(studies: Iterable[Study]) -> dict[str, View]:
    """Name the views of a page, those of its main study first."""
    return {view.name: view for study in studies for view in study.views}


def _text_of(spec: Spec) -> tuple[Any, ...]:
    """Return the options that decide how many sentences of which text are read."""
    return tuple(getattr(spec, name, None) for name in TEXT)
