"""One line in the server's log per finished study: its settings, time and memory, and no text of a
user.

palimpsest {"study": "RSA", "outcome": "done", "run": 12, "found": 30, "seconds": 4.2, ...}
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.errors import CancelledError, GaveWayError, NotStoredError
from core.options import Option, Spec, options_of

if TYPE_CHECKING:
    from core.runs.runner import Progress
    from core.runs.tasks import Signal
    from ui.frame.process import Work

# of this process: studies by outcome, tasks run and found, seconds
TOTALS: Counter[str] = Counter()
COUNTING = threading.Lock()  # two workers count
LOGGER = logging.getLogger("palimpsest.studies")
COUNTED = ("run", "found", "seconds")
FREE_TEXT = ("line", "passage", "words", "names")  # kinds of options that hold typed text
# references without private information
PUBLIC = re.compile(r"(random:)*(zoo|hub|demo|demo-gold)(:[\w./@,-]{0,200})?")


def log_study(
    study: str, spec: Any, progress: Sequence[Progress], *, outcome: str, seconds: float
) -> None:
    """Write the line, at level INFO, with the options that are not the default: typed texts by
    their length, files and folders by their kind. `outcome` is "done", "failed" or "cancelled"."""
    record = {
        "study": study,
        "outcome": outcome,
        "run": sum(max(stage.done - stage.stored, 0) for stage in progress),
        "found": sum(stage.stored for stage in progress),
        "seconds": round(seconds, 2),
        "peak_mb": peak_megabytes(),
        "spec": described(spec),
    }
    with COUNTING:
        TOTALS.update({outcome: 1, **{name: record[name] for name in COUNTED}})
    # JSON keeps a line break in a value from making another line
    _with_handler().info("%s", json.dumps(record))


def logged(study: str, spec: Any, run: Work) -> Work:
    """Wrap the work so that it writes its line when it ends, but not when it will be resumed."""

    def work(report: Callable[[Progress], None], signal: Signal) -> Any:
        stages: list[Progress] = []

        def note(progress: Progress) -> None:
            if stages and progress.seconds >= stages[-1].seconds:
                stages.pop()  # each stage's clock begins at 0
            stages.append(progress)
            report(progress)

        began, outcome = time.monotonic(), "failed"
        try:
            result = run(note, signal)
            outcome = "done"
            return result
        except (GaveWayError, NotStoredError):
            outcome = ""  # it goes on in the queue
            raise
        except CancelledError:
            outcome = "cancelled"
            raise
        finally:
            if outcome:
                log_study(study, spec, stages, outcome=outcome, seconds=time.monotonic() - began)

    return work


def described(spec: Any) -> dict[str, Any]:
    """Return a spec's non-default options as JSON values, without typed text."""
    if not isinstance(spec, Spec):
        return {}
    changed = spec.changed()
    return {
        option.name: _public(option, changed[option.name])
        for option in options_of(type(spec))
        if option.name in changed
    }


def _public(option: Option, value: Any) -> Any:
    if isinstance(value, tuple) and option.kind not in FREE_TEXT:
        return [_public(option, part) for part in value]
    if option.kind in FREE_TEXT:
        return f"{len(value)} {'words' if isinstance(value, tuple) else 'characters'}"
    if (
        option.kind in ("model", "models", "corpus")
        and isinstance(value, str)
        and not PUBLIC.fullmatch(value)
    ):
        kind = value.partition(":")[0]
        return kind if kind in ("path", "upload", "hub", "random") else "file"
    return value


def peak_megabytes() -> int | None:
    """Return the peak memory of this process in MB; None if the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (10**6 if sys.platform == "darwin" else 10**6 / 1024))


def _with_handler() -> logging.Logger:
    """Return the logger; without a configured one it writes to standard error."""
    if not LOGGER.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s palimpsest %(message)s"))
        LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    return LOGGER
