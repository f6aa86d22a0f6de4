"""Processes for strangers' tokenizers that need not import first: they are forked from one that
waits, where a start of their own imports for a second.

But for that they are what `isolation.Apart` starts: children of this process, with its command, its
pipes, its environment and limits of their own.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.runs.process import isolation
from tests import ROOT

COMMAND = [sys.executable, "-m", "core.runs.process.isolation", "core.models.loading.tokenizing"]
SUBREAPER = 36  # of prctl: whether orphans of this process's children become its own
LONGEST = 2**16  # bytes of a request
START = subprocess.Popen


class Forked(subprocess.Popen[str]):
    """A child of this process that was forked elsewhere."""

    def __init__(self, arguments: Sequence[str], pid: int, stdin: int, stdout: int) -> None:
        self.args, self.pid, self.returncode = arguments, pid, None
        self.stdin, self.stdout = (
            os.fdopen(pipe, mode, encoding="utf8") for pipe, mode in ((stdin, "w"), (stdout, "r"))
        )
        self.stderr = None
        self._child_created, self._waitpid_lock = True, threading.Lock()


class Warm:
    """A process that has read a tokenizer, and forks itself when it is asked to.

    Args:
        folder: Of a model with a tokenizer.
    """

    def __init__(self, folder: Path) -> None:
        self._turn = threading.Lock()
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = START(
            [sys.executable, "-m", "tests.core.warm", str(theirs.fileno()), str(folder)],
            cwd=ROOT,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def close(self) -> None:
        """End it."""
        self._line.close()
        self._process.wait()

    def popen(self, arguments: Sequence[str], **named: Any) -> Any:
        """`subprocess.Popen`, but for a process that runs a tokenizer."""
        if [*arguments[: len(COMMAND)]] != COMMAND:
            return START(arguments, **named)
        (read, stdin), (stdout, write) = os.pipe(), os.pipe()
        asked = json.dumps({"arguments": arguments[2:], "environment": dict(named["env"])})
        with self._turn:
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
            socket.send_fds(self._line, [asked.encode()], [read, write])
            pid = int(self._line.recv(LONGEST))
            ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)
        os.close(read)
        os.close(write)
        return Forked(arguments, pid, stdin, stdout)


def main(line: socket.socket, folder: str) -> None:
    """Fork for each request; the process that was forked answers to its pipes."""
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]  # as the process does first
    from core.models.loading.tokenizing import read_tokenizer

    read_tokenizer(folder, "warm")
    while True:
        asked, pipes, *_ = socket.recv_fds(line, LONGEST, 2)
        if not asked:
            return
        answer, said = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid == 0:
                for end in (answer, said, line.detach()):
                    os.close(end)
                become(json.loads(asked), pipes)
            os.write(said, str(pid).encode())
            os._exit(0)  # the one that it has forked is an orphan now, which our parent adopts
        os.waitpid(between, 0)
        line.send(os.read(answer, LONGEST))
        for pipe in (answer, said, *pipes):
            os.close(pipe)


def become(asked: dict[str, Any], pipes: Sequence[int]) -> None:
    """Be the process that was asked for."""
    for place, pipe in enumerate(pipes):
        os.dup2(pipe, place)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv[:] = asked["arguments"]
    isolation.main()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
