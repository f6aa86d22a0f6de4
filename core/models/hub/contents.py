"""Files of a Hub model that are read, by their names and sizes; only an index is fetched for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from core.errors import ModelError
from core.limits import current_limits
from core.models.files.adapters import ADAPTER_WEIGHTS
from core.models.files.layout import CONFIG, GGUF, TOKENIZER_FILES, inner_models, lay_out

MOST_TOKENIZER = 128 * 2**20  # bytes of all its files; a large vocabulary takes 35 MB
ReadIndex = Callable[[str], Mapping[str, Any]]


def check_names(name: str, files: Collection[str]) -> None:
    """Refuse a repository without a configuration, which may be in a folder inside it.

    Raises:
        ModelError: With what it has instead.
    """
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


def weight_files(name: str, files: Mapping[str, int], read_index: ReadIndex) -> list[str]:
    """List the files of a model's weights in loading order.

    Args:
        name: Repository.
        files: Size in bytes by path.
        read_index: Name of an index of files -> its content.

    Raises:
        ModelError: As `Layout.weight_files`; also if they are in GGUF, or more than this instance
            allows. Those of an adapter are its factors.
        Exception: As `read_index`.
    """
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


def wanted_files(name: str, files: Mapping[str, int], read_index: ReadIndex) -> list[str]:
    """List the weights and tokenizer files to fetch, after checks of format and size; also an
    adapter's configuration of the model that it makes, if there is one.

    Args:
        name, files, read_index: As for `weight_files`.

    Raises:
        ModelError: As `weight_files`; also if this instance opens no pickled weights, or the
            tokenizer is too large.
        Exception: As `read_index`.
    """
    weights = weight_files(name, files, read_index)
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
