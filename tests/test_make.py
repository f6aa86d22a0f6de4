"""The Makefile's variables reach the commands that it runs; `make -n` only says them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.server import ENTRY
from tests.conftest import BESIDE, LONGEST, TOGETHER, pytest_xdist_make_scheduler

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def commands(tmp_path: Path, *variables: str, target: str = "app") -> list[str]:
    """What `make app` would run where nothing is installed."""
    said = subprocess.run(
        ["make", "--no-print-directory", "-n", target, f"VENV={tmp_path / 'none'}", *variables],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.splitlines()


def test_torch_comes_from_the_index_that_is_named_and_nothing_else_does(tmp_path: Path) -> None:
    index = "https://download.pytorch.org/whl/cpu"
    named = [line for line in commands(tmp_path, f"TORCH_INDEX={index}") if "pip install" in line]
    assert [f"--index-url {index}" in line for line in named] == [True, False]
    assert "torch==" in named[0]
    assert not [line for line in commands(tmp_path) if "index-url" in line]


def test_uv_installs_where_it_is_there_and_pip_elsewhere(tmp_path: Path) -> None:
    python = f"{tmp_path / 'none'}/bin/python"
    index = "https://download.pytorch.org/whl/cpu"
    for variables in ((), (f"TORCH_INDEX={index}",)):
        lines = {
            uv: [line for line in commands(tmp_path, f"UV={uv}", *variables) if " install" in line]
            for uv in ("", "/bin/uv")
        }
        pip = f"{python} -m pip install --quiet --disable-pip-version-check"
        by_uv = f"/bin/uv pip install --quiet --python {python}"
        assert all(line.startswith(pip) for line in lines[""])
        assert [line.replace(pip, by_uv) for line in lines[""]] == lines["/bin/uv"]
    assert f"/bin/uv venv --quiet --seed --python python3 {tmp_path / 'none'}" in commands(
        tmp_path, "UV=/bin/uv"
    )


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_both_set_up_an_environment(tool: str, tmp_path: Path) -> None:
    """With two small packages in the place of torch and of all others, from a folder."""
    uv = shutil.which("uv")
    if tool == "uv" and uv is None:
        pytest.skip("there is no uv here")
    for name, needed in (("torch", ""), ("remainder", "Requires-Dist: torch\n")):
        write_wheel(tmp_path, name, needed)
    (tmp_path / "requirements.txt").write_text("remainder==1.0\ntorch==1.0\n", encoding="utf8")
    here = {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path)}
    users = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    given = (f"UV={uv if tool == 'uv' else ''}", f"PYTHON={sys.executable}", "TORCH_INDEX=")
    made = subprocess.run(
        ["make", f"--file={ROOT / 'Makefile'}", ".venv/app.stamp", "VENV=.venv", *given],
        cwd=tmp_path,
        env={**users, **{f"{tool.upper()}_{name}": value for name, value in here.items()}},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = (line for line in made.stdout.splitlines() if " install " in line)
    assert "torch" in first
    assert second.endswith("-r requirements.txt")
    assert first.startswith(str(uv)) == second.startswith(str(uv)) == (tool == "uv")
    python = tmp_path / ".venv" / "bin" / "python"
    subprocess.run([python, "-c", "import pip, remainder, torch"], cwd=tmp_path, check=True)
    assert (tmp_path / ".venv" / "app.stamp").is_file()


def write_wheel(folder: Path, name: str, needed: str) -> None:
    """Write a package with one empty module as a wheel of version 1.0."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


def test_the_lock_is_made_of_the_pins(tmp_path: Path) -> None:
    (line,) = commands(tmp_path, "UV=/bin/uv", target="lock")
    assert line.startswith("/bin/uv lock --default-index https://pypi.org/simple --upgrade-package")
    assert {"streamlit==1.67.0", "dask==2026.8.0", "pytest==9.2.0", "mkdocs==1.6.1"} <= {
        *line.split()
    }
    assert commands(tmp_path, "UV=", target="lock")[0].startswith("uv lock")


