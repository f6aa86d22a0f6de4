"""The run panel: requests a study, shows its progress, and returns the result to the page.

    result = run_panel(request_of(STUDY, spec))
    if result is None:
        st.stop()

The first call starts the study or joins a running one. A fragment shows its progress twice a
second, and the page reruns once when it ends. `ui.study.jobs` says what outlives what.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from core.limits import current_limits
from core.results.numbers import text_of
from core.results.shelf.archive import is_shelved
from core.runs.process.imports import import_tangled
from core.runs.store import default_store, key_of, using
from ui.frame.errors import show_error, show_failures
from ui.frame.presenting import presenting
from ui.frame.process import Work, until_server_ends
from ui.frame.recent import note_study
from ui.frame.text import plain
from ui.study.jobs import Job, Jobs, QueueFullError, State
from ui.study.studylog import logged

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.runs.runner import Progress
    from core.runs.tasks import Signal
    from core.study import Study

EVERY = 0.5  # seconds between two updates of the progress bar
LOOK = 2.0  # seconds to find out whether a study is stored before the page says that it looks
UNTIL_BAR = 0.6  # seconds to wait for a stored study before showing a progress bar
LOOKING = "Looking for a stored result"
CANCELLED = "The study was cancelled. What was computed so far is kept; a later run resumes there."
PRECOMPUTED, STORED = ":material/inventory_2: Precomputed", ":material/history: Read from the store"
ENDED_WITHOUT = "study_ended_without_result"  # session state: it failed or was cancelled
ASKED, LEFT, WAITED = "studies_asked", "studies_left", "studies_waited_for"
AFRESH, LOOKED = "studies_afresh", "studies_looked_for"
SHIPPED = "study_precomputed"  # session state: key of the precomputed result that is shown
WATCHED = "studies_watched"  # session state: those whose progress the page shows


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Return the process's registry of jobs."""
    return Jobs()


@dataclass(frozen=True)
class Request:
    """A study that a page asks for.

    Attributes:
        study: Its name for people, such as "RSA".
        spec: The study's frozen dataclass; an equal spec is the same study.
        run: Called in the worker as run(progress, signal), without streamlit; returns the Result.
        identity: What distinguishes studies of one spec (fingerprints, an uploaded text).
        seconds: That it should take: its price, or what the instance allows.
        shelved: Whether its result is shipped, and opens without the models.
    """

    study: str
    spec: Any
    run: Work
    identity: Hashable = ""
    seconds: float = field(default_factory=lambda: current_limits().max_seconds)
    shelved: bool = False

    @property
    def key(self) -> str:
        """Return what two requests for one result have in common."""
        return key_of(self.study, asdict(self.spec), self.identity)


def request_of(
    study: Study,
    spec: Any,
    texts: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    identity: Hashable = "",
) -> Request:
    """Ask for a study of the catalogue. `texts` are uploads, by the name that the spec has for
    them; `name` is for people."""

    def run(progress: Callable[[Progress], None], signal: Signal) -> Any:
        if not study.light or spec.changed():
            import_tangled()  # the other lane's studies import too
        return study.run(spec, texts, progress=progress, signal=signal)

    shelved = not texts and is_shelved(study.name, spec)
    return Request(name or study.name, spec, run, identity, shelved=shelved)


def run_panel(
    request: Request,
    *,
    again: bool = False,
    quiet: bool = False,
    told: DeltaGenerator | None = None,
) -> Result | None:
    """Run a study, join a running one, or return its finished result, a precomputed one until it is
    recomputed; None while the panel says why. `told` is the place of the line that says where the
    result comes from, emptied while there is none."""
    key = request.key
    if told is not None:
        told.empty()  # what it says of another study on this page is not said of this one
    wanted = request
    if anew := key in st.session_state.setdefault(AFRESH, set()):
        key = key_of(key, AFRESH)
        wanted = replace(request, run=without_precomputed(request.run))
    asked = st.session_state.setdefault(ASKED, set())
    left = st.session_state.setdefault(LEFT, set())
    if again:
        left.discard(key)
    st.session_state[ENDED_WITHOUT] = key in left
    if key in left:
        _offer_again(CANCELLED, key)
        return None
    try:
        job = _ask(key, wanted, again=again or key not in asked, look=True)
        earlier = _ask(request.key, request, look=True) if anew else job
    except QueueFullError as error:
        st.session_state[ENDED_WITHOUT] = True
        _offer_again(plain(str(error)), key)
        return None
    asked.add(key)
    if not job.ended.wait(UNTIL_BAR) and job.looking:
        job.ended.wait(UNTIL_BAR)  # it is found sooner than a bar would be drawn and taken away
    waited = st.session_state.setdefault(WAITED, set())
    if not job.over:
        waited.add(key)
        st.session_state.setdefault(WATCHED, set()).add(key)
        _watch(job, request.key if anew else "")
        if earlier.state is State.DONE:
            (told or st).caption(f"{PRECOMPUTED}, until it is recomputed", width="content")
            return cast("Result", earlier.result)
    elif job.state == State.DONE:
        if not quiet and len(job.result.table):  # otherwise there is nothing to show
            note_study(request.spec)
            st.session_state[SHIPPED] = job.key if job.from_box else ""
            if not presenting():
                (told or st).caption(describe_done(job, key in waited), width="content")
        show_failures(job.result)
        return cast("Result", job.result)
    else:
        st.session_state[ENDED_WITHOUT] = True
        if not (cancelled := job.state == State.CANCELLED):
            show_error(job.error or RuntimeError("the study ended without a result"))
        _offer_again(CANCELLED if cancelled else "", key)
    return None


