"""A module whose process ends without an answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator


def answer(request: object) -> Iterator[str]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield ""
