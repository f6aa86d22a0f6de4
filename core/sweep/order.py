"""The order of a sweep's cells: those that read the same models run in the same place."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from core.sweep.grid import Cell

Key = TypeVar("Key", bound=Hashable)


def places_of(loads: Mapping[Key, float], places: int) -> dict[Key, range]:
    """Divide the workers' places among cells by their expected seconds; cells of the same models
    are given beside each other. They are laid end to end on a line of all places, in the order
    given; each gets those that it covers by half or more, or the one in which its middle lies."""
    total = sum(loads.values()) or 1.0
    divided, start = {}, 0.0
    for key, load in loads.items():
        end = start + places * load / total
        if end - start < 1:
            first = min(int((start + end) / 2), places - 1)
            divided[key] = range(first, first + 1)
        else:
            first = min(round(start), places - 1)
            divided[key] = range(first, max(first + 1, min(round(end), places)))
        start = end
    return divided


class Waiting:
    """Cells that wait for a place, each where cells of the same models run.

    A place that has nothing left takes from the end of the longest queue, because a second place
    that reads a model costs less than a place that stands idle.
    """

    def __init__(self, cells: Sequence[Cell], seconds: Mapping[str, float], places: int) -> None:
        """Put each cell into the queue of its places, with the seconds that are expected by its
        key."""
        ordered = sorted(cells, key=lambda cell: cell.models)
        self._loads = {cell.key: max(seconds.get(cell.key, 1.0), 0.1) for cell in ordered}
        self._queues: dict[range, deque[Cell]] = defaultdict(deque)
        homes = places_of(self._loads, places)
        for cell in ordered:
            self._queues[homes[cell.key]].append(cell)

    def take(self, busy: Sequence[float]) -> tuple[Cell, range]:
        """Take a cell for the place that has the least to do; return it with its places. Raises
        IndexError if no cell is left."""
        left = {home: queue for home, queue in self._queues.items() if queue}
        if not left:
            raise IndexError("no cell is left")
        queued = {place: home for home in left for place in home}
        place = min(range(len(busy)), key=lambda number: (busy[number], number not in queued))
        if place in queued:
            return left[queued[place]].popleft(), queued[place]
        longest = max(left, key=lambda home: self._remaining(home) / len(home))
        return left[longest].pop(), range(place, place + 1)

    def _remaining(self, home: range) -> float:
        return sum(self._loads[cell.key] for cell in self._queues[home])
