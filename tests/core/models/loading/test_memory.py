"""One model in memory at a time."""

from __future__ import annotations

import threading

import pytest

from core.errors import CancelledError
from core.models.loading import memory as residence
from core.vectors.activations import extract
from tests.core.tiny_models import SENTENCES, save_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`path:` references of two tiny models."""
    folder = tmp_path_factory.mktemp("tiny")
    return {name: f"path:{save_tiny(folder / name, name)}" for name in ("bert", "gpt2")}


def test_one_model_at_a_time_is_in_memory(tiny) -> None:
    with (
        residence.borrow_model(tiny["bert"]) as first,
        residence.borrow_model(tiny["bert"]) as again,
    ):
        assert again is first
    extract(tiny["gpt2"], SENTENCES)
    assert [loaded.info.model_type for loaded in residence._resident.values()] == ["gpt2"]
    residence.release_model()
    assert not residence._resident


@pytest.mark.slow
def test_a_small_model_stays_a_moment_and_a_large_one_does_not(tiny, monkeypatch) -> None:
    monkeypatch.setattr(residence, "KEEP_SECONDS", 0.05)
    with residence.borrow_model(tiny["bert"]):
        pass
    assert residence._resident
    threading.Event().wait(0.5)
    assert not residence._resident
    monkeypatch.setattr(residence, "KEEP_PARAMETERS", 10)
    with residence.borrow_model(tiny["bert"]):
        assert residence._resident
    assert not residence._resident


def test_who_waits_for_the_model_can_be_cancelled(tiny, monkeypatch) -> None:
    def cancelled(fraction: float, note: str = "") -> None:
        if note.startswith("waiting"):
            raise CancelledError(note)

    monkeypatch.setattr(residence, "tick", cancelled)
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            extract(tiny["bert"], SENTENCES)
        except CancelledError as error:
            caught.append(error)

    with residence.borrow_model(tiny["gpt2"]):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(30)
    assert "waiting for another model" in str(caught[0])
