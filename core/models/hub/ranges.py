"""Range requests for files on the Hub: one tensor without the rest of the file.

The file is named by its commit, so that what was read in two sittings is of one piece. A server
that ignores ranges would send the whole file each time: it is then fetched once, as a download, and
read from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ModelError
from core.maths.progress import tick
from core.models.hub import client as hub
from core.models.hub.asking import ask, whole
from core.runs.process.remembered import Memory

READ_TIMEOUT = 60.0  # seconds without a byte


@dataclass(frozen=True)
class RangeFile:
    """A file on the Hub at one commit, readable in ranges of bytes."""

    repository: str
    commit: str
    path: str

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"{self.repository}/{self.path}"

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes from `start` up to `stop`; fewer at the end of the file. Raises ModelError
        if the Hub refuses, is silent, or is busy for longer than a few attempts."""
        path = _fetched.fresh((self.repository, self.commit, self.path))
        if path is None or not path.is_file():
            with hub.refusing(self.repository, self.commit):
                data = ask(lambda: self._request(start, stop))
            if data is not None:  # else the server ignores ranges
                return data
            path = self._fetch()
        with path.open("rb") as handle:
            handle.seek(start)
            return handle.read(stop - start)

    def _request(self, start: int, stop: int) -> bytes | None:
        """Send one request for a range; None if ranges are ignored."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

        url = hf_hub_url(self.repository, self.path, revision=self.commit, endpoint=hub.endpoint())
        # Compressed bytes would not be those of the range.
        headers = build_hf_headers(token=hub.login()) | {
            "Range": f"bytes={start}-{stop - 1}",
            "Accept-Encoding": "identity",
        }
        with get_session().stream(
            "GET", url, headers=headers, follow_redirects=True, timeout=READ_TIMEOUT
        ) as response:
            if response.status_code == 416:
                return b""
            if response.status_code == 206:
                return _body(response, stop - start)
            if response.status_code == 200:
                return None
            hf_raise_for_status(whole(response))
        raise ModelError(
            f"The Hub answered {response.status_code} when asked for a part of {self.name}: try "
            "again."
        )

    def _fetch(self) -> Path:
        with hub.refusing(self.repository, self.commit):
            path = hub.fetch(hub.ask_about(self.repository, self.commit), self.path)
        _fetched.put((self.repository, self.commit, self.path), path)
        return path


def _body(response: Any, size: int) -> bytes:
    parts = []
    left = size
    for part in response.iter_raw():
        tick(0.0, "the Hub sends weights")
        parts.append(part[:left])
        left -= len(parts[-1])
        if left <= 0:
            break
    return b"".join(parts)


_fetched: Memory[Path] = Memory(4_096)
