"""The rules of the house that a machine can check: its order, what `core` imports, how fast it
answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from tests import ROOT
from tests.core import contracts
from tests.core.contracts import (
    CONTRACTS,
    MOST_KNOWN,
    MOST_LINES,
    MOST_MODULES,
    MOST_NAMES,
    MOST_OF_ALL,
    MOST_VAGUE,
    House,
    read_house,
)

HELP_SECONDS = 1.0  # of a processor
WRITERS = ("core/studies", "core/commands", "extras", "ui")  # folders whose code writes sentences
CUT = (  # ways of taking a sentence or a name apart after it was written
    r"""remove(?:suffix|prefix)\(["'](?:[.;,:]["']| |the )""",
    r"""rstrip\(["'][.;, ]*["']\)""",
    r"""partition\(["'](?: \(|[,;])""",
    r"""\.split\((?:["'][,;:]["'])?\)\[0\]""",
    r"\[1:\]\}\.",
)
NOT_SENTENCES = ("ui/server/hosts.py", "ui/study/experiment.py")  # names of hosts and of commands
HEAVY = frozenset(
    {"torch", "transformers", "pandas", "scipy", "spacy", "altair", "streamlit", "sklearn"}
)
CORE = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "core").rglob("*.py")
)
MODULES = [
    name.replace("/", ".").removesuffix(".__init__")
    for name in CORE
    if not name.endswith("__main__")
]
PROBE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sys.modules)
"""


def imported(*modules: str) -> set[str]:
    """All modules that importing these in a fresh interpreter imports."""
    answer = subprocess.run(
        [sys.executable, "-c", PROBE, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(answer.stdout.split())


@pytest.fixture(scope="module")
def house() -> House:
    """The modules of the repository."""
    return read_house(ROOT)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_house_keeps(contract: Callable[[House], list[str]], house: House) -> None:
    assert contract(house) == []


def cuts(source: str) -> list[str]:
    """The lines that take a sentence apart."""
    return [line.strip() for line in source.splitlines() if re.search("|".join(CUT), line)]


def test_no_sentence_is_parsed_again() -> None:
    files = sorted(file for folder in WRITERS for file in (ROOT / folder).rglob("*.py"))
    lines = {
        name: cut
        for file in files
        if (name := file.relative_to(ROOT).as_posix()) not in NOT_SENTENCES
        and (cut := cuts(file.read_text(encoding="utf8")))
    }
    assert lines == {}, "return a clause and end it with sentence_of, or state its parts"


@pytest.mark.parametrize(
    "line",
    [
        """whole = f"{stated[0].removesuffix('.')}; {frozen}.\"""",
        """name = named(method).removeprefix("the ")""",
        """short = title.partition(" (")[0]""",
        """kind = ITEMS[items].split(":")[0].split(",")[0]""",
        """spans = int(fact.baseline.split()[0])""",
        """yield f"W{sentence[1:]}.\"""",
    ],
)
def test_a_sentence_that_is_taken_apart_is_seen(line: str) -> None:
    assert cuts(line)
    assert not cuts("""folder = ref.removeprefix("path:")""")


def test_a_study_of_the_size_of_audit_takes_200_lines() -> None:
    files = (ROOT / "core" / "studies" / "rsa" / "audit").glob("*.py")
    assert sum(len(file.read_text(encoding="utf8").splitlines()) for file in files) <= 200


def lines(count: int) -> str:
    return "x = 1\n" * count


def wide(count: int, name: str = "ui/study/a.py") -> dict[str, str]:
    """A module that imports as many others, and these."""
    others = {f"core/text/m{number}.py": "" for number in range(count)}
    return {name: "".join(f"import core.text.m{number}\n" for number in range(count)), **others}


def named(count: int, origin: str) -> dict[str, str]:
    """A module that imports as many names of another, and that other."""
    names = ", ".join(f"n{number}" for number in range(count))
    module = origin.removesuffix(".py").replace("/", ".")
    return {"ui/study/a.py": f"from {module} import {names}", origin: ""}


