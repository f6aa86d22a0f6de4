"""Sentences of words from a file, a hub data set or the demo, read one after another on demand."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from core.errors import CorpusError
from core.text.conllu import Sentence, read_conllu
from core.text.datasets import HubText
from core.text.hub_rows import stream_rows
from core.text.lines import read_lines

GENRES = (
    "news",
    "fiction",
    "dialogue",
    "instructions",
    "science",
    "email",
    "reviews",
    "questions",
    "legal",
    "technical",
)
_CHUNK = 256  # lines that are cut into words, and stored, together


def read_file(handle: BinaryIO, name: str, cap: int | None = None) -> Iterator[Sentence]:
    """Read the sentences of an open `.txt` or `.conllu` file, packed or not."""
    if name.lower().endswith(".gz"):
        handle = gzip.GzipFile(fileobj=handle)  # type: ignore[assignment]
    lines = read_lines(handle, name, cap)
    if name.lower().removesuffix(".gz").endswith(".conllu"):
        return read_conllu(lines, name)
    return _read_text(lines, name)


def _read_text(texts: Iterable[str], name: str) -> Iterator[Sentence]:
    """Cut plain text into sentences of words, a chunk of lines at a time; refuse a line that is not
    text."""
    from core.text.parsing import check_line, tokenize_lines

    filled = ((number, line) for number, line in enumerate(texts, start=1) if line.strip())
    while chunk := list(itertools.islice(filled, _CHUNK)):
        for number, line in chunk:
            check_line(line, f"{name}, line {number}")
        for sentences in tokenize_lines([line for _, line in chunk]):
            yield from (Sentence(words) for words in sentences)


def read_hub(source: HubText, left_out: Counter[str]) -> Iterator[Sentence]:
    """Read rows of a hub data set: text is cut into words, words are kept, rows without text are
    counted."""
    from core.text.parsing import LONGEST_RUN, check_line

    def readable(line: str) -> bool:
        try:
            check_line(line, source.name)
        except CorpusError:
            left_out[f"Lines of {source.name} that are too long or have no spaces"] += 1
            return False
        return True

    for row in stream_rows(source):
        if isinstance(row, str):
            yield from _read_text(filter(readable, row.splitlines()), source.name)
        elif max(map(len, row)) > LONGEST_RUN:
            left_out[
                f"Rows of {source.name} with a word of more than {LONGEST_RUN} characters"
            ] += 1
        else:
            yield Sentence(row)


def read_demo(handle: BinaryIO) -> Iterator[Sentence]:
    """Read the demo corpus: genre, tab, one sentence per line."""
    from core.text.parsing import tokenize_lines

    rows = demo_rows(handle)
    cut = tokenize_lines([text for _, text in rows], split=False)
    for number, ((genre, _), sentences) in enumerate(zip(rows, cut, strict=True), start=1):
        yield from (
            Sentence(words, genre=genre, identifier=f"demo-{number}") for words in sentences
        )


def demo_rows(handle: BinaryIO) -> list[list[str]]:
    """Split each line of the demo into genre and sentence."""
    rows = [line.split("\t") for line in read_lines(handle, "demo.txt") if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or row[0] not in GENRES:
            raise CorpusError(
                f"demo.txt, sentence {number}: the line is not a genre, a tab and a sentence. "
                f"Restore the file."
            )
    return rows
