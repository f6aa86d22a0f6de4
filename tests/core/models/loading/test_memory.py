"""Small models side by side, other models one at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core.errors import CancelledError
from core.models.loading import memory as residence
from core.runs.store import Store, using
from core.vectors.activations import extract
from tests.core.tiny_models import SENTENCES, save_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`path:` references of three tiny models."""
    folder = tmp_path_factory.mktemp("tiny")
    return {name: f"path:{save_tiny(folder / name, name)}" for name in ("bert", "gpt2", "roberta")}


@pytest.fixture(autouse=True)
def nothing_in_memory():
    """Neither before a test nor after it."""
    residence.release_model()
    yield
    residence.release_model()
    assert not in_memory()


def in_memory() -> list[str]:
    """Types of the models in memory."""
    return [
        loaded.info.model_type for place in residence._places for loaded in place.resident.values()
    ]


def lend(ref: str, taken: threading.Event, release: threading.Event) -> None:
    """Borrow a model until it is released."""
    with residence.borrow_model(ref):
        taken.set()
        assert release.wait(60)


@pytest.mark.slow
def test_a_model_that_is_in_memory_is_not_loaded_again(tiny) -> None:
    with (
        residence.borrow_model(tiny["bert"]) as first,
        residence.borrow_model(tiny["bert"]) as again,
    ):
        assert again is first
    extract(tiny["gpt2"], SENTENCES)
    assert sorted(in_memory()) == ["bert", "gpt2"]
    with residence.borrow_model(tiny["bert"]) as later:
        assert later is first
    extract(tiny["roberta"], SENTENCES)
    assert len(in_memory()) == 2


def test_small_models_are_used_side_by_side_and_one_by_one_thread(tiny) -> None:
    """Two threads that ask for one model have one each: its hooks are those of one reading."""
    taken, release = threading.Event(), threading.Event()
    thread = threading.Thread(target=lend, args=(tiny["bert"], taken, release))
    thread.start()
    assert taken.wait(60)
    with residence.borrow_model(tiny["bert"]) as mine:
        theirs = next(place for place in residence._places if place.holder == thread.ident)
        assert mine not in theirs.resident.values()
        assert in_memory() == ["bert", "bert"]
    release.set()
    thread.join(60)


@pytest.mark.slow
def test_a_model_that_is_not_small_waits_for_all_others_and_they_for_it(tiny, monkeypatch) -> None:
    order: list[str] = []
    first, release = threading.Event(), threading.Event()
    small = threading.Thread(target=lend, args=(tiny["bert"], first, release))
    small.start()
    assert first.wait(60)
    monkeypatch.setattr(residence, "SMALL_PARAMETERS", 10)
    alone, leave = threading.Event(), threading.Event()
    large = threading.Thread(target=lend, args=(tiny["gpt2"], alone, leave))
    large.start()
    while not residence._alone:
        threading.Event().wait(0.01)
    monkeypatch.setattr(residence, "SMALL_PARAMETERS", 10_000_000)

    def later() -> None:
        with residence.borrow_model(tiny["roberta"]):
            order.append("small again")

    again = threading.Thread(target=later)
    again.start()
    again.join(0.3)
    assert not alone.is_set()
    assert again.is_alive()
    release.set()
    assert alone.wait(60)
    assert in_memory() == ["gpt2"]
    order.append("large")
    leave.set()
    for thread in (small, large, again):
        thread.join(60)
    assert order == ["large", "small again"]


@pytest.mark.slow
def test_readings_side_by_side_give_what_each_gives_alone(tiny, tmp_path: Path) -> None:
    """Thirty, of three models, on four threads for two places; none waits for itself."""

    def read(number: int) -> np.ndarray:
        with using(Store(tmp_path / str(number))):
            return extract(asked[number], SENTENCES).vectors

    asked = [*tiny.values()] * 10
    alone = {ref: read(number) for number, ref in enumerate(tiny.values())}
    with ThreadPoolExecutor(4) as pool:
        side_by_side = list(pool.map(read, range(3, len(asked))))
    for ref, vectors in zip(asked[3:], side_by_side, strict=True):
        np.testing.assert_array_equal(vectors, alone[ref])


@pytest.mark.slow
def test_a_small_model_stays_a_moment_and_a_large_one_does_not(tiny, monkeypatch) -> None:
    monkeypatch.setattr(residence, "KEEP_SECONDS", 0.05)
    with residence.borrow_model(tiny["bert"]):
        pass
    assert in_memory()
    threading.Event().wait(0.5)
    assert not in_memory()
    monkeypatch.setattr(residence, "KEEP_PARAMETERS", 10)
    with residence.borrow_model(tiny["bert"]):
        assert in_memory()
    assert not in_memory()


@pytest.mark.slow
def test_who_waits_for_the_model_can_be_cancelled(tiny, monkeypatch) -> None:
    def cancelled(fraction: float, note: str = "") -> None:
        if note.startswith("waiting"):
            raise CancelledError(note)

    monkeypatch.setattr(residence, "tick", cancelled)
    monkeypatch.setattr(residence, "SMALL_PARAMETERS", 10)
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
    assert not residence._alone
