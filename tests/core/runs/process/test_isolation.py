"""A process of its own: where it finds its modules, and that its end is one error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.runs.process.isolation import Apart, ApartError, Patience

QUICKLY = Patience(silence=60.0, deadline=60.0)
MODULE = """
import json
import statistics

def answer(request):
    yield {"median": statistics.median(request), "file": statistics.__file__}
"""


def test_it_finds_its_modules_from_any_directory_and_shadows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's folder is no place to import from: its `statistics` is not Python's."""
    (tmp_path / "asked.py").write_text(MODULE, encoding="utf8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = Apart("asked", 2**30)
    (said,) = process.ask([3, 1, 2], QUICKLY, "asking")
    process.close()
    assert said["median"] == 2
    assert Path(said["file"]).parent == Path(os.__file__).parent


def test_a_module_that_is_not_there_is_one_error() -> None:
    process = Apart("core.nowhere", 2**30)
    with pytest.raises(ApartError):
        list(process.ask(1, QUICKLY, "asking"))
    process.close()
