"""What two threads must not do with transformers at once: import it, and make a model."""

from __future__ import annotations

import threading
from typing import Any

_IMPORTING = threading.Lock()

MAKING_A_MODEL = threading.RLock()
"""Held while a transformers model is made or its weights are read.

transformers replaces its functions for initial weights and for tied weights while it makes a model, and puts back
what it found. Two threads that overlap put back each other's replacements: from then on no model in the process
has tied weights or fresh ones. The draw of a random control also needs torch's global generator for itself.
"""


def import_transformers() -> Any:
    """The transformers module. Its lazy import breaks when two threads need it first at once, so one goes in."""
    with _IMPORTING:
        import transformers

        for name in ("AutoConfig", "AutoModel", "AutoTokenizer"):
            getattr(transformers, name)
    return transformers