def test_folders_for_the_hub_are_the_owners_that_is_named(tmp_path: Path) -> None:
    assert commands(tmp_path, "OWNER=you", target="hub")[-1].endswith("zoo.recipe.upload you")


def test_the_app_listens_where_it_is_told_and_by_default_here_only(tmp_path: Path) -> None:
    ours = [f"{tmp_path / 'none'}/bin/python", *ENTRY[1:], "--server.address=localhost"]
    assert commands(tmp_path)[-1].split() == ours
    shared = commands(tmp_path, "ADDRESS=0.0.0.0")[-1]
    assert shared.endswith("--server.address=0.0.0.0")
    assert "allowedHosts" not in shared  # it has names that nobody here knows
    local = commands(tmp_path, "HOST=lab.example.org")[-1]
    names = [word.partition("=")[2] for word in local.split() if "allowedHosts" in word]
    assert names == ["lab.example.org"]  # this computer's own names: ui/server/hosts.py


def test_a_check_is_lint_types_and_the_tests_that_are_quick(tmp_path: Path) -> None:
    said = "\n".join(commands(tmp_path, target="check"))
    assert all(
        part in said for part in ("ruff check", "ruff format --check", "mypy --strict", "pytest")
    )
    assert '-m "not slow and not study and not browser and not exhaustive"' in said
    assert "slow" not in commands(tmp_path, target="test")[-1]


def test_a_test_is_of_make_test_or_of_make_exhaustive_and_ci_runs_both(tmp_path: Path) -> None:
    def given(target: str) -> list[str]:
        """Without what whoever runs these tests gives the runner, as CI does."""
        return shlex.split(commands(tmp_path, "PYTEST_ARGS=", target=target)[-1])

    whole = given("everything")
    assert whole[1:3] == ["-m", "pytest"]
    assert "exhaustive" not in whole
    assert given("test") == [*whole, "-m", "not exhaustive"]
    assert given("exhaustive") == [*whole, "-m", "exhaustive"]
    assert " everything " in (ROOT / ".ci/run").read_text(encoding="utf8").splitlines()[-1]


def test_folders_and_files_that_workers_share_out_are_there() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_dir()] == []
    assert {*TOGETHER, *TOGETHER.values()} <= {*LONGEST}
    browser = {path.stem.removeprefix("test_") for path in ROOT.glob("tests/browser/test_*.py")}
    assert browser > {*BESIDE}


@pytest.mark.parametrize(("workers", "parts"), [(2, 2), (3, 1), (4, 2)])
def test_of_three_workers_one_has_the_browser(workers: int, parts: int) -> None:
    scheduler = scheduler_of(workers)
    files = ROOT.glob("tests/browser/test_*.py")
    places = {scheduler._split_scope(f"tests/browser/{path.name}::test") for path in files}
    assert len(places) == parts


def test_folders_that_share_results_or_models_are_of_one_worker() -> None:
    place = scheduler_of(3)._split_scope
    assert place("tests/core/results/test_a.py::test") == place("tests/core/test_b.py::test")
    assert place("tests/core/runs/test_a.py::test") != place("tests/core/test_b.py::test")
    assert place("tests/test_make.py::test") == "tests/"


def scheduler_of(workers: int) -> Any:
    """What shares the tests out to so many workers."""
    config: Any = SimpleNamespace(
        option=SimpleNamespace(),
        getoption=lambda name: "loadfile",
        getvalue=lambda name: ["popen"] * workers,
    )
    return pytest_xdist_make_scheduler(config, None)


def test_real_models_are_fetched_by_their_command_alone(tmp_path: Path) -> None:
    assert commands(tmp_path, "REAL_ARGS=--fresh", target="real")[-1].endswith(
        "-m benchmarks.real --fresh"
    )
    assert not [line for line in commands(tmp_path, target="test") if "benchmarks.real" in line]
