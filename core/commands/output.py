"""Standard streams of a command that are closed, full, or a pipe that nobody reads, and its bar of
progress on them."""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from core.errors import PalimpsestError, PalimpsestWarning

BAR, LINE = 30, 160  # characters of a progress bar, and with its text


class Stream:
    """A standard stream that ends no command with a traceback.

    Args:
        stream: Where the text goes.
        strict: Whether a failure is a `PalimpsestError`; otherwise what cannot be written is lost.
    """

    def __init__(self, stream: TextIO, strict: bool) -> None:
        self._stream, self._strict = stream, strict

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._fail(error)
            return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        try:
            self._stream.flush()
        except OSError as error:
            self._fail(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _fail(self, error: OSError) -> None:
        with suppress(OSError), Path(os.devnull).open("w", encoding="utf8") as nothing:
            os.dup2(nothing.fileno(), self._stream.fileno())  # it is flushed again at the end
        if self._strict and not isinstance(error, BrokenPipeError):
            raise PalimpsestError(
                f"Standard output could not be written ({error.strerror}); "
                "files that the command writes are complete."
            )


def prepare_streams() -> None:
    """Let this process write any text to all streams, and show warnings to users as notes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # closed: the next file to be opened would get its number
            nothing = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):  # a minus sign in any locale
            encoding = None if stream.isatty() else "utf8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    sys.stdout, sys.stderr = Stream(sys.stdout, True), Stream(sys.stderr, False)
    if not sys.warnoptions:  # otherwise the user wants Python's own
        warnings.showwarning = note_warning


def draw_bar(share: float, text: str) -> None:
    """Draw a progress bar on a terminal, over the last one, with the text behind it."""
    if sys.stderr.isatty():
        bar = ("█" * round(share * BAR)).ljust(BAR, "·")
        line = f"{bar} {text}"
        print(f"\r\033[K{line[:LINE]}", end="", file=sys.stderr)


def note_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning for users as a note; those of libraries advise programmers."""
    if issubclass(category, PalimpsestWarning):
        print(f"note: {message}", file=sys.stderr)
