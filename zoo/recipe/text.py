"""Running text for pretraining: a file or a hub data set in, windows of token ids out.

Text is one paragraph a line, an empty line between documents. Two per cent of it is held out in
runs of consecutive paragraphs, so that a held-out paragraph's neighbours are mostly held out too.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.errors import RecipeError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, _, CLS, SEP, MASK = range(len(SPECIALS))
RUN = 20  # paragraphs that go to one side of the split together
HELD_OUT_EVERY = 50  # one run in fifty is held out: two per cent


def read_paragraphs(
    text: str | None = None, dataset: str | None = None, limit: int | None = None
) -> list[str]:
    """Read the non-empty paragraphs of a text file (plain or .gz) or of a Hub data set's `text`
    column. Raises RecipeError if the file is missing or not UTF-8, the data set is unknown, or
    there is no text in it."""
    if (text is None) == (dataset is None):
        raise RecipeError("Give the recipe its text with either --text FILE or --dataset NAME.")
    lines = _lines_of_file(Path(text)) if text is not None else _lines_of_dataset(str(dataset))
    paragraphs: list[str] = []
    for line in lines:
        if line.strip():
            paragraphs.append(line.strip())
        if limit is not None and len(paragraphs) >= limit:
            break
    if len(paragraphs) < 2 * RUN:
        raise RecipeError(
            f"{text or dataset} holds {len(paragraphs)} paragraphs; at least {2 * RUN} are needed."
        )
    return paragraphs


def _lines_of_file(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise RecipeError(f"No text file at {path}. Give --text FILE, one paragraph a line.")
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf8") as handle:
            yield from handle
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise RecipeError(f"{path} could not be read as UTF-8 text: {error}.") from error


def _lines_of_dataset(name: str) -> Iterator[str]:
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    repository, _, configuration = name.partition(":")
    try:
        rows = load_dataset(repository, configuration or None, split="train", streaming=True)
        for row in rows:
            yield from str(row["text"]).splitlines()
    except KeyError as error:
        raise RecipeError(f"The data set {name} has no column called text.") from error
    except (DatasetNotFoundError, ConnectionError, OSError, ValueError) as error:
        raise RecipeError(f"The data set {name} could not be read: {error}") from error


def split_held_out(paragraphs: list[str]) -> tuple[list[str], list[str]]:
    """Split into (training, held-out) paragraphs; the last run of every `HELD_OUT_EVERY` is held
    out."""
    training: list[str] = []
    held_out: list[str] = []
    runs = max(
        2, min(HELD_OUT_EVERY, len(paragraphs) // RUN)
    )  # a short text still holds out one run
    for start in range(0, len(paragraphs), RUN):
        side = held_out if (start // RUN) % runs == runs - 1 else training
        side.extend(paragraphs[start : start + RUN])
    return training, held_out


def encode_windows(tokenizer: Tokenizer, paragraphs: Iterable[str], length: int) -> np.ndarray:
    """Encode paragraphs as one stream, joined by [SEP], cut into rows `[CLS] ... [SEP]` of exactly
    `length` ids: uint16 (window, subword), without the ragged end."""
    stream: list[np.ndarray] = []
    paragraphs = list(paragraphs)
    for start in range(0, len(paragraphs), 4096):
        for encoding in tokenizer.encode_batch(
            paragraphs[start : start + 4096], add_special_tokens=False
        ):
            stream.append(np.asarray([*encoding.ids, SEP], dtype=np.uint16))
    ids = np.concatenate(stream)
    inner = length - 2
    rows = len(ids) // inner
    if rows == 0:
        raise RecipeError(f"The text gives {len(ids)} tokens, fewer than one window of {length}.")
    windows = np.empty((rows, length), dtype=np.uint16)
    windows[:, 0], windows[:, -1] = CLS, SEP
    windows[:, 1:-1] = ids[: rows * inner].reshape(rows, inner)
    return windows


def text_digest(paragraphs: Iterable[str]) -> str:
    """Compute sha256 over the paragraphs, so that no encoding is used for another text."""
    digest = hashlib.sha256()
    for paragraph in paragraphs:
        digest.update(paragraph.encode("utf8") + b"\n")
    return digest.hexdigest()
