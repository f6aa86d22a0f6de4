"""The command line: every command is documented, errors are one sentence and status 2, interrupts
are 130."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.commands import main as cli
from core.errors import ModelError
from tests import ROOT


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("prob", "no command 'prob'; the nearest is probe."),
        ("nonsense", "no command 'nonsense'. `python -m core --help` lists all."),
        ("align chek --out x", "no command 'align chek'; the nearest is align check."),
        ("rsa --sentnces 3 --out x", "no option '--sentnces'; the nearest is --sentences."),
        ("rsa --xyzzy=3 --out x", "no option '--xyzzy'. `python -m core rsa --help` lists all."),
        ("diff a b --chek --out x", "no option '--chek'; the nearest is --check."),
    ],
)
def test_a_misspelt_word_is_told_with_the_nearest(
    words: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words.split()) == 2
    assert f"palimpsest: There is {near}" in capsys.readouterr().err


def test_an_option_that_became_a_study_is_told_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["weights", "intruders", "--scaling", "--out", "x"]) == 2
    assert "`python -m core weights scaling --help`" in capsys.readouterr().err


def stand_in(monkeypatch: pytest.MonkeyPatch, error: BaseException, **given: object) -> None:
    def main(arguments: argparse.Namespace) -> int:
        raise error

    module = SimpleNamespace(add_arguments=lambda parser: parser.set_defaults(**given), main=main)
    monkeypatch.setitem(cli.COMMANDS, "fails", ("fails", "fails"))
    monkeypatch.setattr(
        cli, "import_module", lambda name: module if name == "fails" else import_module(name)
    )


def test_an_error_for_the_user_is_one_sentence(monkeypatch, capsys) -> None:
    stand_in(monkeypatch, ModelError("No such model. Choose another."))
    assert cli.main(["fails"]) == 2
    assert capsys.readouterr().err == "palimpsest: No such model. Choose another.\n"


def test_a_bug_is_not_hidden(monkeypatch) -> None:
    stand_in(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        cli.main(["fails"])


def test_an_interrupt_says_that_work_is_kept(monkeypatch, capsys) -> None:
    stand_in(monkeypatch, KeyboardInterrupt())
    assert cli.main(["fails"]) == 130
    assert "kept" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["file", "a" * 300])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    stand_in(monkeypatch, AssertionError("it was begun"), out=tmp_path / out)
    assert cli.main(["fails"]) == 2
    assert "Choose another folder with --out" in capsys.readouterr().err


def test_a_run_in_which_every_model_fails_keeps_the_earlier_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    small = ["--no-references", "--no-functions", "--sentences", "20", "--out", out]
    assert cli.main(["rsa", "--compare", "zoo:parse-0", *small]) == 0
    earlier = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    capsys.readouterr()
    assert cli.main(["rsa", "--compare", "zoo:parse0", *small]) == 1
    assert f"the earlier result in {out} stays" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == earlier


@pytest.mark.parametrize(
    "command",
    [
        ["rsa", "--corpus", "a" * 300 + ".txt"],
        ["rsa", "--compare", f"path:/tmp/{'a' * 300}/*"],
        ["swap", "--labelled", "a" * 300],
        ["sweep", "a" * 300],
        ["convert", "a" * 300],
    ],
    ids=lambda command: command[0],
)
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*command, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("palimpsest: ")
    assert "a" * 60 in said


WRITING = """
import os, signal, sys
from pathlib import Path
from core import __main__ as program
from core.commands import main as cli
from core.results.folder import write_folder
from types import SimpleNamespace
write = Path.write_bytes

def write_and_be_asked_to_end(path, content):
    write(path, content)
    if path.name == "second.csv":
        os.kill(os.getpid(), signal.SIGTERM)

Path.write_bytes = write_and_be_asked_to_end
files = {"result.json": b"1", "second.csv": b"2", "third.csv": b"3"}
module = SimpleNamespace(add_arguments=lambda parser: None, main=lambda given: write_folder(Path(OUT), files) and 0)
cli.COMMANDS["writes"] = ("writes", "writes")
cli.import_module = lambda name: module
OUT = sys.argv[1]
sys.argv[1:] = ["writes"]
sys.exit(program.run())
"""


def test_a_process_that_is_asked_to_end_while_it_writes_leaves_no_half_of_a_result(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", WRITING, str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 143, done.stderr
    assert done.stderr.strip() == cli.STOPPED
    assert list(tmp_path.iterdir()) == []


def test_store_info_and_clear(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["store", "info"]) == 0
    assert "entries" in capsys.readouterr().out
    assert cli.main(["store", "clear"]) == 0
    assert "Cleared" in capsys.readouterr().out
