"""Random changes of equal spectrum: a weight change that is rotated at random.

It has the size and the singular values of the real change but not its directions, so that it says
how far any such change would move a layer's output.

Deviations: rows or columns beyond 1,024 are permuted with random signs, which
keeps the singular values, too, and needs no large rotation.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import torch
from torch import Tensor, nn

BOTTOM = re.compile(r"embed|\bwte\b|\bwpe\b")  # weights below the layers
LARGEST_ROTATION = 1024


def turned_copy(origin: nn.Module, tuned: nn.Module, seed: int) -> nn.Module:
    """Copy a base with its fine-tune's change, rotated at random weight by weight; weights that
    only one of the two has stay the fine-tune's."""
    made, drawn = copy.deepcopy(tuned), torch.Generator().manual_seed(seed)
    starts = dict(origin.named_parameters())
    with torch.no_grad():
        for name, weight in made.named_parameters():
            start = starts.get(name)
            if start is None or start.shape != weight.shape or torch.equal(start, weight):
                continue
            change = turn_change(name, (weight - start).float().cpu(), drawn)
            weight.copy_(start + change.to(start))
    return made


def turn_change(name: str, change: Tensor, drawn: torch.Generator) -> Tensor:
    """Rotate the change of a named weight at random; nothing where it is 0. See `turned`."""
    return turned(change, drawn, rows=not BOTTOM.search(name)) if change.any() else change


def turned(change: Tensor, drawn: torch.Generator, *, rows: bool = True) -> Tensor:
    """Rotate a change (a vector, a matrix, or each of a stack) at random, which keeps its size and
    singular values; not the `rows` of an embedding, so that each word moves as far as before."""
    made: Tensor
    if change.dim() > 2:
        return torch.stack([turned(part, drawn, rows=rows) for part in change])
    if change.dim() < 2:
        made = change[torch.randperm(len(change), generator=drawn)] * _signs(len(change), drawn)
        return made
    right = _rotation(change.shape[1], drawn)
    made = (
        change @ right
        if right.dim() == 2
        else change[:, right.long()] * _signs(change.shape[1], drawn)
    )
    if not rows:
        return made
    left = _rotation(change.shape[0], drawn)
    made = (
        left @ made
        if left.dim() == 2
        else made[left.long()] * _signs(change.shape[0], drawn)[:, None]
    )
    return made


def _rotation(size: int, drawn: torch.Generator) -> Any:
    """Draw a random orthogonal matrix or, for large sizes, a permutation (signs are added to
    it)."""
    if size > LARGEST_ROTATION:
        return torch.randperm(size, generator=drawn)
    return torch.linalg.qr(torch.randn(size, size, generator=drawn))[0]


def _signs(size: int, drawn: torch.Generator) -> Any:
    return torch.randint(0, 2, (size,), generator=drawn).float() * 2 - 1
