"""Memory that every step of a training uses again.

A wide bank's step makes arrays of some ten megabytes. The C library maps blocks of that size anew
each time and the system clears them, page by page, which was a fifth of the processor's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor


class Scratch:
    """Named blocks that grow to the largest array asked for; what they held is overwritten."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, torch.dtype], Tensor] = {}

    def take(
        self, name: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> Tensor:
        """An array of this shape with arbitrary numbers, in the memory of the last of this name and
        type.

        Example:
            >>> scratch, cpu = Scratch(), torch.device("cpu")
            >>> first = scratch.take("rows", (2, 3), torch.float32, cpu)
            >>> scratch.take("rows", (4,), torch.float32, cpu).data_ptr() == first.data_ptr()
            True
        """
        size = prod(shape)
        block = self._blocks.get((name, dtype))
        if block is None or len(block) < size:
            block = torch.empty(size, dtype=dtype, device=device)
            self._blocks[name, dtype] = block
        return block[:size].view(*shape)

    def like(self, name: str, pattern: Tensor) -> Tensor:
        """`take` an array of the shape, type and device of another."""
        return self.take(name, pattern.shape, pattern.dtype, pattern.device)
