"""The study that runs by itself: the first figure of the home page and of the RSA page, computed once for both."""

from __future__ import annotations

from core.errors import PalimpsestError
from core.models import fingerprint
from core.rsa.spec import RsaSpec


def first_study() -> RsaSpec:
    """Three fine-tunes of the box against the model that they come from, on a sample that takes seconds."""
    return RsaSpec()


def contents(*refs: str) -> tuple[str, ...]:
    """What the references stand for now, for a study's identity; "" for a hub model, which the study looks up."""
    found = []
    for ref in refs:
        try:
            found.append("" if "hub:" in ref else fingerprint(ref))
        except PalimpsestError:
            found.append("")  # the study itself says what is wrong with it
    return tuple(found)
