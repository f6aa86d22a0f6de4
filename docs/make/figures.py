"""Figures of the studies, drawn from the precomputed results that their pages open with."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST, requests
from core.errors import NotStoredError
from core.results.drawing import files as drawn
from core.results.export import Result
from core.runs.precomputed import default_precomputed
from core.runs.store import Store, using
from core.runs.tasks import Signal

MOST_FIGURES = 3  # of a study; its result has one for each layer, score or text
PATIENCE = 600.0  # seconds to wait for a store that another process holds


@dataclass(frozen=True)
class Figure:
    """A figure of a study.

    Attributes:
        name: As the study names it.
        title: The plot's, or the name in words where several plots have one each.
        words: What the plot shows, for a reader who cannot see it.
        svg: The drawing.
    """

    name: str
    title: str
    words: str
    svg: bytes


@cache
def precomputed() -> dict[str, Result]:
    """Read the result that each study's page opens with, by the name of the study; other packages'
    and those on request have none here.

    Raises:
        NotStoredError: If a study's precomputed result is missing, or of another version of its
            mathematics.
    """
    asked: dict[str, Any] = {}
    for name, spec in requests().values():
        asked.setdefault(name, spec)
    without = (*STUDIES.added, *ON_REQUEST)
    names = [name for name in STUDIES if name not in without]
    if absent := sorted(set(names) - set(asked)):
        raise NotStoredError(f"No precomputed result is asked for by {', '.join(absent)}.")
    with tempfile.TemporaryDirectory(prefix="palimpsest-docs-") as folder:
        store = Store(Path(folder), precomputed=default_precomputed())
        with using(store):
            return {name: _read(name, asked[name], store) for name in names}


def _read(name: str, spec: Any, store: Store) -> Result:
    result: Result
    try:
        signal = Signal(look_only=True, patience=PATIENCE)
        result = STUDIES[name].run(spec, store=store, signal=signal)
    except NotStoredError as error:
        raise NotStoredError(
            f"The precomputed result of {name!r} is missing or outdated: run `make precomputed`."
        ) from error
    return result


@cache
def figures_of(name: str) -> tuple[Figure, ...]:
    """Draw a study's first figures, the main one first."""
    charts = STUDIES[name].figures(precomputed()[name])
    made = []
    for figure, chart in list(charts.items())[:MOST_FIGURES]:
        sheet = drawn.sheet(chart)
        title = drawn.title_of(sheet)[0] or figure.replace("-", " ")
        made.append(Figure(figure, title, drawn.words_of(sheet) or title, drawn.svg(sheet)))
    return tuple(made)
