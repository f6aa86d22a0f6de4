"""Separate processes that stay for the next request, which need not wait for their imports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from core.maths.progress import check
from core.runs.process.isolation import UNBOUNDED, Apart, Patience
from core.runs.process.turns import turn


class PersistentProcess:
    """A module's `answer`, run for one request at a time by a process that ends with this object.

    A request starts the process where none runs.

    Args:
        module, environment: As of `Apart`.
        waiting: Called a few times a second while another request is answered; may raise to give
            up, by default where the run was cancelled.
    """

    def __init__(
        self, module: str, waiting: Callable[[], object] = check, **environment: str
    ) -> None:
        self._module, self._waiting, self._environment = module, waiting, environment
        self._turn = threading.Lock()
        self._process: Apart | None = None
        self._end: threading.Timer | None = None

    def ask(
        self,
        request: object,
        patience: Patience,
        note: str,
        *,
        memory: int,
        rest: float | None = None,
        characters: int = UNBOUNDED,
        listen: Callable[[Any], object] | None = None,
    ) -> list[Any]:
        """Return all replies to a request, as of `Apart.ask`. The process may take `memory` bytes
        and ends after `rest` idle seconds (0: at once, None: never). `listen` is called with the
        last reply a few times a second and may raise to give up."""
        replies: list[Any] = []
        waiting = None if listen is None else partial(_hear, listen, replies)
        with turn(self._turn, self._waiting):
            if self._end is not None:
                self._end.cancel()
            if self._process is None or not self._process.alive:
                self._process = Apart(self._module, memory, **self._environment)
            try:
                for reply in self._process.ask(request, patience, note, characters, waiting):
                    replies.append(reply)
                return replies
            finally:
                if rest == 0:
                    self._process.close()
                elif rest is not None:
                    self._end = threading.Timer(rest, self.close)
                    self._end.daemon = True
                    self._end.start()

    def close(self) -> None:
        """End the process; the next request starts another."""
        with self._turn:
            if self._process is not None:
                self._process.close()


def _hear(listen: Callable[[Any], object], replies: list[Any]) -> None:
    listen(replies[-1] if replies else None)
