"""A model that changes between a study's first stage and its tasks leaves nothing under what it
was."""

from __future__ import annotations

import importlib
import inspect
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.models.files import checkpoints
from core.models.hub import client as hub
from core.models.identity import as_identified, content_at_hand
from core.runs import tasks
from core.runs.process.remembered import forget_all
from core.runs.runner import Task, run
from core.runs.store import Store
from core.studies.rsa.tokens.study import word_vectors
from tests.core.contents import run_as
from tests.core.hub_server import HubServer
from tests.core.models.weights.test_adapters import QUERY, factors_of, write_adapter
from tests.core.small_zoo import base_tensors, write_model
from tests.core.tiny_models import save_tiny
from ui.frame.identity import contents

NAME = "someone/tiny"
REF = f"hub:{NAME}"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        forget_all()
        running.add(NAME, save_tiny(tmp_path / "bert"))
        yield running


def change(server: HubServer, folder: Path, seed: int = 1) -> None:
    """A new commit with other weights, of which the hub is asked at once."""
    server.add(NAME, save_tiny(folder / f"changed-{seed}", seed=seed))
    hub._resolved.begin()


def read(identity: str) -> Task:
    return Task.of(REF, word_vectors, model=REF, model_identity=identity, words=("a", "dog"))


@pytest.mark.slow
def test_nothing_is_kept_of_a_model_that_has_changed_since_it_was_identified(
    server: HubServer, tmp_path: Path
) -> None:
    store, task = Store(tmp_path / "store"), read(run_as(REF))
    change(server, tmp_path)
    outputs = run([task], store=store)
    assert "has changed" in outputs.sentences[REF]
    assert task.key not in store
    again = read(run_as(REF))
    assert again.key != task.key
    assert run([again], store=store).failures == {}
    assert again.key in store


def test_a_task_stays_at_the_commit_that_it_began_with(server: HubServer, tmp_path: Path) -> None:
    before = run_as(REF)
    with as_identified({"model": REF, "model_identity": before}):
        change(server, tmp_path)
        assert run_as(REF) == before
    assert run_as(REF) != before


def test_every_task_that_runs_a_model_compares_it_with_what_it_was() -> None:
    assert all(STUDIES[name] for name in STUDIES)  # imported: their modules declare the tasks
    guarded = 0
    for place in sorted(set(tasks._IDENTITIES.values())):
        module, _, name = place.rpartition(".")
        if not module.startswith(
            ("core.studies.rsa.", "core.studies.probes.", "core.studies.alignment.")
        ):
            continue
        function = getattr(importlib.import_module(module), name)
        named = inspect.signature(function).parameters
        models = [argument for argument in named if argument.endswith(tasks.IDENTITY)]
        if models and models != ["pipeline_identity"]:
            assert getattr(function, tasks._GUARD) is as_identified, place
            guarded += 1
    assert guarded > 10


def test_a_page_tells_two_uploads_of_one_name_apart() -> None:
    asked = [contents("zoo:seed-0", texts={"upload:a.txt": text}) for text in (b"a", b"b", b"a")]
    assert asked[0] == asked[2] != asked[1]
    assert asked[0][1:] == contents("zoo:seed-0")


def test_a_page_sees_a_changed_file_without_hashing_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "content_hash", lambda path: pytest.fail(f"hashed {path}"))
    base = write_model(tmp_path / "base", base_tensors())
    adapter = write_adapter(tmp_path / "lora", factors_of(QUERY, (32, 32), 4, 0))
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(base)
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    seen = [content_at_hand(f"path:{folder}") for folder in (base, adapter, base, adapter)]
    assert seen[:2] == seen[2:]
    (base / "config.json").write_text((base / "config.json").read_text() + " ")
    changed = [content_at_hand(f"path:{folder}") for folder in (base, adapter)]
    assert all(new and new != old for new, old in zip(changed, seen, strict=False))
    assert content_at_hand(f"path:{tmp_path / 'nowhere'}") == ""


@pytest.mark.slow
def test_a_page_sees_a_new_commit_without_waiting_for_the_hub(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = contents(REF)
    hub.download(NAME)
    assert contents(REF) == unknown  # a result that is being computed keeps its place
    server.add(NAME, save_tiny(tmp_path / "changed", seed=1))
    assert contents(REF) == unknown
    server.requests.clear()
    monkeypatch.setattr(hub._resolved, "seconds", 0.0)
    monkeypatch.setattr(hub._renewed, "seconds", 0.0)
    server.repositories[f"models/{NAME}"].state = "silent"
    began = time.monotonic()
    contents(REF)
    assert time.monotonic() - began < 5  # the server is silent for 30
    server.repositories[f"models/{NAME}"].state = "fine"
    end = time.monotonic() + 60
    while contents(REF) == unknown:
        assert time.monotonic() < end
        time.sleep(0.05)
