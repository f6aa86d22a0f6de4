"""Run a command with a share of a core and so many megabytes, on any Unix and without privileges.

python -m tests.load.limited --cores 0.5 --megabytes 1000 -- python -m streamlit run app.py

The command's processes have one core and are stopped while they have used more than their share
of it, as a host's quota does. Once they hold more memory than they may, they are killed, as a host's
out-of-memory killer does. The exit code is the command's, or 137 for memory.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

LOOKS = 0.02  # seconds between two looks at the processes
BURST = 0.1  # seconds of a core that may be saved up
ENDS = 2.0  # seconds from being asked to end to being killed
KILLED = 137
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def usage(session: int) -> tuple[float, int]:
    """Sum what all processes of a session use.

    Returns:
        Processor seconds so far, of living processes and the children that they waited for; bytes
        that are resident now.
    """
    ticks = pages = 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
                pages += int(fields[21])
    return ticks / TICKS, pages * PAGE


def run_limited(command: list[str], cores: float, megabytes: float) -> tuple[int, float]:
    """Run a command within its limits until it ends.

    Args:
        command: The program and its arguments.
        cores: Share of one core, between 0 and 1.
        megabytes: That all of its processes may hold together.

    Returns:
        Exit code; most megabytes that were held.
    """
    core = min(os.sched_getaffinity(0))
    process = subprocess.Popen(
        command, start_new_session=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )

    asked_to_end: list[float] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_end.append(time.monotonic()))
    saved, before, used, peak = BURST, time.monotonic(), 0.0, 0.0
    while process.poll() is None:
        if asked_to_end:
            _end(process)
            break
        time.sleep(LOOKS)
        seconds, held = usage(process.pid)
        now, peak = time.monotonic(), max(peak, held / 1e6)
        # A child that ends unwaited takes its seconds along: they are not given back.
        saved = min(saved + cores * (now - before) - max(seconds - used, 0.0), BURST)
        before, used = now, seconds
        with suppress(ProcessLookupError):
            if held > megabytes * 1e6:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return KILLED, peak
            os.killpg(process.pid, signal.SIGSTOP if saved < 0 else signal.SIGCONT)
    return process.returncode, peak


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask all processes of the command to end, and kill them where they take too long."""
    for number in (signal.SIGCONT, signal.SIGTERM):
        os.killpg(process.pid, number)
    try:
        process.wait(ENDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> int:
    """Run the command after `--`; say the most memory that it held."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.limited")
    parser.add_argument("--cores", type=float, default=0.5)
    parser.add_argument("--megabytes", type=float, default=1000.0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    status, peak = run_limited(command, given.cores, given.megabytes)
    print(f"most memory held {peak:.0f} MB", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
