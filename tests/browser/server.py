"""The real app in a process of its own, started as its users start it: the same command, the same
configuration, and no variable that they lack but those of `ALLOWED`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
ENTRY = (
    sys.executable,
    "-m",
    "streamlit",
    "run",
    "app.py",
)  # `make app` runs it: tests/test_entries.py
OURS = ("PALIMPSEST_", "STREAMLIT_", "HF_", "OMP_", "TOKENIZERS_", "PYTHON", "PYTEST_")
ALLOWED = {  # what a server of a test may have that its users' has not, and why
    "PALIMPSEST_MODE": "most tests are of a laptop, some of a host",
    "PALIMPSEST_STORE": "no test reads or fills its user's store",
    "STREAMLIT_SERVER_ADDRESS": "as ADDRESS of make",
    "STREAMLIT_SERVER_PORT": "tests run side by side",
    "HF_ENDPOINT": "a hub of the test's own",
    "HF_HUB_CACHE": "and its downloads",
    "HF_HOME": "as the image",
    "HOME": "that of somebody who starts the app for the first time",
    "XDG_CONFIG_HOME": "likewise",
    "DISPLAY": "with a screen",
    "PATH": "and a browser",
    "PYTHONPATH": "by which a server is asked what it has (tests/effective)",
    "EFFECTIVE": "where it writes that",
}


@contextmanager
def serve(folder: Path, **environment: str) -> Iterator[str]:
    """Address of an app that keeps its store and its log in `folder`, and ends with the block."""
    with started(ENTRY, folder, **environment) as (_, address):
        yield address


def environment_of(folder: Path, port: int, **environment: str) -> dict[str, str]:
    """Variables of a server that keeps its store in `folder`: a user's, and those that are given.

    Args:
        folder: Where the store goes.
        port: Where it listens.
        environment: Of `ALLOWED`.
    """
    assert environment.keys() <= ALLOWED.keys(), "a server's users have no such variable"
    users = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ours = {
        "STREAMLIT_SERVER_ADDRESS": "localhost",
        "STREAMLIT_SERVER_PORT": str(port),
        "PALIMPSEST_STORE": str(folder / "store"),
    }
    return {**users, **ours, **environment}


@contextmanager
def started(
    command: Sequence[str], folder: Path, cwd: Path = ROOT, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process of any command that starts the app, and the app's address; both end with the
    block.

    Args:
        command: Run without a standard input.
        folder: Where store and log.txt go.
        cwd: Where it is run.
        environment: Variables on top of a user's, see `ALLOWED`; the app is local unless they name
            a mode.
    """
    port = free_port()
    log = folder / "log.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment_of(folder, port, **environment),
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


def make_command(folder: Path, *variables: str) -> list[str]:
    """`make app`, where all that it would install is here already."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    python = folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / "venv" / "app.stamp").touch()
    return ["make", "app", f"VENV={folder / 'venv'}", *variables]


def with_files(command: Sequence[str], files: int) -> list[str]:
    """A command that may open so many files and cannot raise that."""
    return ["sh", "-c", f"ulimit -n {files}; exec {shlex.join(command)}"]


def free_port() -> int:
    """A port where nobody listens."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


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
