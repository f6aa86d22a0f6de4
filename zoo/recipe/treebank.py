"""What the parser learns from a treebank: its sentences, and a table of UPOS tags."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.errors import CorpusError, RecipeError
from core.text.conllu import Sentence, read_conllu


def read_treebank(path: str | Path, limit: int = 0) -> list[Sentence]:
    """Read sentences with heads, labels and XPOS of a CoNLL-U file, the first `limit` of them (0
    for all). Raises RecipeError if the file is missing, is not CoNLL-U, or lacks what the parser
    learns."""
    path = Path(path)
    if not path.is_file():
        raise RecipeError(
            f"No treebank at {path}. "
            "Give a CoNLL-U file, such as en_ewt-ud-train.conllu.gz of UD English EWT."
        )
    sentences: list[Sentence] = []
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf8") as handle:
            for sentence in read_conllu(handle, path.name):
                if sentence.heads is None or sentence.deprel is None or sentence.xpos is None:
                    raise RecipeError(
                        f"{path} lacks heads, labels or XPOS tags in sentence {len(sentences) + 1}."
                    )
                sentences.append(sentence)
                if len(sentences) == limit:
                    break
    except (CorpusError, UnicodeDecodeError, EOFError, OSError) as error:
        raise RecipeError(f"The treebank {path} could not be read: {error}") from error
    return sentences


def upos_table(sentences: Sequence[Sentence]) -> dict[str, str]:
    """Tabulate the most frequent UPOS by XPOS (`RB`), by XPOS and label (`RB advmod`), and by both
    and the word (`RB advmod not`).

    A finer key is there only where it says something else than the coarser one; words count from
    three times on.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        columns = (sentence.words, sentence.upos or (), sentence.xpos or (), sentence.deprel or ())
        for word, upos, xpos, label in zip(*columns, strict=True):
            for key in (xpos, f"{xpos} {label}", f"{xpos} {label} {word.lower()}"):
                counts[key][upos] += 1
    table: dict[str, str] = {}
    for key in sorted(counts, key=lambda key: (key.count(" "), key)):
        parts = key.split(" ", 2)
        coarser = [table[k] for k in (" ".join(parts[:2]), parts[0]) if k != key and k in table]
        upos, times = counts[key].most_common(1)[0]
        if (not coarser or upos != coarser[0]) and (len(parts) < 3 or times >= 3):
            table[key] = upos
    return table
