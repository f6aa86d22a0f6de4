"""A task's share of the cores reaches torch and numpy, and what the user set stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.runs.process import cores
from core.runs.process.cores import VARIABLE, VARIABLE_OF_NUMBA, share_cores
from tests import ROOT


@pytest.mark.parametrize(("available", "share"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_each_of_two_tasks_gets_half_of_the_cores(
    available: int, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (VARIABLE, VARIABLE_OF_NUMBA):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)  # so that what share_cores sets goes with the test
    monkeypatch.setattr(cores, "available_cores", lambda: available)
    assert share_cores() == share
    assert os.environ[VARIABLE] == os.environ[VARIABLE_OF_NUMBA] == str(share)


@pytest.mark.parametrize(("given", "share"), [("3", 3), ("many", 1), ("0", 1), ("2,1", 1)])
def test_what_the_user_set_stands(given: str, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    assert share_cores() == share
    assert os.environ[VARIABLE] == given


@pytest.mark.exhaustive
@pytest.mark.slow
def test_limits_stay_where_runs_overlap() -> None:
    """Two runs at once: whichever ends first gives no library its threads back, and neither takes
    more away."""
    code = """
import os, threading
os.environ["OMP_NUM_THREADS"] = "1"
import numpy, torch
from threadpoolctl import threadpool_info
from core.runs.runner import open_executor
def threads():
    blas = [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
    return {torch.get_num_threads(), *blas}
torch.set_num_threads(2)
with open_executor():
    with open_executor():
        inside = threads()
    after_one = threads()
print(inside, after_one, threads())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["{1}"] * 3


@pytest.mark.exhaustive
@pytest.mark.slow
def test_torch_reads_the_share_when_it_is_loaded() -> None:
    code = (
        "from core.runs.process.cores import share_cores; share_cores(); import torch; "
        "print(torch.get_num_threads())"
    )
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(said.stdout) == max(1, cores.available_cores() // cores.TASKS_AT_ONCE)


@pytest.mark.slow
def test_a_library_that_another_thread_still_imports_is_waited_for(tmp_path: Path) -> None:
    """A study may begin while another one's thread imports torch."""
    (tmp_path / "torch.py").write_text(
        "import time; time.sleep(0.5)\ndef set_num_threads(share): print('told', share)"
    )
    code = """
import sys, threading, time
from core.runs.process.cores import limit_threads
threading.Thread(target=__import__, args=("torch",)).start()
while "torch" not in sys.modules:
    time.sleep(0.01)
limit_threads()
"""
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, VARIABLE: "1", "PYTHONPATH": paths}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["told", "1"]
