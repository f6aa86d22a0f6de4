"""The included demo corpora, cut into words and parsed, so that the first figure does not wait for
spaCy.

The file is keyed by content, like everything that is stored: with another text, parser or spaCy
version it is not used, and the words and parses are computed as usual. `python -m core zoo demo`
makes it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from core.models.zoo import zoo_folder
from core.runs.process.remembered import file_state, remembered

FILE = "corpus/demo-parsed.json.gz"
Words = tuple[str, ...]
Columns = tuple[list[int], list[str], list[str], list[str]]  # heads, upos, xpos, deprel


@dataclass(frozen=True)
class Shipped:
    """The file's content.

    Attributes:
        cut: Key of the demo's lines as `parsing.words_key` makes it, or "".
        lines: Sentences of words of each of those lines.
        parser: Fingerprint of the pipeline that parsed, or "".
        parses: Columns of each sentence's parse, by its words.
    """

    cut: str = ""
    lines: list[list[Words]] = field(default_factory=list)
    parser: str = ""
    parses: dict[Words, Columns] = field(default_factory=dict)


def shipped() -> Shipped:
    """Read the included words and parses; empty if the file is missing or cannot be read."""
    path = zoo_folder() / FILE
    try:
        return _read(path)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return Shipped()


@remembered(2, state=file_state)
def _read(path: Path) -> Shipped:
    content = json.loads(gzip.decompress(path.read_bytes()))
    parses = {
        tuple(words): (heads, upos, xpos, deprel)
        for words, heads, upos, xpos, deprel in content["parses"]
    }
    lines = [[tuple(words) for words in line] for line in content["lines"]]
    return Shipped(str(content["cut"]), lines, str(content["parser"]), parses)
