"""Imports that take their time: out of the collector's sight once they are there."""

from __future__ import annotations

import gc
import sys

HEAVY = ("altair", "datasets", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers")
_frozen: set[str] = set()


def freeze_heavy_imports() -> bool:
    """Take what the heavy imports left behind out of the garbage collector's sight, once for each of them.

    Streamlit collects after every script run: a third of a second under the interpreter's lock once torch and
    transformers are loaded, which thirty readers feel. Frozen objects are not looked at again.

    Returns:
        Whether there was something new to freeze.
    """
    new = {name for name in HEAVY if name in sys.modules} - _frozen
    if new:
        gc.collect()
        gc.freeze()
        _frozen.update(new)
    return bool(new)
