"""Labelled sentences: a file of lines `label<TAB>sentence`, or the included sentiment sentences."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

from core.errors import CorpusError
from core.limits import current_limits
from core.models.zoo import zoo_folder
from core.runs.tasks import pure

LABELLED_FILE = "corpus/demo-sentiment.tsv"
LONGEST = 100  # characters of a path in a message

Labelled = tuple[tuple[str, str], ...]
"""(sentence, label) pairs."""


@pure("alignment.labelled", expect=lambda sizes, path: expected_labelled(path))
def read_labelled(path: str = "") -> Labelled:
    """Read (text, label) pairs from a file of `label<TAB>text` lines; without a path, those
    included."""
    rows = read_columns(path or str(zoo_folder() / LABELLED_FILE), "labelled", "label", "sentence")
    return tuple((text, label) for label, text in rows)


def read_columns(path: str, option: str, first: str, second: str) -> tuple[tuple[str, str], ...]:
    """Read a file of lines of two columns, called `first` and `second`, with a tab between them; a
    shared instance reads included files alone. Raises CorpusError if it cannot be read or is empty,
    or a line has other columns."""
    line_of = f"`{first}<TAB>{second}`"
    try:
        file = Path(path).expanduser()
        if current_limits().shared and not file.resolve().is_relative_to(zoo_folder().resolve()):
            raise CorpusError(
                f"Files of the server cannot be read on a shared instance: leave --{option} empty."
            )
        if not file.is_file():
            raise CorpusError(f"There is no file {file}: choose a file of lines {line_of}.")
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, RuntimeError, ValueError) as error:  # see `corpora`; also: no UTF-8
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(
            f"{path[-LONGEST:]!r} cannot be read ({reason}): choose a file of lines {line_of}, "
            "saved as UTF-8."
        ) from error
    rows = []
    for number, line in enumerate(io.StringIO(text), start=1):
        row = line.removesuffix("\n").split("\t")
        if len(row) != 2:
            raise CorpusError(
                f"{file.name}, line {number}: the line has {len(row)} columns, but needs two, "
                f"{line_of}."
            )
        if not all(cell.strip() for cell in row):
            missing = first if row[1].strip() else second
            raise CorpusError(f"{file.name}, line {number}: the {missing} is empty; write one.")
        rows.append((row[0], row[1]))
    if not rows:
        raise CorpusError(f"{file.name} is empty: add lines {line_of}.")
    return tuple(rows)


def expected_labelled(path: str) -> Labelled:
    """Read the sentences that a study is priced by: those included where it cannot read them."""
    with suppress(CorpusError):
        return read_labelled(path)
    return read_labelled()
