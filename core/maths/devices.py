"""What this machine computes on, and what its processor can do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PROCESSOR = Path("/proc/cpuinfo")  # of Linux
INSTRUCTIONS = ("avx512_bf16", "amx_bf16")


def choose_device() -> str:
    """Choose "cuda" if available, else "mps", else "cpu"."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


@cache
def fast_half() -> bool:
    """Whether this machine's device has instructions for bfloat16.

    Example:
        >>> isinstance(fast_half(), bool)
        True
    """
    device = choose_device()
    if device == "cuda":
        import torch

        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device == "cpu" and not processor_flags().isdisjoint(INSTRUCTIONS)


@cache
def processor_flags() -> frozenset[str]:
    """What the processor can do, by Linux's names; nothing on other systems.

    Example:
        >>> isinstance(processor_flags(), frozenset)
        True
    """
    try:
        return frozenset(PROCESSOR.read_text().split())
    except OSError:  # not Linux
        return frozenset()
