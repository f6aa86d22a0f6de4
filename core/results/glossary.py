"""Terms of the field in headlines, each explained in glossary.toml for a reader who meets it
for the first time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from core.errors import PalimpsestError
from core.results.words import checked, read_toml

FILE = Path(__file__).with_suffix(".toml")
MEANINGS: dict[str, str] = checked(Mapping[str, str], read_toml(FILE), str(FILE))


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """Match every term, longer ones first, but never inside a name such as nli-0.

    Raises:
        PalimpsestError: If a term is no pattern.
    """
    for term in MEANINGS:
        try:
            re.compile(term)
        except re.error as error:
            raise PalimpsestError(f"{FILE}: the term {term!r} is no pattern: {error}.") from None
    longest = sorted(MEANINGS, key=len, reverse=True)
    alone = [
        f"(?P<t{number}>(?<![\\w-])(?:{term})(?![\\w-]))" for number, term in enumerate(longest)
    ]
    return re.compile("|".join(alone))


def explained(text: str) -> Iterator[tuple[str, str]]:
    """Split the text into pieces, each with its meaning: "" for plain text and for a term explained
    before."""
    longest = sorted(MEANINGS, key=len, reverse=True)
    seen, at = set(), 0
    for match in _pattern().finditer(text):
        number = int(str(match.lastgroup)[1:])
        if number in seen:
            continue
        seen.add(number)
        if match.start() > at:
            yield text[at : match.start()], ""
        yield match[0], MEANINGS[longest[number]]
        at = match.end()
    if at < len(text):
        yield text[at:], ""
