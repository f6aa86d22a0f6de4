"""Memory that was let go is the system's again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from core.runs.process import memory
from tests import ROOT

LETTING_GO = """
import numpy as np
from core.runs.process.memory import give_back_free_memory, give_back_large_blocks

def megabytes():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    return int(fields["VmRSS"].split()[0]) / 1024

if {fixed}:
    assert give_back_large_blocks()
np.ones(20 * 2**17)  # glibc takes what is freed for the size to expect, and keeps such blocks in its heap from now on
before = megabytes()
blocks = []
for _ in range(20):
    blocks += [np.ones(12 * 2**17), np.ones(2**10)]  # 12 MB, and something small that stays behind it
small = blocks[1::2]
del blocks
print(megabytes() - before)
"""


def left(fixed: bool) -> float:
    code = LETTING_GO.format(fixed=fixed)
    # Dask leaves settings of glibc in the environment of a process that has started a cluster.
    surroundings = {name: each for name, each in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not memory._library(), reason="not glibc")
def test_large_blocks_that_were_let_go_are_given_back() -> None:
    assert left(fixed=False) > 100  # what it is for: without it 240 MB stay
    assert left(fixed=True) < 10


def test_another_system_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    memory._library.cache_clear()
    memory.give_back_large_blocks.cache_clear()
    try:
        assert memory.give_back_large_blocks() is False
        memory.give_back_free_memory()
    finally:
        memory._library.cache_clear()
        memory.give_back_large_blocks.cache_clear()
