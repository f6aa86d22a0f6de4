"""Requests to a tokenizer, answered by transformers in this or a separate process.

`core.models.loading.tokenizers` asks. A reply is what JSON can say, and its size is bounded
whatever the tokenizer makes of a text: a stranger's tokenizer may turn a letter into a million
subwords."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.errors import ModelError
from core.models.files import checkpoints, layout
from core.models.files.checkpoints import MAX_SUBWORDS
from core.models.files.gguf import VOCABULARY, gguf_vocabulary
from core.models.files.tokenizer_json import restore_cutting
from core.models.loading.construction import import_transformers, open_config
from core.runs.process.remembered import remembered

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

# what Python raises at the limit of its memory; the second where C code failed to say so
NO_ROOM = (MemoryError, SystemError)
TOGETHER = 256  # texts of one reply
MOST_IDS = MAX_SUBWORDS + 1  # of a text; more would say no more than that it is too long
BEGINNINGS = ("Ġ", "▁")  # how byte-level tokenizers and SentencePiece write a space
LONGEST_TOKEN = 100  # characters of a token
LONGEST_FORM = 200  # characters of a word as the tokenizer normalises it
SPECIAL = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
"""Tokens that a GGUF file names, by transformers' names."""
SENTENCE_END = re.compile(r"(?<=[.!?,;:])\s+")
ADVICE = re.compile(r"(?i)\b(?:you|your|please|consider|try|make sure|pip|see|trust)\b")
SAFELY = {"trust_remote_code": False, "local_files_only": True}
SLOW = {"MarianTokenizer": "marian"}
"""Classes of which transformers has no fast form, and the model types that have them."""
CAPITAL = re.compile("[A-Z]")  # others stand for bytes and spaces in some vocabularies
BRACKETS = ("[", "<")
ESM_SPECIAL = ("unk", "cls", "pad", "mask", "eos")
PROBED = tuple(
    line.split()
    for line in (
        "The Dog didn't bark ; it SLEPT , and iPhones rang 3,141 times in 1999 .",
        "Unbelievably , McDonald's re-opened at www.example.org/a_b?c=1 ( 50 % off ) !",
        "naïve Café Ångström ﬁne straße İstanbul Приве́т 東京 こんにちは مرحبا שלום",
        "नमस्ते 🙂 … “ ” — €",
        'e=mc^2 x_1 >= -0.5 {"key": [1, 2]} <b> C:\\ \u200bzero ＦＵＬＬ ½ aaaaaaaaaaaaaaaaaaaa',
        "anticonstitutionally photosynthesis antidisestablishmentarianism transcription GATTACA",
    )
)
"""Words by which tokenizers are compared: of several scripts, in capitals, with accents."""
Reply = Any


@remembered(1)
def _open(folder: str, ref: str) -> PreTrainedTokenizerFast:
    """Read the tokenizer of a process of its own, once."""
    return read_tokenizer(folder, ref)


def read_tokenizer(folder: str, ref: str) -> PreTrainedTokenizerFast:
    """Read the fast tokenizer of a folder. Raises ModelError if it cannot be read, is not a fast
    one, or leaves no room for text."""
    last = checkpoints.tokenizer_files(Path(folder))[-1]
    slow = _named_class(Path(folder)) in SLOW
    if slow and not (Path(folder) / "tokenizer.json").is_file():
        raise _not_fast(ref)
    try:
        if last.suffix == layout.GGUF:
            tokenizer: Any = read_gguf_tokenizer(last)
        else:
            library = import_transformers()
            plain = library.PreTrainedTokenizerFast
            options = {**SAFELY, "config": open_config(Path(folder))}
            reader = plain if slow else library.AutoTokenizer
            tokenizer = reader.from_pretrained(folder, **options)
            if not restore_cutting(tokenizer, Path(folder)):
                tokenizer = plain.from_pretrained(folder, **options)
        if type(tokenizer).__name__ == "EsmTokenizer":
            tokenizer = fast_esm_tokenizer(tokenizer)
    except (*NO_ROOM, ModelError):  # the first end the process, which says enough
        raise
    except Exception as error:  # tokenizers raises a bare Exception for a file that it cannot read
        raise ModelError(
            f"The tokenizer of {ref} cannot be read ({first_line(error)}): "
            "save it again beside the model."
        ) from error
    if not tokenizer.is_fast:  # words are found through the fast tokenizers' word ids
        raise _not_fast(ref)
    added = tokenizer.num_special_tokens_to_add(pair=False)
    if added >= MAX_SUBWORDS:
        raise ModelError(
            f"The tokenizer of {ref} adds {added:,} special tokens to every text, "
            "which leaves no room for the text: choose another model."
        )
    return cast("PreTrainedTokenizerFast", tokenizer)