def is_stored(request: Request, *, refused: bool = False) -> bool:
    """Whether a study's results are all stored, so that it can be shown before its button is
    pressed. The page ends here while a look takes longer than `LOOK` seconds, or waits for others,
    unless this instance does not compute the study (`refused`)."""
    key = request.key
    looked = st.session_state.setdefault(LOOKED, set())
    try:
        again = key not in looked and not refused
        job = _ask(key, request, again=again, only_stored=True)
        if job.state is State.CANCELLED:  # nobody seemed to wait for the look, on a busy server
            job = _ask(key, request, again=True, only_stored=True)
    except QueueFullError:
        if refused:
            return False
        _watch_queue(time.monotonic())
        st.stop()
    looked.add(key)
    if job.only_stored or job.looking:
        job.ended.wait(LOOK)
    if job.looking and not (job.over or refused):
        st.session_state.setdefault(WATCHED, set()).add(key)
        _watch_look(job)
        st.stop()
    return job.state is State.DONE


def _ask(key: str, request: Request, **manner: bool) -> Job:
    """Ask for the job of this key for this session; its run is written to the log."""
    return jobs().ask(
        key,
        request.study,
        logged(request.study, request.spec, until_server_ends(request.run)),
        watcher=_watcher(),
        most=current_limits().max_queue,
        expected=request.seconds,
        **manner,
    )


def without_precomputed(run: Work) -> Work:
    """Make the same work ignore precomputed results: what the store does not have is computed."""

    def work(report: Callable[[Progress], None], signal: Signal) -> Any:
        with using(default_store().without_precomputed()):
            return run(report, signal)

    return work


def offer_afresh() -> None:
    """Draw the button that recomputes the result shown, if it is a precomputed one."""
    if key := st.session_state.get(SHIPPED):
        st.button(
            "Recompute here",
            key=f"afresh_{key[:12]}",
            icon=":material/refresh:",
            help="Computes the study on this machine instead of reading the precomputed result.",
            on_click=st.session_state[AFRESH].add,
            args=(key,),
        )


def _offer_again(message: str, key: str) -> None:
    """Draw a message and a button that requests the study anew."""
    if message:
        st.info(message, icon=":material/block:")
    if st.button("Run again", key=f"again_{key[:12]}", icon=":material/refresh:"):
        st.session_state[ASKED].discard(key)
        st.session_state[LEFT].discard(key)
        st.rerun()


def describe_done(job: Job, waited: bool = True) -> str:
    """Say whether a result was precomputed, stored, or computed now and how fast."""
    if job.from_box:
        return PRECOMPUTED
    if job.from_store or not waited:
        return STORED
    return f":material/check: Computed in {text_of(job.seconds, 'seconds')}"


def _about(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 89.5 else f"{round(seconds / 60)} min"


def describe_progress(progress: Progress | None) -> str:
    """Describe the progress, such as "sentence 320 of 1,200, about 9 s left"."""
    if progress is None:
        return "Preparing"
    done = "Preparing"
    if progress.total:
        step = min(progress.done + 1, progress.total)
        done = progress.note.replace("zoo:", "") or f"step {step:,} of {progress.total:,}"
    if progress.remaining is None or progress.fraction <= 0:
        return done
    return f"{done}, about {_about(progress.remaining)} left"


def describe_queue(ahead: int, seconds: float | None) -> str:
    """Say how many studies run first, and about how long they take."""
    first = "One study runs" if ahead == 1 else f"{ahead} studies run"
    about = f", about {_about(seconds)}" if seconds is not None else ""
    return f"{first} before this one{about}."


def _watcher() -> str:
    return cast(str, st.session_state.setdefault("watcher", uuid.uuid4().hex))


def forget_watched() -> None:
    """Forget whose progress the previous run showed, or its fragments could redraw it over the
    page."""
    st.session_state[WATCHED] = set()


def _still_watched(job: Job) -> None:
    """Draw the page again if it has gone on meanwhile: its end may have been lost."""
    if job.key not in st.session_state[WATCHED]:
        st.rerun()
    jobs().watch(job, _watcher())


@st.fragment(run_every=EVERY)
def _watch_look(job: Job) -> None:
    _still_watched(job)
    if job.over or not job.looking:
        st.rerun()
    st.progress(0.0, text=LOOKING)


@st.fragment(run_every=LOOK)
def _watch_queue(begun: float) -> None:
    """Say that others look first, and draw the page again a moment later."""
    if time.monotonic() - begun > LOOK / 2:
        st.rerun()
    st.progress(0.0, text=LOOKING)


@st.fragment(run_every=EVERY)
def _watch(job: Job, precomputed: str) -> None:
    """Show a job's progress; once cancelled, the precomputed result of this key is back."""
    _still_watched(job)
    if job.over:
        st.rerun()
    ahead = jobs().ahead(job)
    with st.container(border=True, horizontal=True, vertical_alignment="bottom"):
        if ahead:
            st.progress(0.0, text=describe_queue(ahead, jobs().wait_seconds(job)))
        else:
            fraction = job.progress.fraction if job.progress else 0.0
            st.progress(min(max(fraction, 0.0), 1.0), text=plain(describe_progress(job.progress)))
        if st.button("Cancel", key=f"cancel_{job.key[:12]}", icon=":material/close:"):
            st.session_state[AFRESH].discard(precomputed)
            st.session_state[ASKED].discard(job.key)
            if not precomputed:
                st.session_state[LEFT].add(job.key)
            jobs().leave(job, _watcher())  # it goes on if another session waits for it
            st.rerun()
