"""`make release-check`, its first half: versions agree, and the wheel works where nothing else is.

python -m tests.release [--torch-index URL]

The wheel is built and installed with its dependencies into an environment of its own. There, in an
empty folder, the installed command loads every included model and writes a result.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from pathlib import Path

from tests import ROOT
from zoo.recipe.heads import NOBODY, owner

PARTS = ("core", "extras", "pages", "ui", "zoo")
BUILT_FROM = (
    *PARTS,
    ".streamlit",
    "LICENSE",
    "README.md",
    "app.py",
    "deploy",
    "pyproject.toml",
    "setup.py",
    "requirements.txt",
    "requirements-dask.txt",
)
STUDY = "rsa"  # precomputed: shows that results are found, too
IN_CORE = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
SAID_IN = {
    "CITATION.cff": re.compile(r"^version: (\S+)$", re.MULTILINE),
    "zoo/pyproject.toml": re.compile(r'^version = "(.+)"$', re.MULTILINE),
    "CHANGELOG.md": re.compile(r"^## (\S+)$", re.MULTILINE),  # the first section is the newest
}


def versions(root: Path) -> dict[str, str]:
    """Read the version from every file that says it.

    Args:
        root: The repository's.

    Returns:
        File -> version; "" where there is none.
    """
    core = IN_CORE.search((root / "core" / "__init__.py").read_text(encoding="utf8"))
    said = {"core/__init__.py": core[1] if core else ""}
    for name, pattern in SAID_IN.items():
        match = pattern.search((root / name).read_text(encoding="utf8"))
        said[name] = match[1] if match else ""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf8"))
    read = settings["tool"]["setuptools"]["dynamic"].get("version", {}).get("attr")
    from_core = read == "core.__version__" and "version" in settings["project"].get("dynamic", ())
    said["pyproject.toml"] = (
        said["core/__init__.py"] if from_core else settings["project"].get("version", "")
    )
    return said


def link_sources(folder: Path) -> Path:
    """Link what the wheel is built from into a folder, which takes what setuptools leaves behind."""
    for name in BUILT_FROM:
        (folder / name).symlink_to(ROOT / name)
    return folder


def build_wheel(folder: Path) -> Path:
    """Build the wheel with this environment's setuptools; return its path."""
    source = folder / "source"
    source.mkdir()
    how = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    command = [sys.executable, "-m", "pip", "wheel", *how, str(link_sources(source))]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, torch_index: str) -> Path:
    """Install the wheel and what it depends on into a new environment; return its `bin`."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pinned = re.findall(r"^torch==\S+$", (ROOT / "requirements.txt").read_text("utf8"), re.M)
    commands = [["--no-deps", "--index-url", torch_index, *pinned]] if torch_index else []
    for more in (*commands, [str(wheel)]):
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *more], check=True)
    return python.parent


def try_out(programs: Path, folder: Path) -> None:
    """Verify the included models and run a study with the installed command, far from the sources."""
    folder.mkdir()
    ours = ("PYTHONPATH", "PALIMPSEST_ZOO", "PALIMPSEST_PRECOMPUTED", "PALIMPSEST_MODE")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment["PALIMPSEST_STORE"] = str(folder / "store")
    for words in (("zoo", "verify"), (STUDY, "--out", "result")):
        command = [str(programs / "palimpsest"), *words]
        subprocess.run(command, cwd=folder, env=environment, check=True)
    if not (folder / "result" / "result.json").is_file():
        raise FileNotFoundError(f"`palimpsest {STUDY} --out result` wrote no result.json.")


def main() -> int:
    """Check versions and wheel; 1 where versions differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.release")
    parser.add_argument(
        "--torch-index", default="", help="index of PyTorch alone, such as the one without CUDA"
    )
    given = parser.parse_args()
    said = versions(ROOT)
    if len({*said.values()}) > 1 or "" in said.values():
        print("\n".join(f"{name} says {version or 'no version'}" for name, version in said.items()))
        return 1
    print(f"version {said['core/__init__.py']} in {', '.join(said)}", flush=True)
    if owner() == NOBODY:
        print("The repository's address still names nobody: see Publishing in CONTRIBUTING.md.")
    with tempfile.TemporaryDirectory() as named:
        folder, began = Path(named), time.monotonic()
        wheel = build_wheel(folder)
        print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.0f} MB", flush=True)
        programs = install(wheel, folder / "environment", given.torch_index)
        try_out(programs, folder / "elsewhere")
        print(f"built, installed and run elsewhere in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
