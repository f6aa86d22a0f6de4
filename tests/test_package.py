"""`pip install .`: the command, the importable core, the box, and every dependency listed once."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests import ROOT
from tests.release import link_sources


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder where pip has put the package, its dependencies left where they are."""
    source = link_sources(tmp_path_factory.mktemp("source"))
    target = tmp_path_factory.mktemp("target")
    how = (
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--no-compile",
    )
    # the box is large, and read where it is put
    stored = "--config-settings=--build-option=--compression=stored"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            *how,
            stored,
            "--target",
            str(target),
            str(source),
        ],
        check=True,
    )
    return target


def run(installed: Path, *command: str) -> str:
    """What a command says that finds the package there, started where the repository is not."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    environment.pop("PALIMPSEST_ZOO", None)
    done = subprocess.run(
        command, cwd=installed.parent, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_the_command_is_the_module_and_finds_the_box(installed: Path) -> None:
    command = str(installed / "bin" / "palimpsest")
    assert run(installed, command, "--help").startswith("usage: palimpsest ")
    listed = run(installed, command, "zoo", "list")
    assert listed == run(installed, sys.executable, "-m", "core", "zoo", "list")
    assert "zoo:seed-0" in listed
    ask = (
        "import core.text.corpora as text; print(text.__file__, "
        "len(text.read_corpus('demo-gold').sentences))"
    )
    found, sentences = run(installed, sys.executable, "-c", ask).split()
    assert Path(found).is_relative_to(installed)
    assert int(sentences) > 0


@pytest.mark.slow
def test_only_core_and_the_box_are_installed_with_every_file_of_both(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {
        "bin",
        "core",
        "extras",
        "zoo",
    }
    for folder in (
        "core",
        "extras",
        "zoo/models",
        "zoo/parser",
        "zoo/corpus",
        "zoo/tokenizer",
        "zoo/answers",
    ):
        made = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {path for path in made if path.suffix != ".pyc"} == {
            path.relative_to(installed)
            for path in (installed / folder).rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }


@pytest.mark.slow
def test_dependencies_are_those_of_the_requirements_files(installed: Path) -> None:
    (found,) = metadata.distributions(path=[str(installed)])
    plain = {line for line in found.requires or [] if "extra ==" not in line}
    extra = {line.split(";")[0].strip() for line in found.requires or [] if "extra ==" in line}
    assert plain == _listed("requirements.txt")
    assert extra == _listed("requirements-dask.txt")
    assert not _listed("requirements-dev.txt") & (plain | extra)


def _listed(name: str) -> set[str]:
    return {
        line
        for line in (ROOT / name).read_text(encoding="utf8").splitlines()
        if line and line[0] not in "#-"
    }
