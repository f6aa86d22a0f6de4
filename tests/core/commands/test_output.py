"""A command whose output is closed, full, or a pipe that nobody reads: its files are whole, and it
ends without a traceback."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from core.commands.output import LINE, draw_bar, note_warning
from core.errors import PalimpsestWarning
from tests import ROOT
from tests.cases import exhaustive

COMMAND = f"{sys.executable} -m core"
RUN = "rsa"  # as it is in the box: nothing is computed
CLOSED = [("> /dev/full", 2), (">&-", 0), ("2>&-", 0), ("2> /dev/full", 0)]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirections")


def run(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(("redirection", "status"), exhaustive(CLOSED, CLOSED[0]))
def test_files_are_written_whatever_becomes_of_the_output(
    redirection: str, status: int, tmp_path: Path, precomputed_results: None
) -> None:
    out = tmp_path / "out"
    ended = run(f"{COMMAND} {RUN} --out {out} {redirection}")
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr
    assert {"result.json", "table.csv", "figure.svg"} <= {path.name for path in out.iterdir()}
    if redirection.startswith("2"):
        assert "parse-0" in ended.stdout
        assert f"Written: {out}" in ended.stdout
    if redirection == "> /dev/full":
        assert "Standard output could not be written" in ended.stderr


@pytest.mark.slow
def test_a_list_that_nobody_reads_to_its_end_ends_in_silence() -> None:
    ended = run(f"{COMMAND} zoo list | true")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_a_list_that_finds_no_room_is_an_error() -> None:
    ended = run(f"{COMMAND} zoo list > /dev/full")
    assert ended.returncode == 2
    assert ended.stderr.startswith("palimpsest: Standard output could not be written (No space")
    assert ended.stderr.count("\n") == 1


def test_a_minus_sign_is_written_to_a_file_in_any_locale() -> None:
    line = "from core.commands.output import prepare_streams; import sys; prepare_streams(); "
    write = "print('\u22121'); print('\u22121', file=sys.stderr)"
    ended = run(f'PYTHONIOENCODING=cp1252 {sys.executable} -c "{line} {write}"')
    assert (ended.stdout, ended.stderr) == ("\u22121\n", "\u22121\n")


def test_a_bar_is_drawn_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_bar(0.5, "1/2")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    draw_bar(0.5, f"1/2 {'x' * LINE}")
    drawn = capsys.readouterr().err.removeprefix("\r\033[K")
    assert drawn.startswith("█" * 15 + "·" * 15 + " 1/2 x")
    assert len(drawn) == LINE


def test_warnings_are_notes_without_lines_of_source_and_libraries_keep_theirs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", note_warning)
        warnings.warn("The disk is full.", PalimpsestWarning, stacklevel=1)
        warnings.warn("Set n_init to silence this.", FutureWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: The disk is full.\n"


def test_who_asks_for_pythons_warnings_gets_them() -> None:
    line = "from core.commands.output import prepare_streams; import warnings; prepare_streams(); "
    ended = run(f"{sys.executable} -W always -c \"{line} warnings.warn('advice')\"")
    assert "UserWarning: advice" in ended.stderr
