"""A package of somebody else's, made of the examples in docs/extending.md: a study and a measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import ROOT
from tests.docs.blocks import blocks_of

ALONE = (  # how pip installs a folder from this computer, without what it depends on
    *("--quiet", "--disable-pip-version-check"),
    *("--no-deps", "--no-index", "--no-build-isolation"),
)
PAGE = ROOT / "docs" / "extending.md"
FOLDER = "core/studies/rsa/length"
MEASURES = """
import numpy as np

from core.maths.similarity.registry import Measure


{function}


SIGNS = {entry}
"""


def install_stranger(source: Path, target: Path) -> Path:
    """Write the package into one empty folder and install it into another, which is returned."""
    folder = source / "lengths" / "study_folder"
    folder.mkdir(parents=True)
    (source / "pyproject.toml").write_text(
        example("pyproject.toml")
        + '\n[tool.setuptools]\npackages = ["lengths", "lengths.study_folder"]\n'
    )
    (source / "lengths" / "__init__.py").touch()
    (folder / "__init__.py").touch()
    for name in ("spec.py", "study.py", "words.toml"):
        code = example(f"{FOLDER}/{name}")
        (folder / name).write_text(code.replace(FOLDER.replace("/", "."), "lengths.study_folder"))
    function, _, entry = example("core/maths/similarity/registry.py").partition(
        'MEASURES["signs"] = '
    )
    (source / "lengths" / "measures.py").write_text(
        MEASURES.format(function=function.strip(), entry=entry)
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *ALONE, "--target", str(target), str(source)],
        check=True,
    )
    return target


def example(name: str) -> str:
    """The code of the page that begins with this file's name."""
    return next(
        block.code
        for block in blocks_of(PAGE, "python", "toml")
        if block.code.startswith(f"# {name}\n")
    )
