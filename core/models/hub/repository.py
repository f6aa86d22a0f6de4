"""A repository as the Hub describes it: a commit, files and their sizes, the data on its card.

What a stranger wrote on a card is kept as far as it is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import ModelError
from core.models.hub.errors import BOX

COMMIT = re.compile(r"[0-9a-f]{40}")
MOST_DATA, LONGEST_DATA = 100, 200  # data sets of a card, and characters of the name of one


@dataclass(frozen=True)
class Repository:
    """A model's description by the Hub at one commit.

    Attributes:
        name: As it was asked for.
        commit: Forty hex digits.
        files: Size in bytes by path; 0 where the Hub does not state it.
        hashes: The sha256 hex of large files' content, by path.
        data: Data sets on its card.
    """

    name: str
    commit: str
    files: dict[str, int]
    hashes: dict[str, str]
    data: tuple[str, ...]


def read_description(answer: object, name: str, endpoint: str) -> Repository:
    """Read the Hub's answer about a model.

    Raises:
        ValueError: If it does not describe one.
        ModelError: If it names no commit.
    """
    if not isinstance(answer, dict):
        raise ValueError("it does not describe a model")
    commit, card = answer.get("sha"), answer.get("cardData")
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
        raise ModelError(
            f"The Hub at {endpoint} did not name a commit for {name}: check HF_ENDPOINT, or {BOX}."
        )
    siblings = [file for file in answer.get("siblings") or () if isinstance(file, dict)]
    files = {str(file.get("rfilename")): int(file.get("size") or 0) for file in siblings}
    hashes = {
        str(file.get("rfilename")): str(large["sha256"])
        for file in siblings
        if isinstance(large := file.get("lfs"), dict) and "sha256" in large
    }
    tags = tuple(map(str, answer.get("tags") or ()))
    data = data_of(tags, card if isinstance(card, dict) else {})
    return Repository(name, commit, files, hashes, data)


def data_of(tags: Sequence[str], card: Mapping[str, Any]) -> tuple[str, ...]:
    """Read data sets from the Hub's tags, else from the card."""
    names: Any = [tag.removeprefix("dataset:") for tag in tags if tag.startswith("dataset:")]
    names = names or card.get("datasets") or ()
    names = [names] if isinstance(names, str) else list(names)
    return tuple(str(name)[:LONGEST_DATA] for name in names[:MOST_DATA])
