"""A headline's first sentence, which stands above a figure, and what follows it, which stands among the notes."""

from __future__ import annotations

LONGEST = 160  # letters that a reader takes in at a glance: two lines above a figure


def lead_of(headline: str) -> str:
    """The first sentence of a headline that is longer than two lines; the whole of a shorter one."""
    if len(headline) <= LONGEST:
        return headline
    end = headline.find(". ")
    return headline if end < 0 else headline[: end + 1]
