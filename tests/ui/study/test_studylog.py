"""The line that a study leaves in the log: one line, every number, no word of a user."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core import options
from core.errors import CancelledError, GaveWayError, NotStoredError
from core.options import Spec
from core.runs.runner import Progress
from core.runs.tasks import Signal
from core.studies.rsa.layers.spec import RsaSpec
from ui.study.studylog import LOGGER, described, log_study, logged, peak_megabytes

SECRET = "my secret"


@dataclass(frozen=True)
class WrittenSpec(Spec):
    """Every kind of option that may hold what a user wrote."""

    sentence: str = options.line("Sentence", "", help="A sentence.")
    passage: str = options.passage("Passage", "", help="A passage.")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, LOGGER.name):
        yield caplog


def test_a_line_counts_tasks_run_and_found(lines: pytest.LogCaptureFixture) -> None:
    progress = Progress(
        done=12, total=12, stored=5, fraction=1.0, note="", seconds=4.0, remaining=None
    )
    log_study("RSA", RsaSpec(words=50), [progress], outcome="done", seconds=4.219)
    (record,) = lines.records
    peak = peak_megabytes()
    assert peak is not None
    assert 20 < peak < 100_000
    said = json.loads(record.getMessage())
    assert 0 < said.pop("peak_mb") <= peak
    assert said == {
        **{
            "study": "RSA",
            "outcome": "done",
            "run": 7,
            "found": 5,
            "seconds": 4.22,
            "spec": {"words": 50},
        },
    }


def test_a_study_that_never_began_has_its_line_too(lines: pytest.LogCaptureFixture) -> None:
    log_study("RSA", RsaSpec(), [], outcome="cancelled", seconds=0.0)
    said = json.loads(lines.records[0].getMessage())
    assert (said["run"], said["found"], said["outcome"], said["spec"]) == (0, 0, "cancelled", {})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            WrittenSpec(sentence=SECRET, passage=SECRET * 2),
            {"sentence": "9 characters", "passage": "18 characters"},
        ),
        (RsaSpec(corpus=f"upload:{SECRET}.txt"), {"corpus": "upload"}),
        (
            RsaSpec(base="random:zoo:seed-1", corpus="demo:news"),
            {"base": "random:zoo:seed-1", "corpus": "demo:news"},
        ),
    ],
)
def test_nobody_is_quoted(spec: Spec, said: dict[str, object]) -> None:
    assert described(spec) == said


def test_no_path_is_told(tmp_path: Path) -> None:
    text = tmp_path / f"{SECRET}.txt"
    text.write_text("A sentence.\n")
    spec = RsaSpec(
        corpus=str(text),
        base=f"path:{tmp_path}",
        compare=(f"random:path:{tmp_path}", "hub:org/name@main"),
    )
    assert described(spec) == {
        "corpus": "file",
        "base": "path",
        "compare": ["random", "hub:org/name@main"],
    }


def test_a_line_break_makes_no_second_line(lines: pytest.LogCaptureFixture) -> None:
    log_study("RSA\nfaked: line", RsaSpec(), [], outcome="done", seconds=1.0)
    assert "\n" not in lines.records[0].getMessage()


def test_the_line_reaches_standard_error_where_nobody_set_up_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for logger in (LOGGER, logging.getLogger("palimpsest"), logging.getLogger()):
        monkeypatch.setattr(logger, "handlers", [])
    log_study("RSA", RsaSpec(), [], outcome="done", seconds=1.0)
    log_study("RSA", RsaSpec(), [], outcome="done", seconds=1.0)
    assert capsys.readouterr().err.count('palimpsest {"study": "RSA"') == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(None, "done"), (CancelledError("stopped"), "cancelled"), (ValueError(SECRET), "failed")],
)
def test_logged_work_leaves_one_line_however_it_ends(
    lines: pytest.LogCaptureFixture, error: Exception | None, outcome: str
) -> None:
    reported: list[Progress] = []

    def run(report: Callable[[Progress], None], signal: Signal) -> str:
        for done, stored, seconds in (
            (1, 0, 1.0),
            (1, 0, 5.0),
            (1, 1, 0.0),
            (3, 1, 2.0),
        ):  # two stages
            report(
                Progress(done, 3, stored, done / 3, note=SECRET, seconds=seconds, remaining=None)
            )
        if error is not None:
            raise error
        return "result"

    work = logged("RSA", RsaSpec(), run)
    if error is None:
        assert work(reported.append, Signal()) == "result"
    else:
        with pytest.raises(type(error)):
            work(reported.append, Signal())
    (record,) = lines.records
    said = json.loads(record.getMessage())
    assert (said["outcome"], said["run"], said["found"]) == (outcome, 3, 1)
    assert SECRET not in record.getMessage()
    assert len(reported) == 4


@pytest.mark.parametrize("error", [NotStoredError("look"), GaveWayError("later")])
def test_work_that_goes_on_later_has_no_line_yet(
    lines: pytest.LogCaptureFixture, error: Exception
) -> None:
    def run(report: Callable[[Progress], None], signal: Signal) -> None:
        raise error

    with pytest.raises(type(error)):
        logged("RSA", RsaSpec(), run)(lambda _: None, Signal())
    assert not lines.records
