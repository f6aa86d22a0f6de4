"""The precomputed results, asked for once a process: to be read only."""

from __future__ import annotations

from functools import cache

from core.commands.precomputed import Walk, walk
from core.models import zoo_folder
from core.runs.precomputed import FILE, Precomputed

BOX = Precomputed(zoo_folder() / FILE)


@cache
def walked() -> Walk:
    """What comes of asking for everything, from the file alone."""
    return walk(BOX.get_many)
