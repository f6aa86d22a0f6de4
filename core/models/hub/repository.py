"""A repository as the Hub describes it: a commit, files and their sizes, the data on its card; and
which of its files are read, by their names and sizes.

What a stranger wrote on a card is kept as far as it is used. Of the files only an index is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import ModelError
from core.limits import current_limits
from core.models.files.adapters import ADAPTER_WEIGHTS
from core.models.files.layout import CONFIG, GGUF, TOKENIZER_FILES, inner_models, lay_out
from core.models.hub.errors import BOX

COMMIT = re.compile(r"[0-9a-f]{40}")
MOST_TOKENIZER = 128 * 2**20  # bytes of all its files; a large vocabulary takes 35 MB
MOST_DATA, LONGEST_DATA = 100, 200  # data sets of a card, and characters of the name of one
ReadIndex = Callable[[str], Mapping[str, Any]]


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
    """Read the Hub's answer about a model. Raises ValueError if it does not describe one,
    ModelError if it names no commit."""
    if not isinstance(answer, dict):
        raise ValueError("it does not describe a model")
    commit, card = answer.get("sha"), answer.get("cardData")
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
        raise ModelError(
            f"The Hub at {endpoint} did not name a commit for {name}: check HF_ENDPOINT, or {BOX}."
        )
    try:
        siblings = [file for file in answer.get("siblings") or () if isinstance(file, dict)]
        files = {str(file.get("rfilename")): int(file.get("size") or 0) for file in siblings}
        tags = tuple(map(str, answer.get("tags") or ()))
        data = data_of(tags, card if isinstance(card, dict) else {})
    except (TypeError, OverflowError) as error:  # a number in place of a list, an infinite size
        raise ValueError("it does not describe a model") from error
    hashes = {
        str(file.get("rfilename")): str(large["sha256"])
        for file in siblings
        if isinstance(large := file.get("lfs"), dict) and "sha256" in large
    }
    return Repository(name, commit, files, hashes, data)


def data_of(tags: Sequence[str], card: Mapping[str, Any]) -> tuple[str, ...]:
    """Read data sets from the Hub's tags, else from the card."""
    names: Any = [tag.removeprefix("dataset:") for tag in tags if tag.startswith("dataset:")]
    names = names or card.get("datasets") or ()
    names = [names] if isinstance(names, str) else list(names)
    return tuple(str(name)[:LONGEST_DATA] for name in names[:MOST_DATA])


def check_names(repository: Repository) -> None:
    """Refuse a repository without a configuration, by a ModelError with what it has instead."""
    name, files = repository.name, repository.files
    if CONFIG in files:
        return
    inner = inner_models(files)
    elsewhere = f"its folder {inner[0]} has one" if inner else ""
    if any(file.endswith(GGUF) for file in files):
        elsewhere = "GGUF is read from folders alone"
    if not elsewhere:
        raise ModelError(f"{name} has no {CONFIG}: it is not a Transformers model.")
    raise ModelError(
        f"{name} has no {CONFIG}, and {elsewhere}: download that, and name its folder as "
        "path:FOLDER."
    )


def weight_files(repository: Repository, read_index: ReadIndex) -> list[str]:
    """List the files of a model's weights, or an adapter's factors, in loading order. Raises
    ModelError as `Layout.weight_files`, and if they are in GGUF, or more than this instance
    allows."""
    name, files = repository.name, repository.files
    layout = lay_out(files, name)
    if layout.format == GGUF:
        raise ModelError(
            f"{name} has its weights in GGUF, which is read from folders alone: download the file "
            "and name its folder as path:FOLDER, or choose another model."
        )
    weights = [ADAPTER_WEIGHTS] if layout.adapter else layout.weight_files(read_index)
    most = current_limits().max_parameters
    numbers = sum(files.get(file, 0) for file in weights) // 4  # a lower bound for 16 bits and less
    if numbers > most:
        raise ModelError(
            f"{name} is too large: about {numbers / 1e6:,.0f} million parameters, and this "
            f"instance allows {most / 1e6:,.0f} million. Choose a smaller model."
        )
    return weights


def wanted_files(repository: Repository, read_index: ReadIndex) -> list[str]:
    """List the weights and tokenizer files to fetch, and an adapter's configuration of the model
    that it makes. Raises ModelError as `weight_files`, and if this instance opens no pickled
    weights, or the tokenizer is too large."""
    name, files = repository.name, repository.files
    weights = weight_files(repository, read_index)
    if current_limits().shared and weights[0].endswith(".bin"):
        raise ModelError(
            f"{name} has pickled weights only (.bin), which a shared instance does not open: "
            "choose a model with safetensors, or run Palimpsest on your own computer."
        )
    if weights == [ADAPTER_WEIGHTS] and CONFIG in files:
        weights = [*weights, CONFIG]
    beside = [file for file in TOKENIZER_FILES if file in files]
    size = sum(files[file] for file in beside)
    if size > MOST_TOKENIZER:
        raise ModelError(
            f"The tokenizer of {name} is too large ({size / 2**20:,.0f} MB): choose another model."
        )
    return weights + beside
