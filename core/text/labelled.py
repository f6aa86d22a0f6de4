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

Labelled = tuple[tuple[str, str], ...]
"""(sentence, label) pairs."""


@pure("alignment.labelled", expect=lambda sizes, path: expected_labelled(path))
def read_labelled(path: str = "") -> Labelled:
    """Read (text, label) pairs from a file of `label<TAB>text` lines; without a path, the included
    sentences.

    Raises:
        CorpusError: If the file is missing, may not be read, or a line is not a label and
            a text.
    """
    if path and current_limits().shared:
        raise CorpusError(
            "Files of the server cannot be read on a shared instance: leave --labelled empty."
        )
    file = Path(path) if path else zoo_folder() / LABELLED_FILE
    if not file.is_file():
        raise CorpusError(f"There is no file {file}: choose a file of lines `label<TAB>sentence`.")
    pairs = []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{file.name} cannot be read as UTF-8 text ({error}): save it as UTF-8."
        ) from error
    for number, line in enumerate(io.StringIO(text), start=1):
        row = line.removesuffix("\n").split("\t")
        if len(row) != 2:
            raise CorpusError(
                f"{file.name}, line {number}: the line has {len(row)} columns, but needs two, "
                f"`label<TAB>sentence`."
            )
        if not all(cell.strip() for cell in row):
            missing = "label" if row[1].strip() else "sentence"
            raise CorpusError(f"{file.name}, line {number}: the {missing} is empty; write one.")
        pairs.append((row[1], row[0]))
    if not pairs:
        raise CorpusError(f"{file.name} is empty: add lines `label<TAB>sentence`.")
    return tuple(pairs)


def expected_labelled(path: str = "") -> Labelled:
    """Read the sentences that a study is priced by: those included where it cannot read them."""
    with suppress(CorpusError):
        return read_labelled(path)
    return read_labelled()
