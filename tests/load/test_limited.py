"""The limits of a small host hold for whatever runs within them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import ROOT
from tests.load.limited import KILLED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="there is no /proc here"),
]
BUSY = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass"
LARGE = "held = bytearray(300_000_000)\nimport time; time.sleep(60)"
LIMITED = (sys.executable, "-m", "tests.load.limited", "--cores", "0.5", "--megabytes")


def run(megabytes: int, code: str) -> subprocess.CompletedProcess[str]:
    command = [*LIMITED, str(megabytes), "--", sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_a_second_of_a_processor_takes_two_on_half_of_a_core() -> None:
    began = time.monotonic()
    done = run(200, BUSY)
    assert done.returncode == 0
    assert time.monotonic() - began > 1.8


def test_who_holds_too_much_is_killed() -> None:
    done = run(100, LARGE)
    assert done.returncode == KILLED
    assert "most memory held" in done.stderr
    assert run(400, LARGE.replace("60", "0.2")).returncode == 0


def test_the_command_ends_when_its_limits_are_asked_to_end(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    code = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    command = [*LIMITED, "200", "--", sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as limits:
        while not (told.is_file() and told.read_text()):
            time.sleep(0.05)
        limits.send_signal(signal.SIGTERM)
        limits.wait(10)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
