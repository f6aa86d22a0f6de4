"""The rules of the house that a machine can check: what `core` must not import, and how fast it answers."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from core.catalogue import STUDIES
from tests import ROOT

MOST_MODULES = 200
CORE = sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "core").rglob("*.py"))
MODULES = [name.replace("/", ".").removesuffix(".__init__") for name in CORE if not name.endswith("__main__")]
ROOMS = ("rsa", "probes", "weights", "alignment")
PROBE = """
import importlib, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
sys.exit(sys.argv[1] in sys.modules)
"""


def imported(package: str, modules: list[str]) -> bool:
    """Whether importing `modules` in a fresh interpreter imports `package`."""
    return bool(subprocess.run([sys.executable, "-c", PROBE, package, *modules], cwd=ROOT, check=False).returncode)


def test_core_never_imports_streamlit() -> None:
    assert not imported("streamlit", MODULES)


def test_that_test_can_fail() -> None:
    assert imported("json", ["json"])


@pytest.mark.parametrize("package", ["torch", "transformers", "spacy"])
def test_no_study_imports_what_only_computing_needs(package: str) -> None:
    """What a page imports: a study whose numbers are stored, or came with the box, is shown without these."""
    studies = [study.collect.__module__ for study in STUDIES.values()]
    assert not imported(
        package, [*studies, "core.rsa.tokens.study", "core.probes.sentence.study", "core.commands.answers"]
    )


@pytest.mark.parametrize("package", ["torch", "transformers", "spacy", "altair"])
def test_heavy_packages_wait_until_they_are_needed(package: str) -> None:
    light = (
        *("commands.main", "catalogue", "runs.store", "runs.runner", "models", "text.corpora"),
        *("vectors.activations", "rsa.layers.study"),
    )
    assert not imported(package, [f"core.{name}" for name in light])


def test_rooms_do_not_import_each_other() -> None:
    for room in ROOMS:
        for path in (ROOT / "core" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                for name in names:
                    others = {f"core.{other}" for other in ROOMS if other != room}
                    assert not any(name == other or name.startswith(other + ".") for other in others), (path, name)


def test_help_imports_little() -> None:
    """What takes a command's first second is imports: none of what is large, and few in all."""
    code = (
        "import sys; before = set(sys.modules); from core.commands.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(*set(sys.modules) - before, file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "rsa" in answer.stdout
    modules = answer.stderr.split()
    assert not {"torch", "transformers", "pandas", "scipy", "spacy", "altair", "streamlit", "sklearn"} & set(modules)
    assert len(modules) < MOST_MODULES
