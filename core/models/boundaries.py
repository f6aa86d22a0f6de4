"""How a tokenizer's words are given their beginning, decided from its files without running it.

Tokenizers that write a space as "▁" and add none to a text themselves (Gemma's, and Metaspace with
the scheme "never") need one before every word. Results computed when they were given none are not
theirs, so their fingerprint says that they are.

Reference: none. Deviations: none.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.models.files import checkpoints, tokenizer_json

MARKED = "a space before every word"  # part of the fingerprint of these tokenizers alone
_BAR = rb'"(?:\xe2\x96\x81|\\u2581)"'
_METASPACE = re.compile(rb'"Metaspace"')
_ADDS_NONE = re.compile(
    rb'"prepend_scheme"\s*:\s*"never"|"Metaspace"[^{}]{0,200}"add_prefix_space"\s*:\s*false'
)
_ADDS_ONE = re.compile(rb'"prepend"\s*:\s*' + _BAR)
_REPLACES = re.compile(rb'"String"\s*:\s*" "\s*\}\s*,\s*"content"\s*:\s*' + _BAR)


def marks_of(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """List what marks the fingerprint of a folder's tokenizer, see `needs_space` and
    `tokenizer_json.is_cut_by_file`; nothing for most. Raises ModelError if the tokenizer's settings
    are damaged."""
    named = _settings(folder).get("tokenizer_class")
    cut = tokenizer_json.is_cut_by_file(folder, config, named)
    marks = {MARKED: needs_space(folder, config), tokenizer_json.MARKED: cut}
    return [mark for mark, holds in marks.items() if holds]


def needs_space(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether words are read with a space before them because of their "▁".

    Where the files leave it open the answer is yes, which costs no more than computing again. Of
    byte-level tokenizers, whose words always had their space, it is no.

    Args:
        config: Content of the folder's config.json, checked.

    Raises:
        ModelError: If the tokenizer's settings are damaged.
    """
    settings = _settings(folder)
    named = settings.get("tokenizer_class") or config.get("tokenizer_class")
    if str(named).removesuffix("Fast") == "GemmaTokenizer":
        return True
    if named is None and str(config["model_type"]).startswith("gemma"):
        return True  # the class that transformers takes for this type
    whole = folder / "tokenizer.json"
    if not whole.is_file() or not whole.stat().st_size:
        return False
    with whole.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _ADDS_NONE.search(content):
            return True
        replaces = bool(_REPLACES.search(content))
        if settings.get("add_prefix_space") is False and (replaces or _METASPACE.search(content)):
            return True  # classes that build their own pre-tokenizer follow this setting
        return replaces and not _ADDS_ONE.search(content)


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    return checkpoints.read_json(path) if path.is_file() else {}
