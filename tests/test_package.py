"""`pip install .`: one name with all that it needs below it, command and app, and what it needs."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from core import DISTRIBUTION
from tests import ROOT
from tests.browser.server import started
from tests.release import link_sources
from tests.stranger import ALONE, install_stranger

PARTS = ("core", "extras", "pages", "ui")  # whose code is in the wheel
LOOK = """
import json, time, palimpsest, ui
from streamlit.testing.v1 import AppTest

app, until = AppTest.from_file({page!r}, default_timeout=60), time.monotonic() + 60
while not app.run().get("vega_lite_chart"):  # until the precomputed result has been read
    assert not app.exception and time.monotonic() < until
    time.sleep(0.2)
exceptions = [each.message for each in app.exception]
spec = app.get("vega_lite_chart")[0].proto.spec
print(json.dumps({{"exceptions": exceptions, "from": ui.__file__, "spec": spec}}))
"""
OF_THE_REPOSITORY = re.compile(r"\bmake (app|zoo|precomputed)\b|git checkout|python -m core")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder where pip has put the package, its dependencies left where they are."""
    source = link_sources(tmp_path_factory.mktemp("source"))
    target = tmp_path_factory.mktemp("target")
    how = (*ALONE, "--no-compile")
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


def run(installed: Path, *command: str, beside: str = "") -> str:
    """What a command says that finds the package there, and what lies in a folder `beside` it,
    started where the repository is not."""
    environment = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{beside}"}
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
    assert listed == run(installed, sys.executable, "-m", "palimpsest", "zoo", "list")
    assert "zoo:seed-0" in listed
    ask = (
        "import palimpsest.core.text.corpora as text, core; from core.text import corpora; "
        "print(text is corpora, text.__file__, len(text.read_corpus('demo-gold').sentences))"
    )
    same, file, sentences = run(installed, sys.executable, "-c", ask).split()
    assert same == "True"
    assert Path(file).is_relative_to(installed / "palimpsest")
    assert int(sentences) > 0


