"""The registry of studies, without streamlit: sharing, order, cancelling, caps, and what a bug
does."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from core.errors import CancelledError, GaveWayError, ModelError, NotStoredError
from core.runs.runner import Progress
from core.runs.tasks import Signal
from ui.study import jobs as jobs_module
from ui.study.jobs import OVERDUE, WATCHING, Job, Jobs, QueueFullError, State

LONG = 10.0  # seconds; nothing here should ever take that long


@dataclass
class Gate:
    """A study that starts, waits to be let through or cancelled, and returns how often it ran."""

    opened: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    runs: int = 0

    def __call__(self, progress: object, signal: Signal) -> int:
        self.runs += 1
        self.begun.set()
        while not self.opened.wait(0.005):
            if signal.is_set():
                raise CancelledError("The run was cancelled.")
        return self.runs


@dataclass
class Outcome:
    failures: dict[str, str]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def finish(job: Job) -> Job:
    assert job.ended.wait(LONG)
    return job


@pytest.mark.slow
def test_a_job_runs_and_its_result_stays() -> None:
    jobs = Jobs()
    job = finish(jobs.ask("a", "A", lambda progress, signal: 7))
    assert (job.state, job.result) == (State.DONE, 7)
    assert jobs.ask("a", "A", lambda progress, signal: 8) is job


def test_two_sessions_share_one_run() -> None:
    jobs, gate = Jobs(), Gate()
    first = jobs.ask("a", "A", gate, watcher="one")
    assert gate.begun.wait(LONG)
    second = jobs.ask("a", "A", gate, watcher="two", again=True)
    assert first is second
    gate.opened.set()
    finish(first)
    third = jobs.ask("a", "A", gate, watcher="three", again=True)
    assert third is first
    assert gate.runs == 1


def test_a_job_that_somebody_looks_at_runs_before_one_that_was_left() -> None:
    clock = Clock()
    jobs, gate, order = Jobs(clock=clock), Gate(), []
    running = jobs.ask("running", "", gate)
    assert gate.begun.wait(LONG)
    left = jobs.ask("left", "", lambda progress, signal: order.append("left"), watcher="one")
    seen = jobs.ask("seen", "", lambda progress, signal: order.append("seen"), watcher="two")
    assert (jobs.ahead(left), jobs.ahead(seen)) == (1, 2)
    clock.now += WATCHING + 1
    jobs.watch(seen, "two")
    assert (jobs.ahead(left), jobs.ahead(seen)) == (2, 1)
    gate.opened.set()
    for job in (running, left, seen):
        finish(job)
    assert order == ["seen", "left"]


def test_jobs_run_in_order_one_at_a_time_and_know_their_place() -> None:
    jobs, gates, order = Jobs(), [Gate() for _ in range(3)], []
    asked = [
        jobs.ask(
            str(n),
            "",
            lambda progress, signal, n=n, gate=gate: order.append(n) or gate(progress, signal),
        )
        for n, gate in enumerate(gates)
    ]
    assert gates[0].begun.wait(LONG)
    assert [jobs.ahead(job) for job in asked] == [0, 1, 2]
    assert [job.state for job in asked] == [State.RUNNING, State.WAITING, State.WAITING]
    for gate in gates:
        gate.opened.set()
    for job in asked:
        finish(job)
    assert order == [0, 1, 2]
    assert [jobs.ahead(job) for job in asked] == [0, 0, 0]


def test_cancel_stops_what_runs_and_removes_what_waits() -> None:
    jobs, gate = Jobs(), Gate()
    running, waiting = (
        jobs.ask("a", "A", gate, watcher="one"),
        jobs.ask("b", "B", gate, watcher="one"),
    )
    assert gate.begun.wait(LONG)
    assert jobs.leave(waiting, "one")
    assert finish(waiting).state is State.CANCELLED
    assert jobs.leave(running, "one")
    assert finish(running).state is State.CANCELLED
    assert gate.runs == 1


def test_a_job_goes_on_for_the_others_until_they_are_gone() -> None:
    clock = Clock()
    jobs, gate = Jobs(clock=clock), Gate()
    job = jobs.ask("a", "A", gate, watcher="one")
    jobs.ask("a", "A", gate, watcher="two")
    assert not jobs.leave(job, "one")
    assert not job.signal.is_set()
    jobs.watch(job, "one")
    clock.now += WATCHING / 2
    jobs.watch(job, "two")
    clock.now += WATCHING - 1
    assert not jobs.leave(job, "one")
    jobs.watch(job, "one")
    clock.now += 2  # two has closed the tab: it has not asked for longer than WATCHING
    assert jobs.leave(job, "one")
    assert finish(job).state is State.CANCELLED


def test_asking_again_after_cancelling_starts_anew_even_while_the_old_run_is_stopping() -> None:
    jobs, slow = Jobs(), threading.Event()

    def stubborn(progress: object, signal: Signal) -> int:
        assert slow.wait(LONG)
        raise CancelledError("The run was cancelled.")

    old = jobs.ask("a", "A", stubborn, watcher="one")
    jobs.leave(old, "one")
    assert jobs.ask("a", "A", stubborn, watcher="one") is old
    new = jobs.ask("a", "A", lambda progress, signal: 1, watcher="one", again=True)
    assert new is not old
    slow.set()
    assert finish(old).state is State.CANCELLED
    assert finish(new).result == 1


def test_an_expected_error_and_a_bug_end_the_job_but_not_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jobs = Jobs()

    def unknown(progress: object, signal: object) -> None:
        raise ModelError("There is no such model.")

    def broken(progress: object, signal: object) -> None:
        raise ZeroDivisionError("a bug")

    expected, bug = finish(jobs.ask("a", "A", unknown)), finish(jobs.ask("b", "B", broken))
    assert (expected.state, str(expected.error)) == (State.FAILED, "There is no such model.")
    assert isinstance(bug.error, ZeroDivisionError)
    assert "the study B failed" in caplog.text
    assert finish(jobs.ask("c", "C", lambda progress, signal: 1)).result == 1
    assert jobs.ask("a", "A", unknown) is expected
    assert jobs.ask("a", "A", unknown, again=True) is not expected


def test_a_study_with_failed_tasks_is_tried_again_only_when_asked() -> None:
    jobs = Jobs()
    job = finish(jobs.ask("a", "A", lambda progress, signal: Outcome({"nli": "It is not there."})))
    assert jobs.ask("a", "A", lambda progress, signal: Outcome({})) is job
    again = finish(jobs.ask("a", "A", lambda progress, signal: Outcome({}), again=True))
    assert again is not job
    assert again.complete


def test_the_queue_has_a_cap_and_says_so() -> None:
    jobs, gate = Jobs(), Gate()
    asked = [jobs.ask(str(n), "", gate, most=2) for n in range(2)]
    with pytest.raises(QueueFullError, match=r"^2 "):
        jobs.ask("x", "", gate, most=2)
    assert jobs.ask("1", "", gate, most=2) is asked[1]
    gate.opened.set()
    for job in asked:
        finish(job)
    finish(jobs.ask("x", "", gate, most=2))


def test_finished_jobs_are_bounded_and_the_oldest_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs_module, "MOST", 2)
    jobs = Jobs()
    for n in range(4):
        finish(jobs.ask(str(n), "", lambda progress, signal: 1))
    jobs.ask("last", "", lambda progress, signal: 1)
    assert list(jobs._jobs) == ["2", "3", "last"]


def test_sessions_are_forgotten_with_their_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MOST", 2)
    monkeypatch.setattr(jobs_module, "KEPT", 0)
    jobs = Jobs()
    for n in range(20):
        job = finish(jobs.ask(str(n), "", lambda progress, signal: 1, watcher=str(n)))
    assert len(jobs._turns) <= 3
    for n in range(20, 40):
        assert jobs.ask("19", "", lambda progress, signal: 1, watcher=str(n)) is job
        jobs.watch(job, f"tab {n}")
    assert [*job.watchers] == ["19"]


@pytest.mark.parametrize(
    ("size", "held", "left"), [(10, 1_000, 30), (100, 500, 5), (100, 1, 3), (10, 1_000_000, 30)]
)
def test_small_results_are_kept_in_numbers_and_large_ones_are_few(
    size: int, held: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class that looks at thirty studies in turn has none of them read again; a few results are
    kept however large they are."""
    monkeypatch.setattr(jobs_module, "HELD", held)
    monkeypatch.setattr(jobs_module, "KEPT", 3)
    jobs = Jobs()
    for n in range(30):
        finish(jobs.ask(str(n), "", lambda progress, signal: SimpleNamespace(nbytes=size)))
    jobs.ask("last", "", lambda progress, signal: 1)
    assert list(jobs._jobs) == [*map(str, range(30 - left, 30)), "last"]


