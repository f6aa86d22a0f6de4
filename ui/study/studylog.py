"""One line in the server's log for each study that ends: what was asked, what it took, and no text of a user.

palimpsest {"study": "RSA", "outcome": "done", "run": 12, "found": 30, "seconds": 4.2, "peak_mb": 812, "spec": {...}}
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.errors import CancelledError, GaveWayError, NotStoredError
from core.options import Option, Spec, options_of

if TYPE_CHECKING:
    from core.runs.runner import Progress
    from core.runs.tasks import Signal
    from ui.study.jobs import Work

LOGGER = logging.getLogger("palimpsest.studies")
FREE_TEXT = ("line", "passage", "words")  # kinds of options that hold what a user wrote
PUBLIC = re.compile(
    r"(random:)*(zoo|hub|demo|demo-gold)(:[\w./@,-]{0,200})?"
)  # references that tell nothing of anybody


def log_study(study: str, spec: Any, progress: Sequence[Progress], *, outcome: str, seconds: float) -> None:
    """Write the line, at level INFO.

    Args:
        study: Its name, such as "RSA".
        spec: What was asked; options that are not the default are named. Texts that a user wrote are given by their
            length, files and folders of anybody's computer by their kind.
        progress: The last report of each of its stages; a task whose output is never stored counts as run.
        outcome: "done", "failed" or "cancelled".
        seconds: Wall-clock time.
    """
    record = {
        "study": study,
        "outcome": outcome,
        "run": sum(max(stage.done - stage.stored, 0) for stage in progress),
        "found": sum(stage.stored for stage in progress),
        "seconds": round(seconds, 2),
        "peak_mb": peak_megabytes(),
        "spec": described(spec),
    }
    _with_handler().info("%s", json.dumps(record))  # JSON keeps a line break in a value from making another line


def logged(study: str, spec: Any, run: Work) -> Work:
    """The same work, which leaves its line when it ends, one way or another; work that will go on later does not.

    Args:
        study: Its name.
        spec: What was asked.
        run: Called as run(progress, signal).
    """

    def work(report: Callable[[Progress], None], signal: Signal) -> Any:
        stages: list[Progress] = []

        def note(progress: Progress) -> None:
            if stages and progress.seconds >= stages[-1].seconds:
                stages.pop()  # a stage's clock begins at nought
            stages.append(progress)
            report(progress)

        began, outcome = time.monotonic(), "failed"
        try:
            result = run(note, signal)
            outcome = "done"
            return result
        except (GaveWayError, NotStoredError):
            outcome = ""  # it has not ended: it goes on in the queue
            raise
        except CancelledError:
            outcome = "cancelled"
            raise
        finally:
            if outcome:
                log_study(study, spec, stages, outcome=outcome, seconds=time.monotonic() - began)

    return work


def described(spec: Any) -> dict[str, Any]:
    """The options of a spec that are not the default, as JSON values without a user's own words; {} for no `Spec`."""
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
    if option.kind in ("model", "models", "corpus") and isinstance(value, str) and not PUBLIC.fullmatch(value):
        kind = value.partition(":")[0]
        return kind if kind in ("path", "upload", "hub", "random") else "file"
    return value


def peak_megabytes() -> int | None:
    """The most memory that this process has had so far, in MB; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (10**6 if sys.platform == "darwin" else 10**6 / 1024))


def _with_handler() -> logging.Logger:
    """The logger, which writes to standard error where nobody has set up logging: root alone would drop the line."""
    if not LOGGER.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s palimpsest %(message)s"))
        LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    return LOGGER
