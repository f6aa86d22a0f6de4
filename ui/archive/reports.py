"""Reports kept in the store under the hash of their content, to be read at an address of their own.

A kept report needs no study to be run again. It is dropped as other values are: the least recently
read go first when the store is full.
"""

from __future__ import annotations

import os
import re

import numpy as np

from core.errors import NotStoredError
from core.runs.store import default_store, key_of
from ui.frame.links import base_path

KIND, PICTURE = "report page", "preview picture"
SERVED = "PALIMPSEST_REPORTS"  # set to 1 by a server that has an address for reports
KEY = re.compile(r"[0-9a-f]{64}")


def serves_reports() -> bool:
    """Whether this server has addresses for reports."""
    return os.environ.get(SERVED) == "1"


def address_of(key: str) -> str:
    """Return a kept report's address, below the server's."""
    return f"{base_path()}/r/{key}"


def picture_of(address: str) -> str:
    """Return the address of the preview picture of the report at an address."""
    return f"{address}.png"


def keep_report(page: bytes, picture: bytes = b"") -> str:
    """Keep a report, and the PNG that previews of links to it show, if any; return its key, which
    only its content decides. Raises NotStoredError if the store could not keep it."""
    text = page.decode("utf8")
    key = key_of(KIND, text)
    store = default_store()
    preview = {PICTURE: np.frombuffer(picture, dtype=np.uint8)} if picture else {}
    if not store.put(key, {KIND: text, **preview}):
        way = "Try again later" if store.info().trouble else "Increase its size limit"
        raise NotStoredError(f"The store could not keep the report. {way}.")
    return key


def read_report(key: str) -> bytes | None:
    """Read a kept report; None if the key is malformed, or there is no report under it."""
    value = default_store().get(key) if KEY.fullmatch(key) else None
    text = (value or {}).get(KIND)
    return text.encode("utf8") if isinstance(text, str) else None


def read_picture(key: str) -> bytes | None:
    """Read the preview picture of a kept report; None if the key is malformed, or there is none."""
    value = default_store().get(key) if KEY.fullmatch(key) else None
    picture = (value or {}).get(PICTURE)
    return picture.tobytes() if isinstance(picture, np.ndarray) and picture.size else None
