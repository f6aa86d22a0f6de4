"""`/metrics`: queue, tasks, seconds, store and memory in the text format of Prometheus.

It names no study and no visitor. A shared instance answers only if it is told to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from core.limits import current_limits
from core.runs.store import default_store
from ui.study.jobs import State
from ui.study.run_panel import jobs
from ui.study.studylog import TOTALS, peak_megabytes

VARIABLE = "PALIMPSEST_METRICS"
OUTCOMES = ("done", "failed", "cancelled")
Sample = tuple[str, float]  # labels, value


def served() -> bool:
    """Whether this instance answers: a local one, or one where PALIMPSEST_METRICS is 1."""
    return not current_limits().shared or os.environ.get(VARIABLE, "").strip() == "1"


def metrics_text() -> str:
    """Write all metrics."""
    states = [job.state for job in jobs().unfinished()]
    info, peak = default_store().info(), peak_megabytes()
    waiting = [
        (f'state="{state}"', states.count(state)) for state in (State.WAITING, State.RUNNING)
    ]
    ended = [(f'outcome="{outcome}"', TOTALS[outcome]) for outcome in OUTCOMES]
    tasks = [(f'source="{source}"', TOTALS[source]) for source in ("run", "found")]
    parts = [
        _metric("studies", "gauge", "Studies that wait or run.", waiting),
        _metric("studies_ended_total", "counter", "Studies that have ended.", ended),
        _metric("tasks_total", "counter", "Tasks that were run or found in the store.", tasks),
        _metric(
            "study_seconds_total", "counter", "Seconds of ended studies.", [("", TOTALS["seconds"])]
        ),
        _metric("store_bytes", "gauge", "Size of the store.", [("", info.bytes)]),
        _metric("store_entries", "gauge", "Values in the store.", [("", info.entries)]),
    ]
    if peak is not None:
        held = [("", peak * 10**6)]
        parts.append(
            _metric("memory_peak_bytes", "gauge", "Most memory that the server held.", held)
        )
    return "".join(parts)


def _metric(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> str:
    full = f"palimpsest_{name}"
    lines = [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}"]
    for labels, value in samples:
        lines.append(f"{full}{{{labels}}} {value:.15g}" if labels else f"{full} {value:.15g}")
    return "\n".join([*lines, ""])
