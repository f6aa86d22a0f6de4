"""Threads that import scientific packages at the same moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import ROOT

SCRIPT = """
import sys, threading
from importlib import import_module
from core.runs.process.imports import import_tangled

sys.setswitchinterval(1e-5)
PARTS = (
    "scipy.stats", "scipy.spatial.distance", "scipy.cluster.hierarchy", "scipy.sparse.linalg",
    "scipy.spatial", "scipy.interpolate", "sklearn.manifold", "scipy.optimize", "sklearn.cluster",
    "scipy.sparse.csgraph", "pandas.api.types", "sklearn.linear_model", "scipy.special", "pandas",
)
begin, errors = threading.Barrier(len(PARTS)), []

def enter(name):
    begin.wait()
    try:
        import_tangled()
        import_module(name)
    except BaseException as error:
        errors.append(f"{name}: {error!r}")

threads = [threading.Thread(target=enter, args=(name,)) for name in PARTS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("; ".join(errors) or 0)
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_threads_enter_scientific_packages_by_any_part_at_once() -> None:
    """Without the lock most of these threads see a module that is half executed."""
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
