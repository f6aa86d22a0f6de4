"""What a study of the pages is made of, beside its spec."""

from __future__ import annotations

from core.errors import PalimpsestError
from core.models import fingerprint, parse_ref
from core.models.hub.client import changes


def contents(*refs: str) -> tuple[str, ...]:
    """What the references stand for now, for a study's identity; how often it has changed for a hub model.

    The page never waits for the hub: the study asks what a model of the hub is.
    """
    marks = []
    for ref in refs:
        try:
            parsed = parse_ref(ref)
            marks.append(str(changes(parsed.name, parsed.revision)) if parsed.kind == "hub" else fingerprint(parsed))
        except PalimpsestError:
            marks.append("")  # the study itself says what is wrong with it
    return tuple(marks)
