"""Minimal pairs of a reader's own: a file of lines `acceptable<TAB>unacceptable`.

The critical region begins at the first word in which the two differ, so that the words before it,
which both share, are scored in neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import CorpusError
from core.runs.tasks import pure
from core.studies.probes.minimal_pairs.templates import Pair, number_alike
from core.text.labelled import read_columns

OWN = "own"  # the kind of these pairs
COLUMNS = ("acceptable", "unacceptable")
MOST_OWN = 5_000  # pairs
FEWEST_OWN = 10  # fewer have no interval worth the name
WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # a mark is a word, as in a treebank
Own = tuple[tuple[str, str], ...]
"""(acceptable, unacceptable) sentences."""


@pure("probes.own_pairs", expect=lambda sizes, path: _read(path))
def read_own(path: str) -> Own:
    """Read pairs from a file. Raises CorpusError if it cannot be read, has too few or too many
    pairs, or a line is no pair of sentences that differ."""
    return _read(path)


def _read(path: str) -> Own:
    rows = read_columns(path, "pairs_file", *COLUMNS)
    name = Path(path).name
    if not FEWEST_OWN <= len(rows) <= MOST_OWN:
        raise CorpusError(f"{name} has {len(rows):,} pairs: give {FEWEST_OWN} to {MOST_OWN:,}.")
    for number, pair in enumerate(own_pairs(rows), start=1):
        if pair.region == min(len(pair.good), len(pair.bad)):
            raise CorpusError(
                f"{name}, line {number}: the sentences are equal, or one begins the other: write "
                "two that differ in a word and end with a full stop."
            )
    return rows


def own_pairs(rows: Own) -> tuple[Pair, ...]:
    """Cut pairs of sentences into words."""
    cut = ([tuple(WORD.findall(side)) for side in row] for row in rows)
    return tuple(Pair(good, bad, _shared(good, bad)) for good, bad in cut)


def _shared(good: Sequence[str], bad: Sequence[str]) -> int:
    """Count the words that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(good, bad, strict=False)))


def own_groups(rows: Own) -> NDArray[np.int64]:
    """Number the groups of pairs with the same differing words, (pair,): they are right or wrong
    together."""
    contrasts = []
    for pair in own_pairs(rows):
        good, bad = pair.good[pair.region :], pair.bad[pair.region :]
        end = min(_shared(good[::-1], bad[::-1]), len(good), len(bad))
        contrasts.append((good[: len(good) - end], bad[: len(bad) - end]))
    return number_alike(contrasts)
