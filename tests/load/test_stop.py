"""A server that is interrupted while it computes ends at once, and its log has no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.browser.server import ENTRY, started
from tests.cases import exhaustive
from tests.load.tab import Tab, run_alone

SECONDS = 30  # until it has ended; the study takes minutes
# starts without being asked for
LONG = {"models": ["zoo:seed-0", "zoo:seed-1"], "sentences": 450}


@pytest.mark.slow
@pytest.mark.parametrize("number", exhaustive([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_a_server_ends_while_a_study_runs(number: int, tmp_path: Path) -> None:
    with started(ENTRY, tmp_path) as (server, address):
        run_alone(_stop_while_computing(server, address, number))
        server.wait(SECONDS)
    log = (tmp_path / "log.txt").read_text(encoding="utf8", errors="replace")
    assert "Traceback" not in log
    # behind uvicorn a terminated process is gone at once, without a line
    assert server.returncode == -signal.SIGTERM or '"outcome": "cancelled"' in log


async def _stop_while_computing(server: subprocess.Popen[bytes], address: str, number: int) -> None:
    async with Tab(address) as tab:
        await tab.open("probe_trees", **LONG)
        await tab.until(lambda tab: any(bar.value > 0 for bar in tab.of_type("progress")))
        os.kill(server.pid, number)
