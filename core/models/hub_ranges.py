"""Parts of a hub file, by range requests: one tensor of a large file without the rest of it.

The file is named by its commit, so that what was read in two sittings is of one piece. A server that ignores
ranges would send the whole file each time: it is then fetched once, as a download, and read from there.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import core.models.hub as hub
import core.models.hub_cache as hub_cache
from core.errors import ModelError
from core.models.hub_errors import failures, is_unreachable
from core.runs.tasks import tick

ATTEMPTS = 4
FIRST_WAIT = 1.0  # seconds; doubled after each attempt, unless the hub says how long
LONGEST_WAIT = 30.0  # seconds; a hub that asks for more is asked again another day
READ_TIMEOUT = 60.0  # seconds without a byte
AGAIN = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class RangeFile:
    """A file on the hub at one commit, of which ranges of bytes can be read."""

    repository: str
    commit: str
    path: str

    @property
    def name(self) -> str:
        """What a message calls it."""
        return f"{self.repository}/{self.path}"

    def read(self, start: int, stop: int) -> bytes:
        """Bytes from `start` up to `stop`; fewer where the file ends.

        Raises:
            ModelError: If the hub refuses, is silent, or is busy for longer than a few attempts.
        """
        whole = _fetched.get((self.repository, self.commit, self.path))
        if whole is None or not whole.is_file():
            data = self._ask(start, stop)
            if data is not None:
                return data
            whole = self._fetch()
        with whole.open("rb") as handle:
            handle.seek(start)
            return handle.read(stop - start)

    def _ask(self, start: int, stop: int) -> bytes | None:
        """The range, or None if the server ignores ranges."""
        wait = FIRST_WAIT
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._request(start, stop)
                if isinstance(answer, bytes | None):
                    return answer
                status, asked = answer
            except failures() as error:
                if attempt == ATTEMPTS or not is_unreachable(error):
                    raise hub.refusal(error, self.repository, self.commit) from error
                asked = None
            else:
                if attempt == ATTEMPTS or (asked or 0) > LONGEST_WAIT:
                    busy = "is limiting how often this address may ask" if status == 429 else f"answers {status}"
                    raise ModelError(
                        f"The hub {busy}, after {attempt} attempts to read {self.name}: run again later, "
                        "what was read is kept."
                    )
            _pause(asked if asked is not None else wait)
            wait *= 2
        raise AssertionError("the last attempt returns or raises")

    def _request(self, start: int, stop: int) -> bytes | tuple[int, float | None] | None:
        """One request: bytes, None where ranges are ignored, or (status, seconds to wait) where the hub is busy."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

        url = hf_hub_url(self.repository, self.path, revision=self.commit, endpoint=hub.endpoint())
        # Compressed bytes would not be those of the range.
        headers = build_hf_headers(token=hub.login()) | {
            "Range": f"bytes={start}-{stop - 1}",
            "Accept-Encoding": "identity",
        }
        with get_session().stream("GET", url, headers=headers, follow_redirects=True, timeout=READ_TIMEOUT) as response:
            if response.status_code in AGAIN:
                return response.status_code, _seconds(response.headers.get("Retry-After"))
            if response.status_code == 416:
                return b""
            if response.status_code == 206:
                return _body(response, stop - start)
            if response.status_code == 200:
                return None
            response.read()
            hf_raise_for_status(response)
        raise ModelError(f"The hub answered {response.status_code} when asked for a part of {self.name}: try again.")

    def _fetch(self) -> Path:
        try:
            path = hub.fetch(self.repository, self.commit, self.path)
        except failures() as error:
            raise hub.refusal(error, self.repository, self.commit) from error
        hub_cache.trim_downloads(hub.cache_folder(), hub.model_folder(self.repository))
        with _lock:
            _fetched[self.repository, self.commit, self.path] = path
        return path


def _body(response: Any, size: int) -> bytes:
    parts = []
    left = size
    for part in response.iter_raw():
        parts.append(part[:left])
        left -= len(parts[-1])
        if left <= 0:
            break
    return b"".join(parts)


def _pause(seconds: float) -> None:
    """Wait, but not past a cancellation."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        tick(0.0, "the hub asks us to wait")
        time.sleep(min(left, 0.2))


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdecimal() else None


_fetched: dict[tuple[str, str, str], Path] = {}
_lock = threading.Lock()
