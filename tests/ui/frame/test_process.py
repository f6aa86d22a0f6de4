"""What is imported while a browser loads: all that a figure needs, nothing that only computing
needs. What still runs when the server is told to stop is cancelled."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime import Runtime, RuntimeState

from core.errors import CancelledError, ModelError
from core.runs.runner import Progress
from core.runs.tasks import Signal
from ui.frame.process import FIGURES, FIRST, server_ends, until_server_ends

WARMED = """
import sys
from ui.frame.process import warm
warm().join()
print(*sys.modules)
"""


@pytest.mark.slow
def test_what_figures_need_is_imported_and_nothing_that_only_computing_needs() -> None:
    run = subprocess.run([sys.executable, "-c", WARMED], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {*FIRST, *FIGURES} <= loaded
    assert not {"torch", "transformers", "spacy"} & loaded


BEGUN = Progress(done=0, total=2, stored=0, fraction=0.0, note="", seconds=0.0, remaining=None)


def state_is(state: RuntimeState | None, monkeypatch: pytest.MonkeyPatch) -> None:
    server = None if state is None else SimpleNamespace(state=state)
    monkeypatch.setattr(Runtime, "_instance", server)


@pytest.mark.parametrize(
    ("state", "ends"),
    [
        (None, False),
        (RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED, False),
        (RuntimeState.STOPPING, True),
        (RuntimeState.STOPPED, True),
    ],
)
def test_a_report_cancels_only_when_the_server_ends(
    state: RuntimeState | None, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_is(state, monkeypatch)
    signal, reports = Signal(), []

    def run(progress: Any, signal: Signal) -> int:
        progress(BEGUN)
        return 7

    assert server_ends() is ends
    assert until_server_ends(run)(reports.append, signal) == 7
    assert signal.is_set() is ends
    assert reports == [BEGUN]


@pytest.mark.parametrize(
    ("state", "expected"),
    [(RuntimeState.NO_SESSIONS_CONNECTED, RuntimeError), (RuntimeState.STOPPED, CancelledError)],
)
def test_what_an_ending_interpreter_refuses_is_no_bug(
    state: RuntimeState, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    state_is(state, monkeypatch)

    def run(progress: Any, signal: Signal) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    with pytest.raises(expected):
        until_server_ends(run)(lambda progress: None, Signal())


def test_a_failure_of_a_running_server_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    state_is(RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED, monkeypatch)

    def run(progress: Any, signal: Signal) -> None:
        raise ModelError("No such model.")

    with pytest.raises(ModelError, match="No such model"):
        until_server_ends(run)(lambda progress: None, Signal())
