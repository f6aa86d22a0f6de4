"""Prices of the weight studies: singular value decompositions of updates and random updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from core.errors import ModelError
from core.models import costs
from core.models.sizes import Size, is_adapter, size_of_adapter
from core.runs.process.cores import TASKS_AT_ONCE

STARTING, MAPS = 1.0, {"umap": 25.0, "tsne": 3.0}  # processor seconds
WIDER = 4  # sides of a layer's two feed-forward matrices; its four others are square
FEED_FORWARD = "ff"  # prefix of these two families' names
HELD = 10  # copies of the largest matrix in memory
READ, SKETCHED = 4e-8, 5e-8  # per number to read and hash a matrix, and to sketch it twice


def sizes_with_adapters(base: str, bases: Mapping[str, str]) -> tuple[dict[str, Size], list[str]]:
    """Look up the sizes of a base and its fine-tunes, adapters among them.

    Args:
        base: Reference of the base.
        bases: Fine-tune -> the model that it started from.

    Returns:
        Sizes by reference, and which references are adapters; models that are not available are
        left out.
    """
    # an adapter is read by its factors here, not as the model that it makes
    sizes = costs.sizes_of((base, *(ref for ref in bases if not is_adapter(ref))))
    unsized = {ref: origin for ref, origin in bases.items() if ref not in sizes}
    origins = sizes | costs.sizes_of({*unsized.values()} - {*sizes})
    adapters: dict[str, Size] = {}
    for ref, origin in unsized.items():
        if origin in origins:
            with suppress(ModelError):
                adapters[ref] = size_of_adapter(ref, origins[origin])
    return sizes | adapters, [*adapters]


def matrices_of(size: Size, families: Sequence[str]) -> list[tuple[tuple[int, int], float]]:
    """Shapes and numbers of a model's matrices, as in a BERT of this width and depth."""
    wide = sum(FEED_FORWARD in family for family in families) if families else 2
    square = len(families) - wide if families else 4
    width = size.d_model
    return [((width, width), square * size.layers), ((width, WIDER * width), wide * size.layers)]


def cubed_side(shape: tuple[int, int]) -> float:
    """Cube of a matrix's shorter side, which its decomposition grows by; more for a long one."""
    return float(min(shape)) ** 3 * (1 + 0.1 * (max(shape) / min(shape) - 1))


def bytes_of_largest(sizes: Sequence[Size]) -> float:
    """Bytes of the matrices that tasks hold at the same time."""
    widest = max((size.d_model for size in sizes), default=0)
    return HELD * min(TASKS_AT_ONCE, len(sizes)) / TASKS_AT_ONCE * WIDER * widest**2 * costs.DOUBLE