def test_progress_is_read_while_the_study_runs_and_tells_whether_it_was_stored() -> None:
    jobs, gate = Jobs(), Gate()
    reports = [
        Progress(1, 4, 1, 0.25, "sentence 1 of 4", 1.0, 3.0),
        Progress(4, 4, 4, 1.0, "", 1.0, 0.0),
    ]

    def study(progress, signal):
        progress(reports[0])
        gate(progress, signal)
        progress(reports[1])

    job = jobs.ask("a", "A", study)
    assert gate.begun.wait(LONG)
    assert job.progress == reports[0]
    assert not job.from_store
    gate.opened.set()
    assert finish(job).from_store


def test_what_is_stored_does_not_queue() -> None:
    jobs, gate = Jobs(), Gate()
    running = jobs.ask("long", "", gate)
    assert gate.begun.wait(LONG)

    def stored(progress: object, signal: Signal) -> str:
        if not signal.look_only:
            raise AssertionError("it was computed")
        return "found"

    assert finish(jobs.ask("stored", "", stored, look=True)).result == "found"
    assert finish(jobs.ask("wrong", "", unknown, look=True)).state is State.FAILED
    looked = []

    def missing(progress: object, signal: Signal) -> str:
        looked.append(signal.look_only)
        if signal.look_only:
            raise NotStoredError("Not everything is stored.")
        return "computed"

    waiting = jobs.ask("missing", "", missing, look=True)
    until(lambda: jobs.ahead(waiting) == 1)
    gate.opened.set()
    assert finish(waiting).result == "computed"
    assert looked == [True, False]
    assert finish(running).result == 1


