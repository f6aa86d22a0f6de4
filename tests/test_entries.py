"""There is one way to start the app: every entry has the same configuration, setting by setting."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.browser.server import ALLOWED, ENTRY, make_command, started
from tests.cases import exhaustive
from tests.image import image_entry

pytestmark = pytest.mark.slow
SETTLES = 60.0  # seconds until what a server imports in the background has been imported
CLOUD = "deploy/community-cloud/streamlit_app.py"
# What an entry may have other than `make app`, and why.
REACHED = {
    "options server.address": "others reach it",
    "options server.allowedHosts": "its names are not known here",
    "variables PALIMPSEST_MODE": "others reach it",
}
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "streamlit run app.py": {},
    "image": {**REACHED, "variables HF_HOME": "downloads go to the volume"},
    "community cloud": {
        **REACHED,
        "options secrets.files": "the host's may lie beside the entry",
        "variables PALIMPSEST_STORE_BYTES": "its disk is small",
    },
}
# Of each server that a test starts; Streamlit draws the secret of its cookies anew.
TESTS_OWN = {
    "options server.port",
    "options browser.serverPort",
    "options server.cookieSecret",
    *(f"variables {name}" for name in ALLOWED if name.startswith(("STREAMLIT_", "PYTHON"))),
    "variables PALIMPSEST_STORE",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the server of `make app` has."""
    folder = tmp_path_factory.mktemp("make")
    return settings(make_command(folder), folder)


@pytest.mark.parametrize("name", exhaustive(DIFFERENCES))
def test_an_entry_is_configured_as_make_app_is(
    name: str, made: dict[str, Any], tmp_path: Path
) -> None:
    command, variables = [*ENTRY], {}
    if name == "image":
        command, variables = image_entry()
    elif name == "community cloud":
        command = [*ENTRY[:-1], CLOUD]
        variables = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}
    entry = settings(command, tmp_path, **variables)
    names = (made.keys() | entry.keys()) - TESTS_OWN
    different = {each for each in names if made.get(each) != entry.get(each)}
    assert different == {*DIFFERENCES[name]}


def test_what_is_the_same_everywhere(made: dict[str, Any]) -> None:
    assert made["options server.fileWatcherType"] == "none"
    assert made["options server.allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert made["variables HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert made["variables TOKENIZERS_PARALLELISM"] == "false"
    assert "core.studies.rsa.layers.study" in made["modules"]  # what figures need is imported ahead


def settings(command: list[str], folder: Path, **environment: str) -> dict[str, Any]:
    """Start a server and ask it what it has, until two answers are the same."""
    place, answers = folder / "effective", [{}, {"": None}]
    written = place.with_name("effective.json")
    asked = {"PYTHONPATH": str(ROOT / "tests" / "effective"), "EFFECTIVE": str(place)}
    with started(command, folder, **asked, **environment):
        until = time.monotonic() + SETTLES
        while answers[-1] != answers[-2]:
            assert time.monotonic() < until, "the server does not come to rest"
            written.unlink(missing_ok=True)
            time.sleep(2)
            os.kill(int(place.read_text()), signal.SIGUSR1)
            while not written.exists() and time.monotonic() < until:
                time.sleep(0.1)
            answers.append(json.loads(written.read_text(encoding="utf8")))
    return answers[-1]


def test_without_streamlit_the_app_says_how_it_is_started() -> None:
    alone = subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert alone.returncode == 1
    (sentence,) = alone.stderr.splitlines()
    assert "make app" in sentence
    assert "streamlit run app.py" in sentence


def test_nobodys_use_is_reported() -> None:
    code = "import core, huggingface_hub.constants as c; print(c.HF_HUB_DISABLE_TELEMETRY)"
    users = {name: text for name, text in os.environ.items() if not name.startswith("HF_")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=users, capture_output=True, text=True
    )
    assert run.stdout.strip() == "True"
