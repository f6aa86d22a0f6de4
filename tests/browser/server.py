"""The real app in a process of its own, on a free port and with a store of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@contextmanager
def serve(folder: Path, **environment: str) -> Iterator[str]:
    """Address of an app that keeps its store and its log in `folder`, and ends with the block."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log.txt"
    environment = {**os.environ, "PALIMPSEST_STORE": str(folder / "store"), **environment}
    environment.pop("PALIMPSEST_MODE", None)
    options = ("--server.headless=true", "--server.fileWatcherType=none", f"--server.port={port}")
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *options]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait_until_healthy(server, f"http://localhost:{port}/_stcore/health", log)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_healthy(server: subprocess.Popen, address: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start:\n{log.read_text(encoding='utf8', errors='replace')[-2000:]}")
