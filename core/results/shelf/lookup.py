"""What a run of a study asks the shelf: whether its result is there, and whether one that is
computed here is of the same models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.results.shelf.archive import default_shelf
from core.runs.runner import Progress
from core.runs.store import current_store

ALL_SHIPPED = Progress(1, 1, 1, 1.0, "", 0.0, 0.0, shipped=1)


def shelved(study: str, spec: Any, kind: type[Any] | None = None) -> Any:
    """Return the result of a study with these options from the shelf; None if it is not there.

    Args:
        study: Words of its command.
        spec: What is asked for.
        kind: Of the study's results, where they are more than a `Result`.
    """
    shelf = default_shelf()
    entry = shelf.find(study, spec)
    return None if entry is None else shelf.open(entry, kind)


def is_shelved(study: str, spec: Any) -> bool:
    """Whether the result of a study with these options is on the shelf."""
    return default_shelf().find(study, spec) is not None


def is_wanted(options: Mapping[str, Any]) -> bool:
    """Whether a run with these options reads precomputed results; if so, report that all is there.

    Args:
        options: For `core.runs.runner.run`.
    """
    if (options.get("store") or current_store()).precomputed is None:
        return False
    if (report := options.get("progress")) is not None:
        report(ALL_SHIPPED)
    return True


def compared(result: Any, shipped: Any) -> Any:
    """Add a notice to a result for each of its models that is not the one of the result shipped."""
    before, now = (each.provenance.get("fingerprints", {}) for each in (shipped, result))
    changed = [
        f"{ref} is not the model of the precomputed result: its content has the hash "
        f"{now[ref][:12]} instead of {before[ref][:12]}."
        for ref in now
        if ref in before and now[ref] != before[ref]
    ]
    return replace(result, notices=(*result.notices, *changed))
