"""The Hub switched off and on again in one process: the environment says which at each question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from core.errors import ModelError
from core.models.hub import client as hub
from core.models.hub.asking import is_offline
from core.models.hub.listing import list_fine_tunes, look_up, read_small
from core.models.hub.ranges import RangeFile
from core.models.hub.revisions import list_revisions
from core.models.sizes import size_of
from tests.core.small_zoo import CONFIG, base_tensors
from tests.core.tiny_models import save_tiny
from tests.core.tree_server import TreeServer, as_files

NAME = "org/base"
OFFLINE = "org/base was not downloaded earlier and offline mode is on"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TreeServer]:
    """A stand-in hub with one model and three fine-tunes, on two pages."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # and as it was, afterwards
    with TreeServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache")
        files = as_files(base_tensors(), CONFIG)
        running.add(NAME, files)
        for letter in "abc":
            running.add_fine_tune(f"org/{letter}", NAME, files)
        yield running


def switch_off(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    """Switch the Hub off when a function is called."""
    function = getattr(place, name)

    def switching(*given: Any, **named: Any) -> Any:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        return function(*given, **named)

    monkeypatch.setattr(place, name, switching)


def test_a_library_that_was_imported_offline_asks_when_the_hub_is_on(server: TreeServer) -> None:
    constants.HF_HUB_OFFLINE = True  # what it read at its import
    assert look_up(NAME).name == NAME


@pytest.mark.parametrize(
    ("hub_setting", "transformers_setting", "offline"),
    [("1", "", True), (" yes ", "0", True), ("", "1", True), ("0", "1", False), ("", "", False)],
)
def test_both_variables_of_the_library_switch_the_hub_off(
    monkeypatch: pytest.MonkeyPatch, hub_setting: str, transformers_setting: str, offline: bool
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", hub_setting)
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", transformers_setting)
    assert is_offline() == offline


@pytest.mark.parametrize(
    "question",
    [
        lambda: hub.download(NAME),
        lambda: look_up(NAME),
        lambda: list_fine_tunes(NAME),
        lambda: list_revisions(NAME),
        lambda: size_of(f"hub:{NAME}"),
        lambda: read_small(look_up(NAME), "config.json"),
    ],
    ids=["download", "look_up", "fine_tunes", "revisions", "size", "settings"],
)
def test_switched_off_before_the_answer_is_said_to_be_so(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch, question: Callable[[], object]
) -> None:
    switch_off(monkeypatch, hub, "login")  # whether it is off has been looked at by then
    with pytest.raises(ModelError, match=OFFLINE):
        question()
    assert not server.requests


def test_a_download_that_is_cut_off_goes_on_when_the_hub_is_on_again(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        switch_off(patch, hub, "wanted_files")
        with pytest.raises(ModelError, match=OFFLINE):
            hub.download(NAME)
    assert [Path(path).name for path in server.files_sent] == ["config.json"]
    assert (hub.download(NAME) / "model.safetensors").is_file()


def test_the_rest_of_a_file_is_read_when_the_hub_is_on_again(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RangeFile(NAME, "main", "config.json")
    assert file.read(0, 1) == b"{"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match=OFFLINE):
        file.read(1, 8)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert len(file.read(1, 8)) == 7


def test_pages_that_came_before_the_hub_was_switched_off_are_kept(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_off(monkeypatch, server._server.RequestHandlerClass, "_list")
    said: list[str] = []
    assert len(list_fine_tunes(NAME, say=said.append)) == 2
    assert len(said) == 1
    assert OFFLINE in said[0]


def test_what_was_downloaded_earlier_serves_when_the_hub_is_switched_off_meanwhile(
    server: TreeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add("org/tiny", save_tiny(tmp_path / "tiny"))
    folder = hub.download("org/tiny")
    hub._resolved.begin()
    switch_off(monkeypatch, hub, "login")
    assert hub.download("org/tiny") == folder
    monkeypatch.delenv("HF_HUB_OFFLINE")  # until the next question asks for the login
    assert list_revisions("org/tiny") == ("main",)
