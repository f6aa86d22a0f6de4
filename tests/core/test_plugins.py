"""What another package adds: installed, and found in commands, pages, exports and prices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from importlib import metadata
from pathlib import Path

import pytest

from core.maths import plugins
from core.maths.plugins import PluginWarning, Registry, plugged
from tests import ROOT
from tests.stranger import install_stranger

LOOKED_UP = """
import json
from streamlit.testing.v1 import AppTest
from core.catalogue import STUDIES
from core.commands.prices import check_price
from core.maths.similarity.registry import MEASURES
import docs.make.studies as pages

pages.precomputed = dict  # as the documentation has it of the studies of the house alone
study = STUDIES["rsa length"]
app = AppTest.from_file("pages/rsa.py", default_timeout=120)
app.query_params.update(view=study.title)
app.run()
price = check_price(study.price, study.Spec(sentences=20))
print(json.dumps({
    "exceptions": [each.message for each in app.exception],
    "title": app.title[0].value,
    "price": price.processor,
    "label": MEASURES["signs"].label,
    "page": pages.study_page("rsa length"),
    "index": pages.index_page(),
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the documentation's study and measure as a package of its own."""
    return install_stranger(*(tmp_path_factory.mktemp(name) for name in ("source", "target")))


def run(installed: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{installed}:{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_study_of_another_package_is_a_command_and_exports(
    installed: Path, tmp_path: Path
) -> None:
    assert "rsa length" in run(installed, "-m", "core", "--help")
    run(
        installed,
        "-m",
        "core",
        "rsa",
        "length",
        "--sentences",
        "20",
        "--out",
        str(tmp_path / "out"),
    )
    record = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf8"))
    assert record["study"] == "rsa length"
    assert (tmp_path / "out" / "figure.svg").is_file()


@pytest.mark.slow
def test_it_is_on_its_page_and_has_a_price(installed: Path) -> None:
    seen = json.loads(run(installed, "-c", LOOKED_UP).splitlines()[-1])
    assert seen["exceptions"] == []
    assert seen["title"] == "Length of vectors"
    assert 0 < seen["price"] < 600
    assert seen["label"] == "sign agreement"
    assert seen["page"].startswith("# Length of vectors\n")
    assert "`--sentences`" in seen["page"]
    assert "`rsa length`" in seen["index"].partition("## Probe trees")[0]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_measure_of_another_package_is_one_of_the_measures(
    installed: Path, tmp_path: Path
) -> None:
    asked = "--compare zoo:parse-0 --sentences 20 --measure signs --no-functions --no-references"
    run(installed, "-m", "core", "rsa", *asked.split(), "--out", str(tmp_path / "out"))
    record = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf8"))
    assert record["spec"]["measure"] == "signs"
    assert "sign agreement" in record["headline"] + record["methods"]


class Entry:
    """An entry point of the package "stranger"."""

    class dist:
        name = "stranger"

    module, value = "stranger", "stranger:thing"

    def __init__(self, name: str, thing: object) -> None:
        self.name, self._thing = name, thing

    def load(self) -> object:
        if isinstance(self._thing, Exception):
            raise self._thing
        return self._thing


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            Entry("rsa", 1.0),
            "'rsa', which stranger adds to measures, is left out: its name is taken",
        ),
        (Entry("new", ImportError("no module")), "is left out: ImportError: no module"),
        (Entry("new", "words"), "is left out: it is a str, not a float"),
    ],
)
def test_what_cannot_be_added_is_left_out_and_said(
    entry: Entry, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    with pytest.warns(PluginWarning, match=reason):
        assert plugged("measures", float, {"rsa": 2.0}) == {}


def test_entries_of_others_stand_behind_those_of_the_house(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def entries(group: str) -> list[Entry]:
        asked.append(group)
        return [Entry("b", 2.0), Entry("a", 1.0)]

    monkeypatch.setattr(plugins, "entry_points", entries)
    registry = Registry("measures", float, {"house": 0.0})
    assert asked == []  # imported at the first use
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(registry.items()) == [("house", 0.0), ("a", 1.0), ("b", 2.0)]
    assert len(registry) == 3
    assert asked == ["palimpsest.measures"]


def test_nothing_is_added_here() -> None:
    """The tests of the house are about the house."""
    groups = metadata.entry_points().groups
    assert not [group for group in groups if group.startswith(f"{plugins.GROUP}.")]