def unknown(progress: object, signal: object) -> None:
    raise ModelError("There is no such model.")


def test_a_look_computes_nothing_and_is_no_answer_to_who_asks_for_the_study() -> None:
    jobs, ran = Jobs(), []

    def missing(progress: object, signal: Signal) -> str:
        ran.append(signal.look_only)
        if signal.look_only:
            raise NotStoredError("not there")
        return "computed"

    assert (
        finish(jobs.ask("a", "", lambda progress, signal: "found", only_stored=True)).result
        == "found"
    )
    looked = finish(jobs.ask("b", "", missing, only_stored=True))
    assert looked.state is State.NOT_STORED
    assert jobs.ask("b", "", missing, only_stored=True) is looked
    assert finish(jobs.ask("b", "", missing, look=True)).result == "computed"
    assert jobs.ask("b", "", missing, only_stored=True).result == "computed"
    assert ran == [True, True, False]


def test_who_asks_for_a_study_that_is_being_looked_for_gets_it_computed() -> None:
    jobs, begun, asked = Jobs(), threading.Event(), threading.Event()

    def missing(progress: object, signal: Signal) -> str:
        begun.set()
        assert asked.wait(LONG)
        if signal.look_only:
            raise NotStoredError("not there")
        return "computed"

    looked = jobs.ask("a", "", missing, only_stored=True)
    assert begun.wait(LONG)
    assert jobs.ask("a", "", missing, look=True) is looked
    asked.set()
    assert finish(looked).result == "computed"


def test_a_study_that_nobody_looks_at_gives_way_and_goes_on_later() -> None:
    clock, steps = Clock(), []
    jobs, begun, go_on = Jobs(clock=clock), threading.Event(), threading.Event()

    def long(progress: Callable[[Progress], None], signal: Signal) -> str:
        while len(steps) < 3:
            steps.append("long")
            begun.set()
            assert go_on.wait(LONG)
            progress(Progress(len(steps), 3, 0, 0.0, "", 1.0, 5.0))
            if signal.give_way.is_set():
                raise GaveWayError("The run gave way.")
        return "whole"

    abandoned = jobs.ask("long", "", long, watcher="gone")
    assert begun.wait(LONG)
    clock.now += WATCHING + 1
    seen = jobs.ask("seen", "", lambda progress, signal: steps.append("seen"), watcher="here")
    go_on.set()
    finish(seen)
    assert finish(abandoned).result == "whole"
    assert steps == ["long", "seen", "long"]


def test_a_study_that_nobody_looks_at_ends_when_its_price_is_passed_many_times_over() -> None:
    clock = Clock()
    jobs, go_on = Jobs(clock=clock), threading.Semaphore(0)

    def endless(progress: Callable[[Progress], None], signal: Signal) -> str:
        while not signal.is_set():
            assert go_on.acquire(timeout=LONG)
            progress(Progress(0, 1, 0, 0.0, "", 1.0, None))
            if signal.is_set():
                raise CancelledError("The run was cancelled.")
            told.set()
        return "never"

    def later(seconds: float) -> None:
        told.clear()
        clock.now += seconds
        go_on.release()

    told = threading.Event()
    job = jobs.ask("endless", "", endless, watcher="tab", expected=100.0)
    until(lambda: job.state is State.RUNNING)
    later(OVERDUE * 100.0)
    assert told.wait(LONG)  # nobody has asked for a while, but it is in time
    clock.now += 1.0
    jobs.watch(job, "tab")
    later(0.0)
    assert told.wait(LONG)  # somebody is still there
    later(WATCHING + 1.0)
    assert finish(job).state is State.CANCELLED
    assert finish(jobs.ask("next", "", lambda progress, signal: 1, watcher="tab")).result == 1


