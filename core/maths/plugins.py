"""What other packages add: studies, measures, vectors of weight changes and maps.

A package names what it adds in its pyproject.toml, and is found as soon as it is installed:

    [project.entry-points."palimpsest.measures"]
    overlap = "my_package:OVERLAP"

The groups are palimpsest.studies, .measures, .vectors and .maps. What cannot be imported, is of
another kind or takes a name that exists is left out, with a warning that names the package. The
house's own `extras` come in by the same door; where the house is not installed, its pyproject.toml
is read for them.
"""

from __future__ import annotations

import tomllib
import warnings
from collections import UserDict
from collections.abc import Container, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

GROUP = "palimpsest"
SOURCES = Path(__file__).parents[2]  # of the house, where it is not installed
OWN = "extras"  # package
T = TypeVar("T")


class Registry(UserDict[str, T]):
    """Entries by name: those of the house, and behind them what other packages add.

    Packages are imported at the first use, when the house itself has been, so that either may be
    imported first.
    """

    def __init__(self, group: str, kind: type[T], entries: Mapping[str, T]) -> None:
        """Take the entries of the house; other arguments as for `plugged`."""
        self._group, self._kind, self._entries = group, kind, dict(entries)
        self._complete = False

    @property
    def data(self) -> dict[str, T]:  # type: ignore[override]
        """All entries."""
        if not self._complete:
            self._complete = True
            self._entries |= plugged(self._group, self._kind, self._entries)
        return self._entries


class PluginWarning(UserWarning):
    """Something that another package adds is left out."""


def plugged(group: str, kind: type[T], taken: Container[str] = ()) -> dict[str, T]:
    """Import what installed packages add, by name.

    Args:
        group: "studies", "measures", "vectors" or "maps".
        kind: What each must be.
        taken: Names that exist.
    """
    added: dict[str, T] = {}
    for point in _points(f"{GROUP}.{group}"):
        if point.name in taken or point.name in added:
            _warn(point, group, "its name is taken")
            continue
        try:
            loaded = point.load()
        except Exception as error:  # whatever a stranger's module does when it is imported
            _warn(point, group, f"{type(error).__name__}: {error}")
            continue
        if isinstance(loaded, kind):
            added[point.name] = loaded
        else:
            _warn(point, group, f"it is a {type(loaded).__name__}, not a {kind.__name__}")
    return added


def _points(group: str) -> list[EntryPoint]:
    """List the entry points of a group by name, the house's own first."""
    file = SOURCES / "pyproject.toml"
    groups = {}
    if file.is_file():
        project = tomllib.loads(file.read_text(encoding="utf8")).get("project", {})
        groups = project.get("entry-points", {})
    listed = (EntryPoint(name, value, group) for name, value in groups.get(group, {}).items())
    points = {(point.name, point.value): point for point in (*entry_points(group=group), *listed)}
    return sorted(
        points.values(), key=lambda point: (point.module.partition(".")[0] != OWN, point.name)
    )


def _warn(point: EntryPoint, group: str, reason: str) -> None:
    package = point.dist.name if point.dist is not None else point.value
    warnings.warn(
        f"{point.name!r}, which {package} adds to {group}, is left out: {reason}.",
        PluginWarning,
        stacklevel=3,
    )
