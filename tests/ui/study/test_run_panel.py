"""The run panel on a page of its own: progress, sharing, cancelling, failures, and what it says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.errors import CancelledError, ModelError, NotStoredError
from core.runs.precomputed import write_precomputed
from core.runs.runner import Progress
from core.runs.store import current_store
from core.runs.tasks import Signal
from ui.frame.errors import APOLOGY, by_cause
from ui.study.jobs import Job
from ui.study.run_panel import (
    CANCELLED,
    LOOKING,
    PRECOMPUTED,
    STORED,
    describe_done,
    describe_progress,
    describe_queue,
    jobs,
)

LONG = 10.0


@dataclass(frozen=True)
class Spec:
    word: str = "a"


@dataclass
class Outcome:
    headline: str = "It is done."
    failures: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[int]] = field(default_factory=lambda: {"rows": [1]})

    @property
    def table(self) -> list[int]:
        return next(iter(self.tables.values()))


@dataclass
class Study:
    """What the page runs; the test opens the gate."""

    gate: threading.Event = field(default_factory=threading.Event)
    result: Outcome | BaseException = field(default_factory=Outcome)
    runs: int = 0

    def __call__(self, progress, signal: Signal) -> Outcome:
        if signal.look_only:
            raise NotStoredError("Not everything is stored.")
        self.runs += 1
        progress(Progress(0, 2, 0, 0.25, "sentence 320 of 1,200", 3.0, 9.2))
        while not self.gate.wait(0.005):
            if signal.is_set():
                raise CancelledError("The run was cancelled.")
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@dataclass
class Shipped(Study):
    """A study with precomputed results."""

    waits: bool = False

    def __call__(self, progress, signal: Signal) -> Outcome:
        if current_store().precomputed is not None:
            progress(Progress(2, 2, 2, 1.0, "", 0.1, 0.0, shipped=2))
            return Outcome("From the box.")
        if signal.look_only:
            raise NotStoredError("Not everything is stored.")
        self.runs += 1
        progress(Progress(0, 2, 0, 0.0, "", 0.1, 0.0))
        while self.waits and not self.gate.wait(0.005):
            if signal.is_set():
                raise CancelledError("The run was cancelled.")
        return Outcome("Computed here.")


STUDIES: dict[str, Study] = {}


def page() -> None:
    import streamlit as st

    from tests.ui.study.test_run_panel import STUDIES, Spec
    from ui.study.run_panel import Request, offer_afresh, run_panel

    word = st.session_state.get("word", "a")
    result = run_panel(Request("RSA", Spec(word), STUDIES[word]), again=st.button("Run"))
    offer_afresh()
    st.write(result.headline if result is not None else "nothing yet")


@pytest.fixture(autouse=True)
def studies() -> Iterator[dict[str, Study]]:
    st.cache_resource.clear()
    STUDIES.clear()
    STUDIES.update(a=Study(), b=Study())
    yield STUDIES
    for study in STUDIES.values():
        study.gate.set()
    st.cache_resource.clear()


def open_page(word: str = "a") -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["word"] = word
    return app.run()


def finish(app: AppTest, word: str = "a") -> AppTest:
    STUDIES[word].gate.set()
    for job in list(jobs()._jobs.values()):
        assert job.work is not STUDIES[word] or job.ended.wait(LONG)
    return app.run()


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    return app.run()


def texts(app: AppTest) -> str:
    return "\n".join(
        str(e.value)
        for kind in (app.markdown, app.caption, app.info, app.warning, app.error)
        for e in kind
    )


def progress_text(app: AppTest) -> str:
    return app.get("progress")[0].proto.text


@pytest.mark.slow
def test_progress_is_shown_and_the_result_comes_once_it_is_there() -> None:
    app = open_page()
    assert "nothing yet" in texts(app)
    assert progress_text(app) == "sentence 320 of 1,200, about 9 s left"
    finish(app)
    assert "It is done." in texts(app)
    assert "Computed in" in texts(app)
    app.run()
    assert STUDIES["a"].runs == 1


@pytest.mark.slow
def test_a_second_session_joins_and_a_closed_one_changes_nothing() -> None:
    first, second = open_page(), open_page()
    del first
    finish(second)
    assert "It is done." in texts(second)
    assert "It is done." in texts(open_page())
    assert STUDIES["a"].runs == 1


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_place_in_the_queue_is_shown() -> None:
    first, second = open_page("a"), open_page("b")
    assert "One study runs before this one" in progress_text(second)
    finish(first, "a")
    finish(second, "b")
    assert "It is done." in texts(second)


def leaving_page() -> None:
    """Its first run shows a study's progress, its second another's; the first's panel is asked to
    redraw itself after that."""
    import streamlit as st

    from tests.ui.study.test_run_panel import STUDIES, Spec
    from ui.study.run_panel import Request, _watch, forget_watched, jobs, run_panel

    forget_watched()
    run = st.session_state.setdefault("run", 0) + 1
    st.session_state["run"] = run
    if run <= 2:
        word = "ab"[run - 1]
        run_panel(Request("RSA", Spec(word), STUDIES[word]))
    if run == 2:
        _watch(next(job for job in jobs()._jobs.values() if job.work is not None), "")
    if run == 3:
        st.write("drawn again")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_panel_that_the_page_has_left_draws_nothing_over_it() -> None:
    """It asks for the page instead, whose end may not have been told."""
    app = AppTest.from_function(leaving_page, default_timeout=30).run()
    assert len(app.get("progress")) == 1
    app.run()
    assert app.session_state["run"] == 3
    assert "drawn again" in texts(app)
    assert not app.get("progress")


def looking_page() -> None:
    import streamlit as st

    from tests.ui.study.test_run_panel import LOOKS, Spec
    from ui.study.run_panel import Request, is_stored

    st.write(is_stored(Request("RSA", Spec(), LOOKS.look), refused=st.session_state["refused"]))


@dataclass
class Looks:
    """Counts how often the store was looked through."""

    count: int = 0

    def look(self, progress, signal: Signal) -> Outcome:
        self.count += 1
        raise NotStoredError("Not everything is stored.")


LOOKS = Looks()


@pytest.mark.slow
@pytest.mark.parametrize(("refused", "looks"), [(True, 1), (False, 3)])
def test_a_refused_study_is_looked_for_once_on_this_server(refused: bool, looks: int) -> None:
    LOOKS.count = 0
    for _ in range(3):  # sessions
        app = AppTest.from_function(looking_page, default_timeout=30)
        app.session_state["refused"] = refused
        assert "False" in texts(app.run())
    assert LOOKS.count == looks


def slowly_looking_page() -> None:
    import streamlit as st

    from tests.ui.study.test_run_panel import SLOW_LOOK, Spec
    from ui.study.run_panel import Request, forget_watched, is_stored

    forget_watched()
    st.write("The page's beginning.")
    st.write(f"stored: {is_stored(Request('RSA', Spec(), SLOW_LOOK))}")


SLOW_LOOK = Study()


@pytest.mark.slow
@pytest.mark.parametrize("stored", [True, False])
def test_a_page_does_not_wait_for_a_look_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    """It says that it looks, and is drawn again when the look has ended."""
    gate = threading.Event()

    def look(study: Study, progress, signal: Signal) -> Outcome:
        assert signal.look_only
        gate.wait(LONG)
        if stored:
            return Outcome()
        raise NotStoredError("Not everything is stored.")

    monkeypatch.setattr(Study, "__call__", look)
    monkeypatch.setattr("ui.study.run_panel.LOOK", 0.05)
    app = AppTest.from_function(slowly_looking_page, default_timeout=30).run()
    assert "The page's beginning." in texts(app)
    assert [bar.proto.text for bar in app.get("progress")] == [LOOKING]
    assert "stored: " not in texts(app)
    gate.set()
    (job,) = [job for job in jobs()._jobs.values() if job.title == "RSA"]
    assert job.ended.wait(LONG)
    app.run()
    assert f"stored: {stored}" in texts(app)
    assert not app.get("progress")


@pytest.mark.slow
def test_a_look_that_was_dropped_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy server the page of a session that waits may seem to be left."""
    gate, looks = threading.Event(), []

    def look(study: Study, progress, signal: Signal) -> Outcome:
        looks.append(signal)
        while not gate.wait(0.01):
            if signal.is_set():
                raise CancelledError("The run was cancelled.")
        return Outcome()

    monkeypatch.setattr(Study, "__call__", look)
    monkeypatch.setattr("ui.study.run_panel.LOOK", 0.05)
    app = AppTest.from_function(slowly_looking_page, default_timeout=30).run()
    (job,) = [job for job in jobs()._jobs.values() if job.title == "RSA"]
    jobs().leave(job, next(iter(job.watchers)))
    assert job.ended.wait(LONG)
    gate.set()
    for _ in range(100):
        if "stored: True" in texts(app.run()):
            break
    assert "stored: True" in texts(app)
    assert len(looks) == 2


