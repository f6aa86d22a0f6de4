"""What every test gets: a store of its own, no network, no progress bars, one thread."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.runs.cores import share_cores

share_cores()  # before anything imports torch
os.environ.setdefault("HF_HUB_OFFLINE", "0")
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


@pytest.fixture(autouse=True)
def private_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store for each test, without the answers in the box; nothing is read from or left in the user's own."""
    folder = tmp_path_factory.mktemp("store")
    monkeypatch.setenv("PALIMPSEST_STORE", str(folder))
    monkeypatch.setenv("PALIMPSEST_ANSWERS", "none")
    monkeypatch.delenv("PALIMPSEST_MODE", raising=False)
    monkeypatch.delenv("PALIMPSEST_SCHEDULER", raising=False)
    return folder


@pytest.fixture
def box_answers(private_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers that came with the box lie under the test's store, as they do for a user."""
    monkeypatch.delenv("PALIMPSEST_ANSWERS", raising=False)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A name for bytes that are no text: those of a gzip file hold the time, and workers must agree on names."""
    return f"{argname}{len(val)}" if isinstance(val, bytes) and not val.isascii() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several workers share the tests, a module stays with one, and so do all that start a server."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            module = Path(item.path).relative_to(config.rootpath)
            serving = module.parts[1] in ("browser", "load")
            item.add_marker(pytest.mark.xdist_group("servers" if serving else str(module)))
