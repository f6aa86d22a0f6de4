"""The limits of an instance: generous on a personal computer, tight on a shared one.

`PALIMPSEST_MODE=shared` is meant for small hosts (about 1 GB): it compares a BERT-base with a
fine-tune on up to 500 words (RSA; 1,000 words take 1.1 GB), and does not load a BERT-large. The
environment is read on each call, so that a test or a deployment can switch without a reload.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass

MEGABYTE = 2**20
UNLIMITED = 2**60  # bytes or parameters: more than there are
MODE = "PALIMPSEST_MODE"


@dataclass(frozen=True)
class Limits:
    """Limits on what a user may request.

    Attributes:
        shared: Whether others use this instance: no `path:` models, no pickled weights, no
            tracebacks.
        max_parameters: Parameters of one model; UNLIMITED where memory and time are the limit.
        max_sentences: Sentences of one study.
        max_upload_bytes: Bytes of one uploaded file.
        max_queue: Studies that may wait or run at once.
        max_words: Words of one study, over all its sentences.
        max_download_bytes: Downloaded models kept on disk; UNLIMITED on a personal computer.
        max_seconds: Expected duration of a study on two cores, by its price.
        max_memory_bytes: Expected peak memory of the process, by the study's price.
    """

    shared: bool
    max_parameters: int
    max_sentences: int
    max_upload_bytes: int
    max_queue: int
    max_words: int
    max_download_bytes: int
    max_seconds: float = float(UNLIMITED)
    max_memory_bytes: int = UNLIMITED


LOCAL = Limits(
    shared=False,
    max_parameters=UNLIMITED,
    max_sentences=100_000,
    max_upload_bytes=200 * MEGABYTE,
    max_queue=32,
    max_words=2_000_000,
    max_download_bytes=UNLIMITED,
)
SHARED = Limits(
    shared=True,
    max_parameters=130_000_000,
    max_sentences=1_000,
    max_upload_bytes=2 * MEGABYTE,
    max_queue=16,
    max_words=25_000,
    max_download_bytes=4 * 2**30,
    max_seconds=1800.0,
    max_memory_bytes=1_000_000_000,
)


def current_limits() -> Limits:
    """Return `LOCAL` if PALIMPSEST_MODE is unset or "local", otherwise `SHARED`."""
    return LOCAL if os.environ.get(MODE, "").strip().lower() in ("", "local") else SHARED


def share_beyond_loopback(address: str | None) -> None:
    """Choose shared mode, in the environment of this process and its workers, for an instance that
    others can reach (an address of None is every interface), unless PALIMPSEST_MODE is set."""
    if not os.environ.get(MODE, "").strip() and not is_loopback(address):
        os.environ[MODE] = "shared"


def is_loopback(address: str | None) -> bool:
    """Whether only this computer can reach the address; other host names count as reachable."""
    host = (address or "").strip().lower().strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
