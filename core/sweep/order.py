"""The order of a sweep's cells: those that read the same models run in the same place."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from core.sweep.grid import Cell

Group = Hashable


def places_of(loads: Mapping[Group, float], places: int) -> dict[Group, range]:
    """Divide places among groups in proportion to their loads.

    Groups are laid end to end on a line as long as there are places. A group shorter than a place
    gets the one in which its middle lies, a longer one those that it covers by half or more, so
    that neighbouring groups share a place.

    Args:
        loads: Expected seconds of each group, similar groups beside each other.
        places: Number of workers.
    """
    total = sum(loads.values()) or 1.0
    divided, start = {}, 0.0
    for group, load in loads.items():
        end = start + places * load / total
        if end - start < 1:
            first = min(int((start + end) / 2), places - 1)
            divided[group] = range(first, first + 1)
        else:
            first = min(round(start), places - 1)
            divided[group] = range(first, max(first + 1, min(round(end), places)))
        start = end
    return divided


def in_turns(
    cells: Sequence[Cell], seconds: Mapping[str, float], places: int
) -> list[tuple[Cell, range]]:
    """Order cells so that all places have work from the start, and give each its places.

    Args:
        cells: To be run.
        seconds: Expected seconds by the cells' keys.
        places: Number of workers, or of tasks at once.

    Returns:
        Cells with the places of the models that they read; the first cell of each place, then the
        second of each, and so on.
    """
    loads: dict[Group, float] = {}
    for cell in sorted(cells, key=lambda each: each.models):
        loads[cell.models] = loads.get(cell.models, 0.0) + max(seconds.get(cell.key, 1.0), 0.1)
    divided = places_of(loads, places)
    queues: dict[range, list[Cell]] = defaultdict(list)
    for cell in cells:
        queues[divided[cell.models]].append(cell)
    ordered = sorted(queues.items(), key=lambda queue: queue[0].start)
    rounds = itertools.zip_longest(*([(cell, home) for cell in queue] for home, queue in ordered))
    return [each for turn in rounds for each in turn if each is not None]
