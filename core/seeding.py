"""Random numbers from torch's global generator, which all threads of a process share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.imports import MAKING_A_MODEL


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A block whose draws on the CPU depend on the seed alone, whatever other threads make meanwhile.

    Initial weights are drawn from the global generator; it is left as it was found. Use it for the making of a
    module, not for its training: no other thread makes a model while the block lasts.
    """
    import torch

    with MAKING_A_MODEL, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
