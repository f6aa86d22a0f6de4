"""How a tokenizer's files cut text and mark the beginning of a word, read without running them.

Classes of transformers 5, such as LlamaTokenizer and Qwen2Tokenizer, take vocabulary and merges
from the file and make the rest themselves, so that a model whose file cuts text otherwise would be
read with other subwords than it was trained with. Here the file decides, as it did in transformers
4. What tokenizer_config.json sets stays: spaces before words, capitals, accents.

Tokenizers that write a space as "▁" and add none to a text themselves (Gemma's, and Metaspace with
the scheme "never") need one before every word. Results computed when they were given none are not
theirs, so their fingerprint says that they are.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.models.files import checkpoints

TOKENIZER_JSON = "tokenizer.json"
BACKEND = "TokenizersBackend"  # the class that makes nothing itself
PLAIN = (BACKEND, "PreTrainedTokenizerFast")
# parts of the fingerprint of tokenizers that they concern
CUT, SPACED = "text cut as tokenizer.json says", "a space before every word"
KINDS = {"BPE": r'"merges"\s*:\s*\[', "WordPiece": r'"max_input_chars_per_word"\s*:'}
KINDS |= {"Unigram": r'"unk_id"\s*:'}
BERT = (b'"BertNormalizer"', b'"BertPreTokenizer"')
PARTS = ("normalizer", "pre_tokenizer")
OPTIONS = ("ignore_merges", "fuse_unk", "byte_fallback")
SET = {"add_prefix_space", "prepend_scheme", "trim_offsets", "lowercase", "strip_accents"}
SET |= {"handle_chinese_chars", "clean_text"}  # decided by tokenizer_config.json
_BAR = rb'"(?:\xe2\x96\x81|\\u2581)"'
_METASPACE = re.compile(rb'"Metaspace"')
_ADDS_NONE = re.compile(
    rb'"prepend_scheme"\s*:\s*"never"|"Metaspace"[^{}]{0,200}"add_prefix_space"\s*:\s*false'
)
_ADDS_ONE = re.compile(rb'"prepend"\s*:\s*' + _BAR)
_REPLACES = re.compile(rb'"String"\s*:\s*" "\s*\}\s*,\s*"content"\s*:\s*' + _BAR)


def marks_of(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """List what marks the fingerprint of a folder's tokenizer, see `needs_space` and
    `is_cut_by_file`; nothing for most. Raises ModelError if the tokenizer's settings are
    damaged."""
    named = checkpoints.tokenizer_settings(folder).get("tokenizer_class")
    marks = {
        SPACED: needs_space(folder, config),
        CUT: is_cut_by_file(folder, config, named),
    }
    return [mark for mark, holds in marks.items() if holds]


def needs_space(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether words are read with a space before them because of their "▁". Where the files leave
    it open the answer is yes, which costs no more than computing again; of byte-level tokenizers,
    whose words always had their space, it is no. Raises ModelError if a file cannot be read."""
    settings = checkpoints.tokenizer_settings(folder)
    named = settings.get("tokenizer_class") or config.get("tokenizer_class")
    if str(named).removesuffix("Fast") == "GemmaTokenizer":
        return True
    if named is None and str(config["model_type"]).startswith("gemma"):
        return True  # the class that transformers takes for this type
    whole = folder / TOKENIZER_JSON
    if not whole.is_file() or not whole.stat().st_size:
        return False
    with whole.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _ADDS_NONE.search(content):
            return True
        replaces = bool(_REPLACES.search(content))
        if settings.get("add_prefix_space") is False and (replaces or _METASPACE.search(content)):
            return True  # classes that build their own pre-tokenizer follow this setting
        return replaces and not _ADDS_ONE.search(content)


def is_cut_by_file(folder: Path, config: Mapping[str, Any], named: object) -> bool:
    """Whether the class that the settings name (`named`) may cut text otherwise than a folder's
    tokenizer.json says."""
    path = folder / TOKENIZER_JSON
    # of Qwen's models transformers takes the class of the type, whatever is named
    made_by_class = named != BACKEND or str(config["model_type"]).startswith("qwen")
    if not made_by_class or not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if re.search(KINDS["BPE"].encode(), content):
            return True
        pieces = re.search(KINDS["WordPiece"].encode(), content)
        return bool(pieces) and any(content.find(part) < 0 for part in BERT)


def restore_cutting(tokenizer: Any, folder: Path) -> bool:
    """Give a tokenizer of transformers, in place, the normalizer, pre-tokenizer and options of the
    folder's tokenizer.json; False where its class is for another kind of subwords."""
    path, backend = folder / TOKENIZER_JSON, getattr(tokenizer, "backend_tokenizer", None)
    if type(tokenizer).__name__ in PLAIN or backend is None or not path.is_file():
        return True
    text = path.read_text(encoding="utf8")
    kind = next((kind for kind, sign in KINDS.items() if re.search(sign, text)), "")
    if kind in ("", "Unigram") or type(backend.model).__name__ != kind:
        return kind in ("", type(backend.model).__name__)
    parts = _parts(text)
    for name in PARTS:
        if _shape(getattr(backend, name)) != _shape(getattr(parts, name)):
            setattr(backend, name, getattr(parts, name))
    for option in OPTIONS if kind == "BPE" else ():
        setting = re.search(rf'"{option}"\s*:\s*(true|false)', text)
        setattr(backend.model, option, setting is not None and setting[1] == "true")
    return True


def _parts(text: str) -> Any:
    """Make a tokenizer without vocabulary of the parts that a tokenizer.json describes."""
    from tokenizers import Tokenizer

    made: dict[str, Any] = {"version": "1.0", "truncation": None, "padding": None}
    made |= {"added_tokens": [], "post_processor": None, "decoder": None}
    made["model"] = {"type": "BPE", "vocab": {}, "merges": []}
    for name in PARTS:
        place = re.search(rf'"{name}"\s*:\s*(?=\{{|null)', text)  # of a token it would be a number
        made[name] = json.JSONDecoder().raw_decode(text, place.end())[0] if place else None
    return Tokenizer.from_str(json.dumps(made))


def _shape(part: Any) -> Any:
    """Describe a normalizer or pre-tokenizer without what settings decide."""
    return None if part is None else _without_settings(json.loads(part.__getstate__()))


def _without_settings(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _without_settings(value) for key, value in state.items() if key not in SET}
    return [_without_settings(value) for value in state] if isinstance(state, list) else state
