"""The command of a sweep: its price first, its table, its status, and how it resumes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.main import main
from core.limits import MODE
from core.runs.price import Price
from core.sweep.folder import latest_sweeps
from tests.core.sweep.naps import NAP, napping, runs  # noqa: F401

pytestmark = pytest.mark.usefixtures("napping")
Said = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "naps.yaml"
    path.write_text(f"study: nap\nseed: [1, 2]\ngoes: [well, badly]\nlog: {tmp_path / 'log'}")
    return path


@pytest.mark.slow
def test_a_sweep_says_what_it_did_and_resumes(file: Path, tmp_path: Path, capsys: Said) -> None:
    out = tmp_path / "out"
    command = ["sweep", str(file), "--out", str(out)]
    assert main(command) == 1
    said = capsys.readouterr()
    assert "2 of 4 cells are finished" in said.out
    assert f"{out / 'results.parquet'} with 4 rows" in said.out
    assert said.err.count("cannot be read: choose another.") == 2
    assert (out / "sweep.yaml").read_text() == file.read_text()
    assert len(json.loads((out / "sweep.json").read_text())["finished"]) == 2
    assert list(latest_sweeps()) == [out]
    file.write_text(file.read_text().replace(", badly", ""))
    begun = len(runs(tmp_path / "log"))
    assert main(command) == 0
    assert "2 of 2 cells are finished, 2 of them read" in capsys.readouterr().out
    assert len(runs(tmp_path / "log")) == begun
    assert len(pd.read_parquet(out / "results.parquet")) == 2


def test_a_check_prices_and_starts_nothing(file: Path, tmp_path: Path, capsys: Said) -> None:
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), "--check"]) == 0
    said = capsys.readouterr()
    assert "4 cells of nap" in said.out
    assert "Expected: 4 cells: about 10 seconds" in said.err
    assert not (tmp_path / "out").exists()
    assert runs(tmp_path / "log") == []


def test_a_long_sweep_asks_first_and_what_is_finished_costs_nothing(
    file: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    long = replace(NAP, priced=lambda spec: Price(40.0, 0.1, store=2.0))
    monkeypatch.setitem(STUDIES, "nap", long)  # type: ignore[misc]
    file.write_text(file.read_text().replace(", badly", ""))
    command = ["sweep", str(file), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "2 cells: about 80 seconds" in said
    assert "add --yes" in said
    assert runs(tmp_path / "log") == []
    assert main([*command, "--yes"]) == 0
    capsys.readouterr()
    assert main(command) == 0, "nothing is left to be asked for"
    monkeypatch.setenv("PALIMPSEST_STORE_BYTES", str(2**20))
    file.write_text(file.read_text().replace("[1, 2]", "[3, 4]"))
    assert main([*command, "--yes"]) == 0
    assert "Raise PALIMPSEST_STORE_BYTES" in capsys.readouterr().err


def test_a_shared_instance_refuses_what_is_too_long(
    file: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    monkeypatch.setitem(STUDIES, "nap", replace(NAP, priced=lambda spec: Price(600.0, 0.1)))  # type: ignore[misc]
    monkeypatch.setenv(MODE, "shared")
    assert main(["sweep", str(file), "--out", str(tmp_path / "out"), "--yes"]) == 2
    assert "this instance allows 30 minutes: make the sweep smaller" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wrong_file_and_a_wrong_scheduler_are_one_sentence(
    file: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["sweep", str(file), "--out", str(tmp_path / "out")]
    monkeypatch.setattr("core.runs.cluster.CONNECT_SECONDS", 0.5)
    assert main([*command, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "No Dask scheduler answers" in capsys.readouterr().err
    (tmp_path / "out" / "file").write_text("")
    assert main(["sweep", str(file), "--out", str(tmp_path / "out" / "file")]) == 2
    assert "could not be written to" in capsys.readouterr().err
    file.write_text("study: nap\nseeds: 1")
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nearest is 'seed'" in line