SECTIONS = '''def f(x):
    """Do it.

    Args:
        x: What.
    """
'''
BREACHES: list[tuple[Callable[[House], list[str]], dict[str, str], int]] = [
    (
        contracts.arrows_up,
        {"core/models/names.py": "from core.text import trees", "core/text/trees.py": ""},
        1,
    ),
    (
        contracts.arrows_up,
        {"core/text/trees.py": "from core.models import names", "core/models/names.py": ""},
        0,
    ),
    (
        contracts.arrows_up,
        {"core/runs/store.py": "def f():\n    import ui.frame", "ui/frame/__init__.py": ""},
        1,
    ),
    (
        contracts.arrows_up,
        {"core/studies/rsa/a.py": "from core.catalogue import STUDIES", "core/catalogue.py": ""},
        1,
    ),
    (
        contracts.arrows_up,
        {"core/runs/a.py": "from ...core.study import Study", "core/study.py": ""},
        1,
    ),
    (
        contracts.rooms_that_meet,
        {"core/studies/rsa/a.py": "import core.studies.probes.b", "core/studies/probes/b.py": ""},
        1,
    ),
    (
        contracts.rooms_that_meet,
        {"extras/rsa/a.py": "import core.studies.probes.b", "core/studies/probes/b.py": ""},
        1,
    ),
    (
        contracts.rooms_that_meet,
        {"extras/rsa/a.py": "import core.studies.rsa.b", "core/studies/rsa/b.py": ""},
        0,
    ),
    (
        contracts.extras_alone,
        {"core/sweep/a.py": "import extras.rsa.b", "extras/rsa/b.py": ""},
        1,
    ),
    (
        contracts.rooms_that_meet,
        {"core/studies/rsa/a.py": "from core.studies.rsa.b import c", "core/studies/rsa/b.py": ""},
        0,
    ),
    (contracts.rooms_that_meet, {"pages/a.py": "from pages.b import c", "pages/b.py": ""}, 1),
    (
        contracts.rooms_that_meet,
        {"pages/a.py": "import core.studies.rsa.b", "core/studies/rsa/b.py": ""},
        0,
    ),
    (
        contracts.circles_of_files,
        {
            "core/text/a.py": "from . import b",
            "core/text/b.py": "from .c import x",
            "core/text/c.py": "from .a import y",
        },
        1,
    ),
    (
        contracts.circles_of_files,
        {"core/text/a.py": "from . import b", "core/text/b.py": "import json"},
        0,
    ),
    (
        contracts.circles_of_folders,
        {
            "ui/study/a.py": "import ui.frame.b",
            "ui/frame/b.py": "",
            "ui/frame/c.py": "import ui.home.d",
            "ui/home/d.py": "",
            "ui/home/e.py": "import ui.study.f",
            "ui/study/f.py": "",
        },
        1,
    ),
    (contracts.circles_of_folders, {"ui/study/a.py": "import ui.frame.b", "ui/frame/b.py": ""}, 0),
    (
        contracts.circles_of_folders,
        {
            "core/studies/rsa/prices.py": "import core.studies.rsa.layers.spec",
            "core/studies/rsa/layers/spec.py": "import core.studies.rsa.prices",
        },
        1,
    ),
    (
        contracts.full_folders,
        {f"core/text/m{number}.py": "" for number in range(MOST_MODULES + 1)},
        1,
    ),
    (contracts.full_folders, {f"core/text/m{number}.py": "" for number in range(MOST_MODULES)}, 0),
    (contracts.wrong_importers, {"core/text/a.py": "import diskcache.core"}, 1),
    (contracts.wrong_importers, {"ui/study/a.py": "def f():\n    from spacy.tokens import Doc"}, 1),
    (
        contracts.wrong_importers,
        {"core/text/parsing.py": "import spacy", "core/runs/cluster.py": "import dask"},
        0,
    ),
    (contracts.wrong_importers, {"core/text/a.py": "if False:\n    import streamlit as st"}, 1),
    (contracts.wrong_importers, {"ui/study/a.py": "import streamlit as st"}, 0),
    (
        contracts.mathematics_alone,
        {
            "core/maths/a.py": "def f():\n    from core.runs.b import x",
            "core/runs/b.py": "",
            "core/__init__.py": "",
        },
        1,
    ),
    (
        contracts.mathematics_alone,
        {
            "core/maths/a.py": "from core.errors import X\nfrom core.maths.c import y",
            "core/maths/c.py": "",
            "core/errors.py": "",
            "core/__init__.py": "",
        },
        0,
    ),
    (
        contracts.long_modules,
        {"ui/study/a.py": lines(MOST_LINES + 1), "core/a.py": lines(MOST_LINES)},
        1,
    ),
    (contracts.wide_modules, wide(MOST_KNOWN + 1), 1),
    (contracts.wide_modules, wide(MOST_KNOWN), 0),
    (contracts.wide_modules, wide(MOST_KNOWN + 1, "core/catalogue.py"), 0),
    (contracts.many_names, named(MOST_NAMES + 1, "core/text/t.py"), 1),
    (contracts.many_names, named(MOST_NAMES, "core/text/t.py"), 0),
    (contracts.many_names, named(MOST_NAMES + 1, "ui/study/b.py"), 0),
    (contracts.many_names, named(MOST_OF_ALL + 1, "ui/study/b.py"), 1),
    (contracts.many_names, named(MOST_OF_ALL, "core/studies/kit.py"), 0),
    (contracts.many_names, {"ui/study/a.py": "import core.text.t", "core/text/t.py": ""}, 0),
    (contracts.vague_names, {"ui/study/a.py": "found = 1\n" * (MOST_VAGUE + 1)}, MOST_VAGUE + 1),
    (
        contracts.vague_names,
        {"ui/study/a.py": "found = 1\n" * MOST_VAGUE + "neighbours = 1\n" * 9},
        0,
    ),
    (contracts.long_docstrings, {"ui/study/a.py": SECTIONS}, 1),
    (contracts.long_docstrings, {"core/maths/a.py": SECTIONS, "core/study.py": SECTIONS}, 0),
    (
        contracts.long_docstrings,
        {"core/runs/a.py": SECTIONS, "docs/api/a.md": "::: core.runs.b"},
        1,
    ),
    (
        contracts.long_docstrings,
        {"core/runs/a.py": SECTIONS, "docs/api/a.md": "::: core.runs.a"},
        0,
    ),
    (
        contracts.studies_by_the_door,
        {
            "core/studies/kit.py": "from core.study import Study",
            "extras/rsa/a/study.py": "from core.study import Study",
            "core/study.py": "",
        },
        1,
    ),
    (
        contracts.studies_by_the_door,
        {
            "core/studies/kit.py": "from core.study import Study",
            "core/studies/rsa/a/study.py": "from core.studies.kit import Study",
            "core/studies/rsa/a/charts.py": "from core.study import Study",
            "core/study.py": "",
        },
        0,
    ),
    (contracts.classes_of_pages, {"pages/a.py": "def f():\n    class Display:\n        pass"}, 1),
    (contracts.classes_of_pages, {"ui/study/a.py": "class Display:\n    pass"}, 0),
]


