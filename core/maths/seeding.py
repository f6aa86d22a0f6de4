"""Draws from the global generator that depend on a seed alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

GLOBAL_GENERATOR = threading.RLock()
"""Held while torch's global generator is used, of which a process has one."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make draws on the CPU inside the block depend on the seed alone.

    Initial weights are drawn from the global generator; it is left as it was found. Use it for the
    making of a module, not for its training: no other thread makes a model while the block lasts.
    """
    import torch

    with GLOBAL_GENERATOR, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