@pytest.mark.slow
def test_a_page_waits_for_its_turn_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Study, "__call__", lambda study, progress, signal: Outcome())
    monkeypatch.setattr("ui.study.run_panel.LOOK", 0.05)
    monkeypatch.setattr("ui.study.jobs.LOOKS", 0)
    app = AppTest.from_function(slowly_looking_page, default_timeout=30).run()
    assert [bar.proto.text for bar in app.get("progress")] == [LOOKING]
    assert "stored: " not in texts(app)
    monkeypatch.setattr("ui.study.jobs.LOOKS", 1)
    assert "stored: True" in texts(app.run())


@pytest.mark.exhaustive
@pytest.mark.slow
def test_cancel_says_so_and_run_again_starts_anew() -> None:
    app = press(open_page(), "Cancel")
    app.run()
    assert CANCELLED in texts(app)
    press(app, "Run again")
    finish(app)
    assert "It is done." in texts(app)
    assert STUDIES["a"].runs == 2


@pytest.mark.exhaustive
@pytest.mark.slow
def test_leaving_a_shared_study_does_not_stop_it() -> None:
    leaving, staying = open_page(), open_page()
    press(leaving, "Cancel")
    assert CANCELLED in texts(leaving.run())
    finish(staying)
    assert "It is done." in texts(staying)
    assert CANCELLED in texts(leaving.run())
    assert STUDIES["a"].runs == 1


