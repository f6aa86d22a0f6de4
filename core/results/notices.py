"""Notices that several studies give, each written once."""

from __future__ import annotations

from collections.abc import Mapping

from core.models.changes import Change, shares_no_start
from core.results.names import short_names
from core.results.numbers import text_of


def start_notices(base: str, changes: Mapping[str, Change]) -> list[str]:
    """A sentence for each model that was not trained from the base, with the number that says so.

    Args:
        base: Reference.
        changes: By reference, see `core.models.changes.changes_of`.
    """
    names = short_names((base, *changes))
    return [
        f"{names[ref]} was not trained from {names[base]}: their weights are {text_of(change.apart, 'per cent')} as "
        "far apart as unrelated weights. What is shown is how two models differ that do not share a start, not what "
        "fine-tuning changed."
        for ref, change in changes.items()
        if shares_no_start(change.apart)
    ]
