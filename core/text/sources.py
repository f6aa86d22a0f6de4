"""Sentences of words from a file, a hub data set or the demo, read one after another on demand."""

from __future__ import annotations

import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from core.errors import CorpusError
from core.text import parsing
from core.text.conllu import Sentence, read_conllu
from core.text.datasets import HubText, stream_rows

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
LONGEST_LINE = 4 * 2**20  # bytes; a longer line is not text
START = 8192  # bytes at the start of a file that show whether it is text
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
    filled = ((number, line) for number, line in enumerate(texts, start=1) if line.strip())
    while chunk := list(itertools.islice(filled, _CHUNK)):
        for number, line in chunk:
            parsing.check_line(line, f"{name}, line {number}")
        for sentences in parsing.tokenize_lines([line for _, line in chunk]):
            yield from (Sentence(words) for words in sentences)


def read_hub(source: HubText, left_out: Counter[str]) -> Iterator[Sentence]:
    """Read rows of a hub data set: text is cut into words, words are kept, rows without text are
    counted."""

    def readable(line: str) -> bool:
        try:
            parsing.check_line(line, source.name)
        except CorpusError:
            left_out[f"Lines of {source.name} that are too long or have no spaces"] += 1
            return False
        return True

    for row in stream_rows(source):
        if isinstance(row, str):
            yield from _read_text(filter(readable, row.splitlines()), source.name)
        elif max(map(len, row)) > parsing.LONGEST_RUN:
            left_out[
                f"Rows of {source.name} with a word of more than {parsing.LONGEST_RUN} characters"
            ] += 1
        else:
            yield Sentence(row)


def read_demo(handle: BinaryIO) -> Iterator[Sentence]:
    """Read the demo corpus: genre, tab, one sentence per line."""
    rows = demo_rows(handle)
    cut = parsing.tokenize_lines([text for _, text in rows], split=False)
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
                "Restore the file."
            )
    return rows


def read_lines(handle: BinaryIO, name: str, cap: int | None = None) -> Iterator[str]:
    """Read lines of UTF-8 text from an untrusted source, without their ends, up to `cap` bytes
    (None: all). Raises CorpusError for binary files, other encodings and damaged gzip, naming file
    and line."""
    reader = io.BufferedReader(handle, START)  # type: ignore[type-var]
    read = 0
    for number in itertools.count(1):
        try:
            binary = number == 1 and b"\0" in reader.peek(START)[:START]
            raw = reader.readline(LONGEST_LINE)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CorpusError(
                f"{name} is not a whole gzip file ({error}): pack it again, or upload it unpacked."
            ) from error
        if not raw:
            return
        read += len(raw)
        if cap is not None and read > cap:
            raise CorpusError(
                f"{name} unpacks to more than {cap / 2**20:g} MB, the limit for uploads: "
                "upload a smaller file."
            )
        if binary or b"\0" in raw:
            raise CorpusError(
                f"{name}, line {number}: this is not text (a binary file, or UTF-16): "
                "save it as UTF-8."
            )
        if len(raw) == LONGEST_LINE:
            raise CorpusError(
                f"{name}, line {number} is longer than {LONGEST_LINE:,} bytes: break it into lines."
            )
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"byte {error.start + 1} of the line is not UTF-8"
            raise CorpusError(
                f"{name}, line {number}: {reason}; save the file as UTF-8."
            ) from error
        yield (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n")