@pytest.mark.parametrize(
    ("contract", "files", "breaches"),
    BREACHES,
    ids=[f"{contract.__name__}-{number}" for number, (contract, _, _) in enumerate(BREACHES)],
)
def test_a_breach_is_seen(
    contract: Callable[[House], list[str]], files: Mapping[str, str], breaches: int, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf8")
    assert len(contract(read_house(tmp_path))) == breaches


def test_every_contract_is_seen_to_fail() -> None:
    assert {contract for contract, _, breaches in BREACHES if breaches} == set(CONTRACTS)


@pytest.mark.slow
def test_core_never_imports_streamlit() -> None:
    assert "streamlit" not in imported(*MODULES)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_mathematics_can_be_imported_alone() -> None:
    """Arrays in, arrays out: whoever wants a measure or a probe alone brings no store and no
    models."""
    maths = [name for name in MODULES if name.startswith("core.maths")]
    house = {name for name in imported(*maths) if name.startswith("core.")}
    assert maths
    beside = {name for name in house if not name.startswith("core.maths")}
    assert beside <= {"core.errors", "core.limits"}  # errors hide folders on shared instances


@pytest.mark.slow
def test_what_is_imported_is_seen() -> None:
    assert {"json", "streamlit"} <= imported("json", "streamlit")


@pytest.mark.slow
def test_no_study_imports_what_only_computing_needs() -> None:
    """What a page imports: a study whose numbers are stored, or came with the box, is shown without
    these."""
    studies = [study.collect.__module__ for study in STUDIES.values()]
    modules = imported(*studies, "core.studies.probes.sentence.study", "core.commands.precomputed")
    assert not modules & {"torch", "transformers", "spacy"}


def test_heavy_packages_wait_until_they_are_needed() -> None:
    light = (
        "commands.main",
        "runs.store",
        "runs.runner",
        "models",
        "text.corpora",
        "vectors.activations",
        "catalogue",
    )
    assert not imported(*(f"core.{name}" for name in light)) & HEAVY


@pytest.mark.exhaustive
@pytest.mark.slow
def test_help_answers_at_once() -> None:
    """In processor seconds: on a busy machine the clock on the wall says nothing of what an answer
    takes."""
    used = []
    for _ in range(3):
        before = os.times()
        answer = subprocess.run(
            [sys.executable, "-m", "core", "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        after = os.times()
        assert "rsa" in answer.stdout
        used.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    assert min(used) < HELP_SECONDS
