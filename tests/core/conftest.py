"""A small zoo on disk, in place of the box."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.small_zoo import write_variants, write_zoo
from tests.core.tiny_models import save_tiny
from tests.core.warm import Warm
from tests.core.workers import two_workers


@pytest.fixture(scope="session")
def zoo_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """seed-0, seed-1, three tasks by three runs, one fine-tune of seed-1; written once, to be read
    only."""
    return write_zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture
def zoo(zoo_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small zoo as the box."""
    monkeypatch.setenv("PALIMPSEST_ZOO", str(zoo_on_disk))
    return zoo_on_disk


@pytest.fixture(scope="session")
def variants_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks by three runs of seed-0, and models that were trained otherwise; to be read
    only."""
    return write_variants(tmp_path_factory.mktemp("variants"))


@pytest.fixture
def variants(variants_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The box of variants as the box."""
    monkeypatch.setenv("PALIMPSEST_ZOO", str(variants_on_disk))
    return variants_on_disk


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A scheduler here and two workers, processes with a store each."""
    with two_workers(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """What processes for tokenizers are forked from."""
    waiting = Warm(save_tiny(tmp_path_factory.mktemp("warm")))
    yield waiting
    waiting.close()


@pytest.fixture
def forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes for tokenizers begin with their imports behind them; those of other tests begin as
    a user's do, as in `test_gguf_tokenizers`."""
    if sys.platform == "linux":
        monkeypatch.setattr(subprocess, "Popen", request.getfixturevalue("warm").popen)
