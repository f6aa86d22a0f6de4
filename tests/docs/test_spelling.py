"""Documentation and product are spelled right, as far as a list of common misspellings can say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

PLACES = (
    *("docs", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", ".github"),
    *("app.py", "pages", "ui", "core", "extras", "zoo/recipe", "zoo/LICENSES.md"),
)
LISTS = "clear,rare"


def misspelled(*places: Path) -> list[str]:
    """Lines of what is misspelled: file, line, word and correction."""
    command = [sys.executable, "-m", "codespell_lib", "--builtin", LISTS, *map(str, places)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def test_nothing_is_misspelled() -> None:
    assert all((ROOT / place).exists() for place in PLACES)
    assert misspelled(*(ROOT / place for place in PLACES)) == []


@pytest.mark.parametrize("suffix", ["md", "py", "ipynb"])
def test_a_misspelling_is_seen(suffix: str, tmp_path: Path) -> None:
    page = tmp_path / f"page.{suffix}"
    page.write_text('"We recieve a sentance."\n', encoding="utf8")
    assert len(misspelled(page)) == 2
