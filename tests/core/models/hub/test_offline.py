"""The Hub switched off and on again in one process: the environment says which at each question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from core.models.hub.asking import is_offline
from core.models.hub.listing import look_up
from tests.core.small_zoo import CONFIG, base_tensors
from tests.core.tree_server import TreeServer, as_files

NAME = "org/base"


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