@pytest.mark.slow
def test_an_expected_error_is_a_sentence_and_the_button_tries_again() -> None:
    STUDIES["a"].result = ModelError("The hub has no model [x](http://example.org).")
    app = finish(open_page())
    assert not app.exception
    assert r"no model \[x\]\(" in app.error[0].value  # shown as it is, not as a link
    STUDIES["a"].result = Outcome()
    finish(press(app, "Run"))
    assert "It is done." in texts(app)


@pytest.mark.slow
def test_a_bug_is_loud_at_home_and_polite_when_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    STUDIES["a"].result = ZeroDivisionError("the secret path /srv/data")
    app = finish(open_page())
    assert app.exception[0].message == "the secret path /srv/data"
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    app.run()
    assert not app.exception
    assert APOLOGY in texts(app)
    assert "secret" not in texts(app)


@pytest.mark.slow
def test_what_failed_is_named_and_the_rest_is_kept() -> None:
    STUDIES["a"].result = Outcome(failures={"zoo:nli-0": "It is not there."})
    app = finish(open_page())
    assert "It is done." in texts(app)
    assert r"**zoo\:nli\-0** was left out: It is not there" in app.warning[0].value


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "noted"), [([1], 1), ([], 0)])
def test_a_study_of_which_every_task_failed_is_not_among_the_recent(
    monkeypatch: pytest.MonkeyPatch, rows: list[int], noted: int
) -> None:
    recent: list[object] = []
    monkeypatch.setattr("ui.study.run_panel.note_study", recent.append)
    failures = {"zoo:nli-0": "zoo:nli-0 is not there."}
    STUDIES["a"].result = Outcome(failures=failures, tables={"rows": rows, "baselines": [1]})
    app = finish(open_page())
    assert "left out: it is not there" in app.warning[0].value
    assert bool(recent) == bool(noted)
    assert any("Computed in" in each.value for each in app.caption) == bool(noted)