@pytest.mark.slow
def test_another_package_named_core_is_said(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("", encoding="utf8")
    ask = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import core, palimpsest"
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(installed, sys.executable, "-c", ask)
    assert "another of this name is in use" in failed.value.stderr


@pytest.mark.slow
def test_one_name_is_installed_with_every_file_below_it(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {
        "bin",
        "palimpsest",
    }
    package = installed / "palimpsest"
    for folder in (
        "core",
        "extras",
        "pages",
        "ui",
        "zoo/models",
        "zoo/parser",
        "zoo/corpus",
        "zoo/tokenizer",
        "zoo/answers",
    ):
        made = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {path for path in made if path.suffix != ".pyc"} == {
            path.relative_to(package)
            for path in (package / folder).rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }
    for name in ("app.py", ".streamlit/config.toml"):
        assert (package / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.slow
def test_the_installed_app_comes_up_in_another_folder(installed: Path, tmp_path: Path) -> None:
    command = (str(installed / "bin" / "palimpsest"), "app")
    paths = {"PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    with started(command, tmp_path, tmp_path, **paths) as (_, address):
        log = (tmp_path / "log.txt").read_text(encoding="utf8")
        assert f"Palimpsest answers at {address} (local mode)" in log


@pytest.mark.slow
def test_the_installed_command_runs_a_study_of_an_included_model(
    installed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    few = "--compare zoo:parse-0 --sentences 20 --words 60 --no-references --no-functions"
    run(installed, str(installed / "bin" / "palimpsest"), "rsa", *few.split(), "--out", str(out))
    record = json.loads((out / "result.json").read_text(encoding="utf8"))
    assert record["spec"]["compare"] == ["zoo:parse-0"]
    assert record["failures"] == {}
    assert (out / "figure.svg").read_text(encoding="utf8").startswith("<svg")


@pytest.mark.slow
@pytest.mark.usefixtures("precomputed_results")
def test_an_installed_page_draws_its_first_figure(installed: Path) -> None:
    page = installed / "palimpsest" / "pages" / "rsa.py"
    seen = json.loads(
        run(installed, sys.executable, "-c", LOOK.format(page=str(page))).splitlines()[-1]
    )
    assert seen["exceptions"] == []
    assert Path(seen["from"]).is_relative_to(installed)
    assert "parse-0" in seen["spec"]
    assert json.loads(seen["spec"])["$schema"].partition("/schema/")[2].startswith("vega-lite")


@pytest.mark.slow
def test_the_installed_command_has_the_study_of_another_package(
    installed: Path, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("source", "target")]
    for folder in folders:
        folder.mkdir()
    command, beside = str(installed / "bin" / "palimpsest"), str(install_stranger(*folders))
    assert "rsa length" not in run(installed, command, "--help")
    assert "rsa length" in run(installed, command, "--help", beside=beside)
    options = run(installed, command, "rsa", "length", "--help", beside=beside)
    assert options.startswith("usage: palimpsest rsa length")


def test_what_is_needed_is_what_is_pinned() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    project, groups = settings["project"], settings["dependency-groups"]
    plain = "requirements.txt"
    for names, files in (
        (project["dependencies"], [plain]),
        (project["optional-dependencies"]["dask"], ["requirements-dask.txt"]),
        (groups["test"], [plain, "requirements-dev.txt"]),
        (groups["docs"][1:], ["requirements-docs.txt"]),
    ):
        pinned = {
            canonicalize_name(one.name): next(iter(one.specifier)).version
            for file in files
            for one in map(Requirement, _listed(file))
        }
        for needed in map(Requirement, names):
            version = Version(pinned[canonicalize_name(needed.name)])
            (lowest,) = (one.version for one in needed.specifier if one.operator == ">=")
            assert version in needed.specifier
            assert version in SpecifierSet(f"~={lowest}.0"), f"{needed} was not tested"


def test_groups_are_what_developers_requirements_begin_with() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))[
        "dependency-groups"
    ]
    assert groups["docs"].pop(0) == {"include-group": "test"}
    of_the_app = {Requirement(line).name for line in _listed("requirements.txt")}
    for group, file in (("test", "requirements-dev.txt"), ("docs", "requirements-docs.txt")):
        direct = (ROOT / file).read_text(encoding="utf8").partition("\n\n")[0].splitlines()
        assert {Requirement(line).name for line in direct if line[0] not in "#-"} == {
            Requirement(line).name for line in groups[group]
        } - of_the_app
    assert "dev" not in groups  # `uv sync` would install it unasked


def test_what_tests_and_documentation_import_is_in_a_group() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    project, groups = settings["project"], settings["dependency-groups"]
    lines = [
        *project["dependencies"],
        *project["optional-dependencies"]["dask"],
        *groups["test"],
        *groups["docs"][1:],
    ]
    needed = {canonicalize_name(Requirement(line).name) for line in lines}
    brought = metadata.packages_distributions()
    files = [path for part in ("tests", "docs/make") for path in (ROOT / part).rglob("*.py")]
    imported = {name.partition(".")[0] for path in files for name in _imported(path)}
    assert {
        name
        for name in imported & brought.keys()  # the documentation's packages are not everywhere
        if not needed & {canonicalize_name(each) for each in brought[name]}
    } == set()


def test_what_is_imported_is_what_is_needed() -> None:
    """An import that a dependency of a dependency happens to bring may go with its next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["dask"]]
    needed = {canonicalize_name(Requirement(line).name) for line in lines}
    brought, ours = metadata.packages_distributions(), {"palimpsest", *PARTS}
    files = [ROOT / "app.py", *(path for part in PARTS for path in (ROOT / part).rglob("*.py"))]
    imported = {name.partition(".")[0] for path in files for name in _imported(path)}
    assert {
        name
        for name in imported - ours - sys.stdlib_module_names
        if not needed & {canonicalize_name(each) for each in brought.get(name, ())}
    } == set()


def test_sentences_name_commands_that_an_installed_package_has() -> None:
    """`core.COMMAND` and `core.models.zoo` know how it was installed; all else asks them."""
    told = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for part in PARTS
        for path in (ROOT / part).rglob("*.py")
        if path not in (ROOT / "core" / "__init__.py", ROOT / "core" / "models" / "zoo.py")
        for line, text in _texts(path)
        if OF_THE_REPOSITORY.search(text)
    ]
    assert told == []


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """All texts of a file with their lines, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in docstrings:
            yield node.lineno, str(node.value)


def _imported(path: Path) -> Iterator[str]:
    """All modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


@pytest.mark.slow
def test_the_wheel_needs_what_the_project_says(installed: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    (found,) = metadata.distributions(path=[str(installed)])
    plain = {Requirement(line).name for line in found.requires or [] if "extra ==" not in line}
    assert plain == {Requirement(line).name for line in project["dependencies"]}
    assert found.name == DISTRIBUTION


def _listed(name: str) -> set[str]:
    return {
        line
        for line in (ROOT / name).read_text(encoding="utf8").splitlines()
        if line and line[0] not in "#-"
    }