def _named_class(folder: Path) -> str:
    """Name the class of a folder's tokenizer; "" where its files leave it to transformers."""
    named = checkpoints.tokenizer_settings(folder).get("tokenizer_class")
    if named is None and (folder / layout.CONFIG).is_file():
        kind = checkpoints.read_json(folder / layout.CONFIG).get("model_type")
        named = next((name for name, type_ in SLOW.items() if kind == type_), None)
    return str(named or "")


def _not_fast(ref: str) -> ModelError:
    return ModelError(
        f"The tokenizer of {ref} is not a fast one, so words cannot be aligned with subwords: "
        "compare its weights on the weights page, or save its fast tokenizer (tokenizer.json) too."
    )


def fast_esm_tokenizer(slow: Any) -> PreTrainedTokenizerFast:
    """Make the fast tokenizer, of which transformers has none, that cuts text as ESM's slow one: at
    every token of its vocabulary."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: number for token, number in slow.get_vocab().items() if token}
    special = {f"{name}_token": getattr(slow, f"{name}_token") for name in ESM_SPECIAL}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token=slow.unk_token))
    longest_first = sorted(vocabulary, key=len, reverse=True)
    letters = pre_tokenizers.Split(Regex("|".join(map(re.escape, longest_first))), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), letters])
    first, last = slow.cls_token, slow.eos_token
    made.post_processor = processors.TemplateProcessing(
        single=[first, "$A", last],
        pair=[first, "$A", last, "$B:1", f"{last}:1"],
        special_tokens=[(token, vocabulary[token]) for token in (first, last)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=slow.model_max_length, **special
    )


def read_gguf_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """Make the fast tokenizer that a GGUF file describes. Raises ModelError if it describes none,
    or one of a kind that transformers does not read."""
    import_transformers()
    from transformers import PreTrainedTokenizerFast
    from transformers.integrations.gguf.gguf_tokenizer_mapping import (
        GGUF_TOKENIZER_MAPPING,
        convert_gguf_tokenizer,
    )

    metadata = gguf_vocabulary(path)
    settings = {
        name: metadata[f"tokenizer.{key}"]
        for key, name in GGUF_TOKENIZER_MAPPING["tokenizer"].items()
        if f"tokenizer.{key}" in metadata
    }
    try:
        made, _ = convert_gguf_tokenizer(metadata["general.architecture"], settings)
        special = {
            f"{short}_token": settings["tokens"][metadata[f"{VOCABULARY}{name}_token_id"]]
            for short, name in SPECIAL.items()
            if f"{VOCABULARY}{name}_token_id" in metadata
        }
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelError(
            f"{path} has no tokenizer that can be read ({str(error)[:80]}): "
            "put the model's tokenizer.json beside it."
        ) from error
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


def replies(tokenizer: PreTrainedTokenizerFast, request: dict[str, Any]) -> Iterator[Reply]:
    """Answer one request, in batches if it has texts."""
    properties = {"settings": _settings, "capitals": _lost_capitals, "behaviour": _behaviour}
    if request["what"] in properties:
        yield properties[request["what"]](tokenizer)
    elif request["what"] == "tokens":
        yield [_token(tokenizer, number) for number in request["ids"]]
    elif request["what"] == "forms":
        yield from (_forms(tokenizer, words) for words in _batches(request["words"]))
    else:
        space = " " if request["spaced"] and _needs_space(tokenizer) else ""
        for parts in zip(*map(_batches, request["sides"]), strict=True):
            yield _encodings(tokenizer, [_spaced(part, space) for part in parts], request)


def answer(request: dict[str, Any]) -> Iterator[Reply]:
    """Answer requests in a separate process, which reads the tokenizer first. Raises ModelError if
    it cannot be read or used."""
    folder, ref = request["folder"], request["ref"]
    sys.modules.setdefault(
        "torch", cast(Any, None)
    )  # never needed for text, and a second of every start
    tokenizer = _open(folder, ref)
    try:
        yield from replies(tokenizer, request)
    except NO_ROOM:
        raise
    except Exception as error:
        raise ModelError(
            f"The tokenizer of {ref} cannot tokenize text ({first_line(error)}): "
            "save it again beside the model."
        ) from error


def first_line(error: Exception) -> str:
    """Shorten a library's error message to its first line, without advice to programmers."""
    line = (str(error).strip().splitlines() or [""])[0]
    sentences = [part for part in SENTENCE_END.split(line) if not ADVICE.search(part)]
    return " ".join(sentences)[:200] or type(error).__name__


