"""The real app in a process of its own, on a free port and with a store of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@contextmanager
def serve(folder: Path, **environment: str) -> Iterator[str]:
    """Address of an app that keeps its store and its log in `folder`, and ends with the block."""
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    with started([*command, "--server.headless=true"], folder, **environment) as (_, address):
        yield address


@contextmanager
def started(
    command: list[str], folder: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process of any command that starts the app, and the app's address; both end with the
    block.

    Args:
        command: Run in the repository's root, without a standard input.
        folder: Where store and log.txt go.
        environment: Variables on top of this process's own; the app is local unless they name a
            mode.
    """
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log.txt"
    defaults = {
        "PALIMPSEST_MODE": "",
        "STREAMLIT_SERVER_ADDRESS": "localhost",
        "PALIMPSEST_STORE": str(folder / "store"),
        "PALIMPSEST_PRECOMPUTED": "",  # those in the box, as on a user's machine
        "STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none",
        "STREAMLIT_SERVER_PORT": str(port),
    }
    variables = {**os.environ, **defaults, **environment}
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_healthy(server, f"http://localhost:{port}/_stcore/health", log)
            yield server, f"http://localhost:{port}"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)  # make and what it started
            try:
                server.wait(3)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)


def _wait_until_healthy(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(
        f"the app did not start:\n{log.read_text(encoding='utf8', errors='replace')[-2000:]}"
    )
