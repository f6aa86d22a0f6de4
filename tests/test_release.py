"""What `make release-check` says of versions, and that it checks all that it promises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from core import __version__
from tests import ROOT
from tests.release import versions
from tests.test_make import commands

SAYING = (
    "core/__init__.py",
    "CITATION.cff",
    "zoo/pyproject.toml",
    "CHANGELOG.md",
    "pyproject.toml",
)


def copy_sayings(folder: Path) -> None:
    for copied in SAYING:
        (folder / copied).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / copied, folder / copied)


def test_every_file_says_the_same_version() -> None:
    assert versions(ROOT) == dict.fromkeys(SAYING, __version__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


@pytest.mark.parametrize(
    "name", ["core/__init__.py", "CITATION.cff", "CHANGELOG.md", "zoo/pyproject.toml"]
)
def test_another_version_in_one_file_is_seen(name: str, tmp_path: Path) -> None:
    copy_sayings(tmp_path)
    text = (tmp_path / name).read_text(encoding="utf8")
    (tmp_path / name).write_text(text.replace(__version__, "7.8.9"), encoding="utf8")
    said = versions(tmp_path)
    assert len({*said.values()}) == 2
    assert said[name] == "7.8.9"


def test_a_version_of_its_own_in_pyproject_is_seen(tmp_path: Path) -> None:
    copy_sayings(tmp_path)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    settings = settings.replace('dynamic = ["version"]', 'version = "7.8.9"')
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf8")
    assert versions(tmp_path)["pyproject.toml"] == "7.8.9"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_a_release_is_checked_in_all_its_parts(tmp_path: Path) -> None:
    index = "https://download.pytorch.org/whl/cpu"
    said = "\n".join(commands(tmp_path, f"TORCH_INDEX={index}", target="release-check"))
    parts = ("tests.release --torch-index", "test_precomputed.py", "mkdocs build --strict")
    assert [part for part in (*parts, "--nbmake") if part not in said] == []