def test_one_cause_is_said_once() -> None:
    offline = "The hub cannot be reached for {0}; use a model from the box."
    failures = {ref: offline.format(ref) for ref in ("hub:a/b", "hub:c/d")} | {
        "zoo:x": "It is not there."
    }
    assert by_cause(failures) == {
        ("hub:a/b", "hub:c/d"): "The hub cannot be reached for hub:a/b; use a model from the box.",
        ("zoo:x",): "It is not there.",
    }


@pytest.mark.slow
def test_a_precomputed_result_can_be_recomputed_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_precomputed(tmp_path / "answers.zip", {})
    monkeypatch.setenv("PALIMPSEST_PRECOMPUTED", str(tmp_path / "answers.zip"))
    STUDIES["a"] = Shipped()
    app = open_page("a")
    assert PRECOMPUTED in texts(app)
    assert "From the box" in texts(app)
    next(button for button in app.button if button.label == "Recompute here").click()
    app.run()
    while any(button.label == "Cancel" for button in app.button):
        app.run()
    assert STUDIES["a"].runs == 1
    assert "Computed here" in texts(app)
    assert PRECOMPUTED not in texts(app)
    app.run()
    assert STUDIES["a"].runs == 1
    assert "From the box" in texts(open_page("a"))  # another reader


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_cancelled_recomputation_shows_the_precomputed_result_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_precomputed(tmp_path / "answers.zip", {})
    monkeypatch.setenv("PALIMPSEST_PRECOMPUTED", str(tmp_path / "answers.zip"))
    STUDIES["a"] = Shipped(waits=True)
    app = press(open_page("a"), "Recompute here")
    assert "From the box" in texts(app), "the earlier result stays meanwhile"
    assert f"{PRECOMPUTED}, until it is recomputed" in texts(app)
    press(app, "Cancel")
    app.run()
    assert "From the box" in texts(app)
    assert PRECOMPUTED in texts(app)
    assert CANCELLED not in texts(app)
    press(app, "Recompute here")
    assert any(button.label == "Cancel" for button in app.button), "it can be asked for again"
    finish(app)
    assert "Computed here" in texts(app)


@pytest.mark.slow
def test_a_full_queue_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ui.study.run_panel.current_limits",
        lambda: type("L", (), {"max_queue": 1, "shared": True, "max_seconds": 60.0})(),
    )
    open_page("a")
    full = open_page("b")
    assert "1 studies are waiting" in texts(full).replace("\\", "")
    assert STUDIES["b"].runs == 0


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (None, "Preparing"),
        (Progress(0, 0, 0, 0.0, "", 0.0, None), "Preparing"),
        (Progress(2, 5, 0, 0.4, "", 1.0, None), "step 3 of 5"),
        (Progress(5, 5, 0, 1.0, "", 1.0, None), "step 5 of 5"),
        (Progress(2, 5, 0, 0.4, "nli: layer 3", 1.0, 0.2), "nli: layer 3, about 1 s left"),
        (
            Progress(2, 5, 0, 0.4, "zoo:parse-0: loading zoo:seed-0", 1.0, None),
            "parse-0: loading seed-0",
        ),
        (Progress(2, 5, 0, 0.4, "nli: layer 3", 1.0, 200.0), "nli: layer 3, about 3 min left"),
    ],
)
def test_progress_in_words(progress: Progress | None, expected: str) -> None:
    assert describe_progress(progress) == expected


def test_a_finished_job_in_words() -> None:
    job = Job("a", "A", lambda progress, signal: None, seconds=0.12)
    job.progress = Progress(3, 3, 3, 1.0, "", 0.1, 0.0)
    assert describe_done(job) == STORED
    job.progress = Progress(3, 3, 1, 1.0, "", 0.1, 0.0)
    assert describe_done(job).endswith("Computed in 0.1 s")
    assert describe_done(job, waited=False) == STORED
    job.seconds = 600
    assert describe_done(job).endswith("Computed in 10 min")
    assert describe_queue(3, None) == "3 studies run before this one."
    assert describe_queue(1, 40.2) == "One study runs before this one, about 40 s."
