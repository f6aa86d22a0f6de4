"""The lesson on structural probes: which layer encodes the tree of a sentence best?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.studies.probes.trees.statements import BEST, TIED
from ui.lessons.evidence import EVIDENCE
from ui.lessons.lesson import Guess, Lesson, layer_of, lesson_words

if TYPE_CHECKING:
    from core.results.export import Result


def _best_layers(result: Result) -> tuple[int, ...] | None:
    """Find the layers of the first model that score highest and cannot be told apart, as the
    headline names them; None if no model was probed."""
    best = next((each for each in result.statements if each.verdict == BEST), None)
    if best is None:
        return None
    tied = (
        each.layers
        for each in result.statements
        if (each.verdict, each.subject, each.metric) == (TIED, best.subject, best.metric)
    )
    return next(tied, best.layers)


PROBES = Lesson(
    page="probe",
    path="pages/probe_trees.py",
    minutes=25,
    words=lesson_words(__file__),
    guess=Guess(
        low=0,
        high=6,
        step=1,
        start=0,
        axis="x",
        truth=_best_layers,
        near=0,  # a layer outside the set is distinguishable from those in it
        words=layer_of,
        shown="%.0f",
    ),
    evidence=EVIDENCE["probe"],
    options={},
)