def _settings(tokenizer: PreTrainedTokenizerFast) -> dict[str, int | None]:
    longest = tokenizer.model_max_length
    usable = isinstance(longest, int | float) and 0 < longest < MAX_SUBWORDS
    names = ("pad", "cls", "unk", "mask", "bos")
    ids = {name: getattr(tokenizer, f"{name}_token_id") for name in names}
    return {**ids, "longest": int(longest) if usable else MAX_SUBWORDS}


def _behaviour(tokenizer: PreTrainedTokenizerFast) -> str:
    """sha256 hex of the pieces of words and their ids, and of what becomes of `PROBED`; without how
    texts are cut off and padded, which every training sets, and special tokens that were added."""
    pieces = tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
    added = tokenizer.added_tokens_decoder.items()
    pieces |= {str(token): number for number, token in added if not token.special}
    space = " " if _needs_space(tokenizer) else ""
    request = {"split": True, "longest": None}
    encoded = _encodings(tokenizer, [_spaced([*PROBED], space)], request)
    cut = [(ids, words) for ids, words, *_ in encoded]
    return hashlib.sha256(json.dumps([sorted(pieces.items()), cut]).encode()).hexdigest()


def _forms(tokenizer: PreTrainedTokenizerFast, words: Sequence[str]) -> list[str]:
    normaliser = tokenizer.backend_tokenizer.normalizer
    if normaliser is None:
        return list(words)
    return [_short(normaliser.normalize_str(word)) for word in words]


def _short(form: str) -> str:
    """A word's form; of a long one the beginning, and a hash by which it differs from others."""
    if len(form) <= LONGEST_FORM:
        return form
    return form[:LONGEST_FORM] + hashlib.sha256(form.encode("utf8", "replace")).hexdigest()


def _lost_capitals(tokenizer: PreTrainedTokenizerFast) -> list[Any]:
    """Count entries of the vocabulary with capitals that no text gives, as all is lower-cased; and
    say whether the setting `do_lower_case` decides that."""
    normaliser = tokenizer.backend_tokenizer.normalizer
    entries = [
        entry
        for entry in tokenizer.get_vocab()
        if CAPITAL.search(entry) and not entry.startswith(BRACKETS)  # special ones stay as they are
    ]
    lost = normaliser and [
        entry for entry in entries if not CAPITAL.search(normaliser.normalize_str(entry))
    ]
    return [len(lost or ()), len(tokenizer.get_vocab()), hasattr(tokenizer, "do_lower_case")]


def _token(tokenizer: PreTrainedTokenizerFast, number: int) -> str:
    """A token as it is written in a text, without the spaces around it."""
    return str(tokenizer.decode([number])).strip()[:LONGEST_TOKEN]


def _encodings(
    tokenizer: PreTrainedTokenizerFast, sides: list[list[Any]], request: dict[str, Any]
) -> list[list[Any]]:
    """[ids, words, sides, segments, subwords] of each text: see `tokenizers.Encoding`."""
    encoded = tokenizer(
        *sides,
        is_split_into_words=request["split"],
        add_special_tokens=True,
        truncation=request["longest"] is not None,
        max_length=request["longest"],
        return_attention_mask=False,
    )
    segments = encoded.get("token_type_ids")
    made = []
    for place, ids in enumerate(encoded["input_ids"]):
        columns = (encoded.word_ids(place), encoded.sequence_ids(place))
        words, which = (
            [-1 if at is None else at for at in column[:MOST_IDS]] for column in columns
        )
        made.append(
            [ids[:MOST_IDS], words, which, segments and segments[place][:MOST_IDS], len(ids)]
        )
    return made


def _batches(texts: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(texts), TOGETHER):
        yield texts[start : start + TOGETHER]


def _spaced(texts: list[Any], space: str) -> list[Any]:
    """Put a space before words whose beginning the tokenizer recognises by it."""
    return [[space + word if word else "" for word in words] for words in texts] if space else texts


def _needs_space(tokenizer: PreTrainedTokenizerFast) -> bool:
    """Whether this tokenizer marks the beginning of a word by the space before it, and does not add
    one itself."""
    alone, spaced = (_first_piece(tokenizer, text) for text in ("a", " a"))
    return spaced.startswith(BEGINNINGS) and not alone.startswith(BEGINNINGS)


def _first_piece(tokenizer: PreTrainedTokenizerFast, text: str) -> str:
    """What a text begins with before it is cut into subwords: normalised, then split."""
    backend = tokenizer.backend_tokenizer
    written = backend.normalizer.normalize_str(text) if backend.normalizer else text
    pieces = backend.pre_tokenizer.pre_tokenize_str(written) if backend.pre_tokenizer else []
    return str(pieces[0][0]) if pieces else str(written)
