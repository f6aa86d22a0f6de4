"""Lines of a text file from an untrusted source."""

from __future__ import annotations

import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from core.errors import CorpusError

LONGEST_LINE = 4 * 2**20  # bytes; a longer line is not text
START = 8192  # bytes at the start of a file that show whether it is text


def read_lines(handle: BinaryIO, name: str, cap: int | None = None) -> Iterator[str]:
    """Read lines of UTF-8 text without their ends.

    Args:
        name: The file's name in messages.
        cap: The most bytes that the file may unpack to; None for no limit.

    Raises:
        CorpusError: For binary files, other encodings and damaged gzip, naming file and line.
    """
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
