"""What a study of the pages is made of, beside its spec."""

from __future__ import annotations

from core.errors import PalimpsestError
from core.models import fingerprint


def contents(*refs: str) -> tuple[str, ...]:
    """What the references stand for now, for a study's identity; "" for a hub model, which the study looks up."""
    found = []
    for ref in refs:
        try:
            found.append("" if "hub:" in ref else fingerprint(ref))
        except PalimpsestError:
            found.append("")  # the study itself says what is wrong with it
    return tuple(found)