def test_turns_go_round_those_who_ask() -> None:
    jobs, gate, order = Jobs(), Gate(), []
    first = jobs.ask("first", "", gate, watcher="greedy")
    assert gate.begun.wait(LONG)
    asked = [first]
    for n, watcher in enumerate(("greedy", "greedy", "modest")):
        asked.append(
            jobs.ask(str(n), "", lambda progress, signal, n=n: order.append(n), watcher=watcher)
        )
    gate.opened.set()
    for job in asked:
        finish(job)
    assert order == [2, 0, 1]


def test_one_session_does_not_fill_the_queue() -> None:
    clock = Clock()
    jobs, gate = Jobs(clock=clock), Gate()
    for n in range(4):
        jobs.ask(str(n), "", gate, watcher="greedy", most=16)
    with pytest.raises(QueueFullError, match=r"^4 "):
        jobs.ask("more", "", gate, watcher="greedy", most=16)
    jobs.ask("other", "", gate, watcher="modest", most=16)
    clock.now += WATCHING + 1  # greedy has left what waits: it makes room
    more = jobs.ask("more", "", gate, watcher="greedy", most=16)
    assert jobs._jobs["1"].state is State.CANCELLED
    gate.opened.set()
    finish(more)


def test_a_look_does_not_wait_for_room_among_what_is_computed() -> None:
    jobs, gate = Jobs(), Gate()
    for n in range(4):
        jobs.ask(str(n), "", gate, watcher="busy", most=16)
    stored = jobs.ask("a", "", lambda progress, signal: "stored", only_stored=True, watcher="busy",
                      most=16)  # fmt: skip
    assert finish(stored).result == "stored"
    gate.opened.set()


def test_looks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "LOOKS", 2)
    jobs, gate = Jobs(), Gate()
    asked = [jobs.ask("running", "", gate, only_stored=True)]
    assert gate.begun.wait(LONG)
    asked += [jobs.ask(f"page {n}", "", gate, only_stored=True) for n in range(2)]
    with pytest.raises(QueueFullError, match="Too many pages"):
        jobs.ask("one more", "", gate, only_stored=True)
    gate.opened.set()
    assert [finish(job).state for job in asked] == [State.DONE] * 3


def test_closed_tabs_do_not_block_the_queue_for_others() -> None:
    clock = Clock()
    jobs, gate = Jobs(clock=clock), Gate()
    asked = [
        jobs.ask(f"{tab} {number}", "", gate, watcher=f"tab {tab}", most=16)
        for tab in range(4)
        for number in range(4)
    ]
    assert gate.begun.wait(LONG)
    jobs.watch(asked[2], "tab 0")
    with pytest.raises(QueueFullError):
        jobs.ask("visitor", "", gate, watcher="visitor", most=16)
    clock.now += WATCHING - 1
    jobs.watch(asked[2], "tab 0")
    clock.now += 2  # all but this one have been left
    visitor = jobs.ask("visitor", "", gate, watcher="visitor", most=16)
    assert visitor.state is State.WAITING
    assert asked[0].state is State.RUNNING  # what runs is not stopped: it gives way by itself
    assert asked[1].state is State.CANCELLED  # the first that waits and that nobody looks at
    assert {job.state for job in asked[2:]} == {State.WAITING}
    gate.opened.set()
    assert finish(visitor).state is State.DONE


def test_how_long_until_it_runs() -> None:
    jobs, gate = Jobs(), Gate()

    def study(progress: Callable[[Progress], None], signal: Signal) -> int:
        progress(Progress(1, 4, 0, 0.25, "", 1.0, 12.0))
        return gate(progress, signal)

    running = jobs.ask("a", "", study)
    assert gate.begun.wait(LONG)
    one, two = (jobs.ask(key, "", lambda progress, signal: 1) for key in "bc")
    assert jobs.wait_seconds(running) is None
    assert jobs.wait_seconds(one) == 12.0
    assert jobs.wait_seconds(two) is None, (
        "nothing has ended yet, so nobody knows how long one takes"
    )
    gate.opened.set()
    finish(two)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_jobs_do_not_import_streamlit() -> None:
    code = "import sys, ui.study.jobs; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_not_stored_is_remembered_longer_than_results_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs_module, "MOST", 2)

    def missing(progress, signal):
        raise NotStoredError("Not everything is stored.")

    jobs = Jobs()
    for number in range(6):
        job = jobs.ask(f"missing {number}", "", missing, only_stored=True)
        assert job.ended.wait(5)
        done = jobs.ask(f"done {number}", "", lambda progress, signal, number=number: number)
        assert done.ended.wait(5)
    assert jobs.ask("missing 0", "", missing, only_stored=True).state is State.NOT_STORED
    assert sum(job.state is State.DONE for job in jobs._jobs.values()) <= 3
