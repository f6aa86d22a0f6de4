"""Notebooks open on Colab: their badges, and a first cell that installs only where it must."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from zoo.recipe.heads import address

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
COLAB = "https://colab.research.google.com/github/"
RUN = """
import json, subprocess, sys
cell, site, installed = sys.argv[1:]
asked = []
def install(command, check):
    asked.append(command)
    sys.path.append(site)
if installed:
    sys.path.append(site)
subprocess.run = install
exec(cell)
from core import catalogue
print(json.dumps([asked, catalogue.__file__]))
"""


def cells(path: Path, kind: str) -> list[str]:
    """The sources of a notebook's cells of a kind."""
    found = json.loads(path.read_text(encoding="utf8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def run(place: Path, site: Path, installed: bool) -> list[list[str]]:
    """Run the first cell in a folder, with pip's part played; return what pip was asked for."""
    (site / "palimpsest").symlink_to(ROOT / "deploy" / "installed")
    command = [sys.executable, "-I", "-c", RUN, cells(NOTEBOOKS[0], "code")[0], str(site)]
    answer = subprocess.run(
        [*command, "1" if installed else ""], cwd=place, capture_output=True, text=True, check=True
    )
    asked, where = json.loads(answer.stdout)
    assert Path(where) == ROOT / "core" / "catalogue.py"
    return list(asked)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_badge_opens_the_notebook_wherever_it_is_named(path: Path) -> None:
    repository = address().removeprefix("https://github.com/")
    link = f"]({COLAB}{repository}/blob/main/docs/notebooks/{path.name})"
    assert link in cells(path, "markdown")[0]
    assert link in (ROOT / "docs/tutorials/notebooks.md").read_text(encoding="utf8")


def test_all_notebooks_begin_with_the_same_cell() -> None:
    assert len({cells(path, "code")[0] for path in NOTEBOOKS}) == 1


@pytest.mark.parametrize("place", ["docs/notebooks", "."])
def test_in_a_clone_nothing_is_installed(place: str, tmp_path: Path) -> None:
    assert run(ROOT / place, tmp_path, installed=False) == []


def test_what_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    assert run(tmp_path, tmp_path, installed=True) == []


def test_elsewhere_palimpsest_is_installed_from_its_address(tmp_path: Path) -> None:
    (asked,) = run(tmp_path, tmp_path, installed=False)
    assert asked == [sys.executable, "-m", "pip", "install", "--quiet", f"git+{address()}"]
