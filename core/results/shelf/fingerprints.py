"""Whether the model of a result has the content of the one of the result shipped.

A folder, an included model and one that was run are known by a sha256. One of the Hub whose weights
alone are read is known by its name and commit, which say where it lies, not what it is: the sha256
of its weights stands for it on the shelf, and is looked up again where it is compared.
"""

from __future__ import annotations

import re
from contextlib import suppress

from core.errors import ModelError
from core.models.references import parse_ref

HASHES = re.compile(r"[0-9a-f]{64}(?: [0-9a-f]{64})*")  # of files, or of an adapter and its base
SHOWN = 12  # digits of a hash


def content_of(ref: str, fingerprint: str) -> str:
    """Return the sha256 by which a model's content can be compared, of a fingerprint that may name
    the Hub's commit instead; "" where nobody knows it."""
    if HASHES.fullmatch(fingerprint):
        return fingerprint
    from core.models.hub.listing import known_by

    weights, parsed = "", parse_ref(ref)
    if parsed.kind == "hub":
        with suppress(ModelError):  # the Hub does not answer now
            weights = known_by(parsed)[1]
    return weights if HASHES.fullmatch(weights) else ""


def difference(ref: str, before: str, now: str) -> str:
    """Say that a model is not the one of the result shipped, or that this cannot be said; "" where
    it is."""
    if now == before:
        return ""
    content = content_of(ref, now)
    if content == before:
        return ""
    if not (content and HASHES.fullmatch(before)):
        return (
            f"{ref} could not be compared with the model of the precomputed result, because the "
            "sha256 of the weights is not known for both."
        )
    return (
        f"{ref} is not the model of the precomputed result: its content has the hash "
        f"{content[:SHOWN]} instead of {before[:SHOWN]}."
    )
