"""What a machine does to a store: a disk that is full, a clock that goes back, threads that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core.commands.main import main as command
from core.runs.store import Store, StoreWarning

VALUE = {"x": np.arange(20_000.0)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(where)]
    if os.getuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes root's rights")
    yield where
    subprocess.run(["umount", "--lazy", str(where)], check=True)


def fill(disk: Path) -> Path:
    """Write a file until nothing more fits."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def test_a_disk_that_fills_up_takes_no_result_and_can_be_cleared(small_disk: Path) -> None:
    store = Store(small_disk / "store")
    assert store.put("before", VALUE)
    filler = fill(small_disk)
    with pytest.warns(StoreWarning, match="The disk is full"):
        value, _ = store.get_or_compute("key", lambda: VALUE)
    assert np.array_equal(value["x"], VALUE["x"])
    assert store.get("before") is not None, "what was kept can be read"
    assert not list(small_disk.rglob("*.part"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        opened = Store(small_disk / "store")
        assert opened.get_or_compute("key", lambda: VALUE)[1] is False, "a full disk opens, and keeps nothing"
    store.clear()
    filler.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        opened.put("key", VALUE)
    assert opened.put("key", VALUE), "with room it keeps again"
    assert Store(small_disk / "store").get("key") is not None


def test_a_full_disk_can_be_cleared_by_the_command_that_the_warning_names(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(small_disk / "store"))
    assert Store(small_disk / "store").put("before", VALUE)
    fill(small_disk)
    assert command(["store", "clear"]) == 0
    assert not list((small_disk / "store").rglob("*.safetensors"))


def test_a_study_on_a_full_disk_says_its_result_and_leaves_no_half_of_it(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(small_disk / "store"))
    fill(small_disk)
    small = ["--sentences", "20", "--words", "40", "--draws", "20", "--no-references", "--compare", "zoo:parse-0"]
    with pytest.warns(StoreWarning, match="The disk is full"):
        status = command(["rsa", *small, "--out", str(small_disk / "out")])
    said = capsys.readouterr()
    assert status != 0
    assert "parse-0" in said.out, "the result is said before anything is written"
    assert "No space left on device" in said.err
    assert sorted(path.name for path in small_disk.iterdir() if path.name != "store") == ["filler"]
