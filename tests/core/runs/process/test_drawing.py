"""The process that draws: the same files as in this one, and a sentence where it does not run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import vl_convert

from core.errors import DrawingError
from core.runs.process import drawing
from core.runs.process.persistent import PersistentProcess
from tests import ROOT

SPEC = json.dumps(
    {
        "data": {"values": [{"x": 1, "y": 2}, {"x": 2, "y": 1}]},
        "mark": "line",
        "encoding": {"x": {"field": "x", "type": "quantitative"}},
    }
)
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from core.__main__ import run
sys.argv = ["palimpsest", *sys.argv[2:]]
sys.exit(run())
"""
SMALL = [
    "--sentences",
    "20",
    "--words",
    "40",
    "--no-references",
    "--compare",
    "zoo:parse-0",
]


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the engine a process that may not have what it reserves."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4 * 2**30, 4 * 2**30))
    crashing = PersistentProcess("tests.core.runs.process.crashing")
    monkeypatch.setattr(drawing, "_engine", crashing)


@pytest.mark.slow
def test_a_drawing_is_that_of_the_engine_itself() -> None:
    assert drawing.draw("svg", SPEC).decode() == vl_convert.vegalite_to_svg(SPEC)
    assert drawing.draw("png", SPEC, scale=1.5, ppi=72.0) == vl_convert.vegalite_to_png(
        SPEC, scale=1.5, ppi=72.0
    )
    assert drawing.draw("pdf", SPEC).startswith(b"%PDF")


@pytest.mark.slow
def test_one_process_draws_all_and_ends_when_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "REST", 0.3)
    drawing.draw("svg", SPEC)
    process = drawing._engine._process
    drawing.draw("svg", SPEC)
    assert process is drawing._engine._process
    assert process is not None
    until = time.monotonic() + 20
    while process.alive and time.monotonic() < until:
        time.sleep(0.05)
    assert not process.alive
    assert drawing.draw("svg", SPEC)


def test_a_specification_that_the_engine_refuses_is_a_bug_and_no_lack_of_memory() -> None:
    with pytest.raises(ValueError, match="conversion failed"):
        drawing.draw("svg", '{"mark": {}}')
    assert drawing.draw("svg", SPEC)


@pytest.mark.usefixtures("limited")
def test_an_engine_that_ends_its_process_is_a_sentence() -> None:
    with pytest.raises(DrawingError, match=r"`ulimit -v` allows 4 GiB"):
        drawing.draw("svg", SPEC)


def test_an_engine_that_crashes_without_a_limit_is_a_sentence_too(
    limited: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    with pytest.raises(DrawingError, match="crashed: try again"):
        drawing.draw("svg", SPEC)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command has computed the second reads."""
    return tmp_path_factory.mktemp("store")


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("gigabytes", [2, 8])
def test_under_a_limit_of_addresses_the_tables_are_written_and_the_figures_missed(
    gigabytes: int, tmp_path: Path, shared_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(shared_store))
    limit = str(gigabytes * 2**30)
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, limit, "rsa", *SMALL, "--out", str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert f"`ulimit -v` allows {gigabytes} GiB" in ended.stderr
    assert "File " not in ended.stderr
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"result.json", "result.safetensors", "table.csv"} <= written
    assert not any(name.endswith(".svg") for name in written)
    assert "figure.svg" not in json.loads((tmp_path / "out" / "result.json").read_text())["files"]
