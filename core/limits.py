"""What one instance allows: generous at a laptop, capped where the app is shared with strangers.

`PALIMPSEST_MODE=shared` is meant for small hosts (about 1 GB): a BERT-base fits, a BERT-large does not.
The environment is read on each call, so that a test or a deployment can switch without a reload.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

MEGABYTE = 2**20
UNLIMITED = 2**60  # bytes: more than there are


@dataclass(frozen=True)
class Limits:
    """Caps on what a user may ask for.

    Attributes:
        shared: Whether strangers use this instance: no `path:` models, no pickled weights, no stack traces.
        max_parameters: Parameters of one model.
        max_sentences: Sentences of one study.
        max_upload_bytes: Bytes of one uploaded file.
        max_queue: Studies that may wait or run at once.
        max_words: Words of one study, over all its sentences.
        max_download_bytes: Downloaded models that are kept on disk; UNLIMITED where it is the user's own.
    """

    shared: bool
    max_parameters: int
    max_sentences: int
    max_upload_bytes: int
    max_queue: int
    max_words: int
    max_download_bytes: int


LOCAL = Limits(
    shared=False,
    max_parameters=3_000_000_000,
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
)


def current_limits() -> Limits:
    """The caps in force: `SHARED` where PALIMPSEST_MODE is "shared", else `LOCAL`."""
    return SHARED if os.environ.get("PALIMPSEST_MODE", "").strip().lower() == "shared" else LOCAL
