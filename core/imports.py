"""The one import that two threads must not begin at once."""

from __future__ import annotations

import threading
from typing import Any

_IMPORTING = threading.Lock()


def import_transformers() -> Any:
    """The transformers module. Its lazy import breaks when two threads need it first at once, so one goes in."""
    with _IMPORTING:
        import transformers

        for name in ("AutoConfig", "AutoModel", "AutoTokenizer"):
            getattr(transformers, name)
    return transformers
