"""A Dask cluster on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def two_workers(folder: Path) -> Iterator[object]:
    """A scheduler here and two workers, processes with a store each below `folder`."""
    distributed = pytest.importorskip("distributed")
    options = {
        "nthreads": 1,
        "dashboard_address": None,
        "local_directory": str(folder),
        "host": "127.0.0.1",
    }
    workers = {
        name: {
            "cls": distributed.Nanny,
            "options": options | {"env": {"PALIMPSEST_STORE": str(folder / name)}},
        }
        for name in ("one", "two")
    }
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    with distributed.SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster
