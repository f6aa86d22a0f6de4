"""Work on untrusted files in a separate process with limits of memory and time.

A library that reads a line without end and an allocator that aborts cannot be interrupted from
within: they end with their process, and what is left of them here is an error. `python -m
core.runs.process.isolation MODULE MEMORY` imports the module, gives each request (a line of JSON on
its standard input) to the module's `answer`, and writes a line of JSON for each reply and one for
the end. It ends when nobody holds the other side of its standard input.

Where the system has no limits for a process (Windows) or does not keep them (memory on macOS), time
alone is limited. A thread that finds no memory may leave the others waiting for it for ever; where
the system shows it (Linux), a process that does nothing is ended.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from core.errors import PalimpsestError

LOOK_UP_SECONDS = 0.2
WAITING = 2**22  # characters of replies that wait to be taken; the process waits for room
LONGEST_LINE = 32 * 2**20  # characters of a reply
UNBOUNDED = 2**60  # characters of all replies, where the caller takes them one by one
# seconds without a reply, where the machine is busy or keeps no limit of processor time
SILENCE = 120.0
IDLE = 10.0  # seconds in which its process does nothing: a thread that found no memory stops others
FAREWELL_SECONDS = 5.0  # for a process that has closed its output to say how it ended
BUSY = (
    "This computer is too busy for {note}, which has not ended after {seconds:.0f} s: try again "
    "when less runs on it."
)
OUT_OF_TIME = -int(getattr(signal, "SIGXCPU", 0))  # exit status


class ApartError(Exception):
    """The process ended without an answer, by its memory limit or a fault."""


class ApartTimeoutError(ApartError):
    """The process gave no answer in time."""


class ApartAnswerError(ApartError):
    """The process answered with more than was asked for."""


class RefusedError(ApartError):
    """The process refused the request, with the reason."""


class BusyError(PalimpsestError):
    """The process had too little of the processor to answer: its request is not to blame."""


@dataclass(frozen=True)
class Patience:
    """Time limits of a request.

    Attributes:
        silence: Seconds without a reply.
        deadline: Seconds until the last reply.
        processor: Seconds of processor time; None where the two above are enough.
        idle: Seconds in which the process neither works nor reads a disk; None if it may wait for a
            network.
    """

    silence: float
    deadline: float
    processor: float | None = None
    idle: float | None = None


class Apart:
    """A module's `answer`, run by a process that ends with this object.

    Args:
        module: Its name; `answer(request)` yields replies that JSON can say, and raises a
            `PalimpsestError` to refuse.
        memory: Bytes that the process may take.
        environment: Variables that are set for the process.
    """

    def __init__(self, module: str, memory: int, **environment: str) -> None:
        root = str(Path(__file__).resolve().parents[3])  # the folder of `core`
        paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "core.runs.process.isolation", module, str(memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": paths} | environment, text=True, encoding="utf8",
        )  # fmt: skip
        self._lines = _Lines()
        done = threading.Event()
        threading.Thread(
            target=_pump, args=(self._process.stdout, self._lines, done), daemon=True
        ).start()
        self._end = weakref.finalize(self, _stop, self._process, done)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._end.alive

    def close(self) -> None:
        """End the process."""
        self._end()

    def ask(
        self,
        request: object,
        patience: Patience,
        note: str,
        characters: int = UNBOUNDED,
        waiting: Callable[[], object] | None = None,
    ) -> Iterator[Any]:
        """Yield the replies to a request that JSON can say. `waiting` is called a few times a
        second in place of reporting `note`, and may raise to give up. Raises RefusedError with the
        process's sentence; all other errors end the process: ApartTimeoutError, ApartAnswerError,
        BusyError, CancelledError."""
        whole = False
        line = json.dumps({"processor": patience.processor, "request": request}) + "\n"
        threading.Thread(target=_send, args=(self._process.stdin, line), daemon=True).start()
        try:
            for reply in self._replies(patience, note, characters, waiting):
                if "end" not in reply:
                    yield reply["reply"]
                    continue
                whole = True
                if reply["end"]:
                    raise RefusedError(reply["end"])
                return
        finally:
            if not whole:
                self.close()

    def _replies(
        self,
        patience: Patience,
        note: str,
        left: int,
        waiting: Callable[[], object] | None,
    ) -> Iterator[dict[str, Any]]:
        # with the store's imports, which a list of the commands does not need
        from core.maths.progress import tick

        began = heard = time.monotonic()
        rest = _Rest(self._process.pid)
        while True:
            waiting() if waiting else tick(0.0, note)
            now = time.monotonic()
            if patience.idle is not None and rest.seconds > patience.idle:
                raise ApartError
            if now - began > patience.deadline or now - heard > patience.silence:
                if patience.processor is not None and OUT_OF_TIME:  # which would have ended it
                    raise BusyError(BUSY.format(note=note, seconds=now - began))
                raise ApartTimeoutError
            line = self._lines.take()
            if line is None:
                continue
            if not line:
                raise self._ended()
            left -= len(line)
            if left < 0:
                raise ApartAnswerError
            yield json.loads(line)
            heard = time.monotonic()
            rest = _Rest(self._process.pid)

    def _ended(self) -> ApartError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(FAREWELL_SECONDS) == OUT_OF_TIME:
                return ApartTimeoutError()
        return ApartError()


class _Lines:
    """Lines that wait to be taken, of which one alone may be longer than `WAITING`."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._characters = 0
        self._change = threading.Condition()

    def put(self, line: str, done: threading.Event) -> None:
        """Wait for room and add a line; add none if nobody takes them any more."""
        with self._change:
            while self._lines and self._characters + len(line) > WAITING:
                if done.is_set():
                    return
                self._change.wait(LOOK_UP_SECONDS)
            self._lines.append(line)
            self._characters += len(line)
            self._change.notify_all()

    def take(self) -> str | None:
        """Take a line; None if there is none for a moment."""
        with self._change:
            if not self._lines:
                self._change.wait(LOOK_UP_SECONDS)
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._characters -= len(line)
            self._change.notify_all()
            return line


class _Rest:
    """How long a process has slept, as Linux shows it."""

    def __init__(self, pid: int) -> None:
        self._place = Path(f"/proc/{pid}/stat")
        self._worked: list[str] = []
        self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since it was last seen at work or waiting for a disk; 0 where that is not
        shown."""
        try:
            fields = self._place.read_text(encoding="ascii", errors="replace")
        except OSError:
            return 0.0
        state, *numbers = fields.rpartition(")")[2].split()
        worked = numbers[10:12]  # clock ticks of all its threads: its own, the system's for it
        if state != "S" or worked != self._worked:
            self._worked, self._since = worked, time.monotonic()
        return time.monotonic() - self._since


def _stop(process: subprocess.Popen[str], done: threading.Event) -> None:
    done.set()
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # what was not yet sent has nowhere to go
            assert pipe is not None
            pipe.close()


def _send(pipe: IO[str], line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # it has ended, which its output says
        pipe.write(line)
        pipe.flush()


def _pump(output: IO[str], lines: _Lines, done: threading.Event) -> None:
    """Hand on the process's output lines, then ""."""
    with contextlib.suppress(ValueError, OSError):  # closed under it
        while (line := output.readline(LONGEST_LINE)).endswith("\n"):
            lines.put(line, done)
    lines.put("", done)


def _confine(memory: int) -> None:
    """Limit this process's memory, and let the system end it first when memory runs out."""
    # not on Windows; elsewhere perhaps not allowed
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError):  # Linux alone has it
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _allow(seconds: float | None) -> None:
    """Limit this process's processor time, in seconds."""
    if seconds is None:
        return
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main() -> None:
    """Answer requests with the module and memory limit in the arguments."""
    _confine(int(sys.argv[2]))
    output = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)  # output of libraries is no reply

    def say(**said: Any) -> None:
        output.write(json.dumps(said) + "\n")
        output.flush()

    answer = importlib.import_module(sys.argv[1]).answer
    for line in sys.stdin:
        asked = json.loads(line)
        _allow(asked["processor"])
        try:
            for reply in answer(asked["request"]):
                say(reply=reply)
            say(end="")
        except PalimpsestError as error:
            say(end=str(error))
    os._exit(0)  # a library's threads may hold the end up


if __name__ == "__main__":
    main()
