"""Tokenizers: those of included models run here, all others in a separate process.

The library that runs a `tokenizer.json` allocates what the file asks for and aborts the process
that cannot give it: four normalizers that replace a letter by a hundred are enough. So the files of
a stranger are read and run in a process of their own, and nothing but lists of numbers and words
comes back, of a length that the text bounds. Both ways give the same; a tokenizer whose content the
manifest of the included models describes is run without that process.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import ModelError
from core.limits import UNLIMITED, current_limits
from core.maths.progress import tick
from core.models.files import checkpoints, layout
from core.models.loading.tokenizing import read_tokenizer, replies
from core.models.references import ModelRef
from core.models.zoo import read_manifest
from core.runs.process.isolation import (
    IDLE,
    SILENCE,
    ApartAnswerError,
    ApartError,
    ApartTimeoutError,
    Patience,
    RefusedError,
)
from core.runs.process.persistent import PersistentProcess
from core.runs.process.turns import turn

# Bytes that a tokenizer from outside may take. A vocabulary of 128,000 pieces needs 256 MB, one of
# 250,000 (in no model small enough for a shared instance) more than 384.
MEMORY, MEMORY_SHARED = 2**31, 320 * 2**20
SECONDS = 15.0  # of processor time to read a tokenizer and the first text
SECONDS_A_TEXT = 0.005
# Characters of all replies to a request, and more for each of its characters. A token takes 20; a
# letter becomes up to five, as bytes of its parts.
ANSWER, ANSWER_A_CHARACTER = 2**20, 32
Words = Sequence[str]
Ask = Callable[[dict[str, Any]], Iterator[Any]]


class Encoding(NamedTuple):
    """A tokenized text, cut where no model reads further.

    Attributes:
        ids: Token ids, special tokens included.
        words: Index of the word that each token belongs to; -1 for special tokens.
        sides: 0 or 1, the text of a pair that each token belongs to; -1 for special tokens.
        segments: Segment of each token; None where the tokenizer has none.
        subwords: Tokens of the whole text.
    """

    ids: list[int]
    words: list[int]
    sides: list[int]
    segments: list[int] | None
    subwords: int


class Capitals(NamedTuple):
    """What a tokenizer makes of capitals.

    Attributes:
        lost: Tokens with capitals that no text gives, as it is lower-cased first.
        tokens: Tokens of the vocabulary.
        setting: Whether `do_lower_case` in tokenizer_config.json decides that.
    """

    lost: int
    tokens: int
    setting: bool


class Tokenizer:
    """A model's tokenizer, wherever it runs. `ask` replies to a request as `tokenizing.replies`
    does; tokens from `rows` on, which the model has no vectors of, are refused. Every method raises
    ModelError where the tokenizer cannot be read, fails or breaks its limits.

    Attributes: pad, cls, unk, mask, bos: Ids of these tokens; None where there is none, or no
    vector of the one that pads. longest: Subwords that a text may have, by the model and by the
    tokenizer."""

    def __init__(self, ask: Ask, longest: int, rows: int | None = None) -> None:
        self._ask, self._rows = ask, UNLIMITED if rows is None else rows
        (settings,) = ask({"what": "settings"})
        self.pad: int | None = None if (settings["pad"] or 0) >= self._rows else settings["pad"]
        self.cls: int | None = settings["cls"]
        self.unk: int | None = settings["unk"]
        self.mask: int | None = settings["mask"]
        self.bos: int | None = settings["bos"]
        self.longest = min(longest, settings["longest"])

    @cached_property
    def behaviour(self) -> str:
        """sha256 hex of what it makes of words, by which tokenizers are compared."""
        return str(*self._ask({"what": "behaviour"}))

    @cached_property
    def capitals(self) -> Capitals:
        """What becomes of capitals."""
        return Capitals(*next(iter(self._ask({"what": "capitals"}))))

    def encode(
        self,
        texts: Sequence[Words] | Sequence[str],
        second: Sequence[Words] | None = None,
        *,
        longest: int | None = None,
        spaced: bool = False,
    ) -> list[Encoding]:
        """Cut texts, strings or the words of each, or pairs of texts, into subwords; those beyond
        `longest` are cut off (none, if it is None), special tokens kept. If `spaced`, a tokenizer
        that marks words by the space before them, and adds none, sees one before every word."""
        if not texts:
            return []
        split = not isinstance(texts[0], str)
        sides = [
            [list(text) if split else text for text in side]
            for side in (texts, second)
            if side is not None
        ]
        request = {
            "what": "encodings",
            "sides": sides,
            "split": split,
            "longest": longest,
            "spaced": spaced,
        }
        encodings = [Encoding(*row) for reply in self._ask(request) for row in reply]
        largest = max((max(encoding.ids, default=0) for encoding in encodings), default=0)
        if largest >= self._rows:
            raise ModelError(
                f"The tokenizer names token {largest:,}, and the model has vectors of "
                f"{self._rows:,} tokens: they do not belong together; choose another model."
            )
        return encodings

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Write tokens as they are in a text, without spaces around them."""
        (written,) = self._ask({"what": "tokens", "ids": list(ids)})
        return [str(token) for token in written]

    def forms(self, sentences: Sequence[Words]) -> list[tuple[str, ...]]:
        """Normalise words as the model does: an uncased one reads The and the as one type."""
        words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
        replies = self._ask({"what": "forms", "words": words})
        forms = dict(zip(words, (form for reply in replies for form in reply), strict=True))
        return [tuple(forms[word] for word in sentence) for sentence in sentences]


class OutsideTokenizer:
    """An untrusted tokenizer, in a process that ends with this object."""

    def __init__(self, folder: Path, ref: str) -> None:
        self._folder, self._ref = str(folder.resolve()), ref
        self._memory = MEMORY_SHARED if current_limits().shared else MEMORY
        self._process = PersistentProcess(
            "core.models.loading.tokenizing", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false"
        )

    def __call__(self, request: dict[str, Any]) -> Iterator[Any]:
        """Replies to a request, all at once, as `tokenizing.replies`. Raises ModelError if the
        tokenizer cannot be read or used, or takes too much memory or time."""
        texts = len(request["sides"][0]) if "sides" in request else len(request.get("words", ()))
        seconds = SECONDS + SECONDS_A_TEXT * texts
        asked = request | {"folder": self._folder, "ref": self._ref}
        note = f"cutting text for {self._ref}" if texts else f"reading the tokenizer of {self._ref}"
        most = ANSWER + ANSWER_A_CHARACTER * len(json.dumps(asked))
        patience = Patience(SILENCE, SILENCE + seconds, seconds, IDLE)
        with _only_process(self._process):  # before its turn, for which closing it would wait
            try:
                return iter(
                    self._process.ask(asked, patience, note, memory=self._memory, characters=most)
                )
            except RefusedError as error:
                raise ModelError(str(error)) from None
            except ApartTimeoutError:
                raise ModelError(
                    f"The tokenizer of {self._ref} takes longer than a tokenizer should "
                    f"({seconds:.0f} s): choose another model."
                ) from None
            except ApartAnswerError:
                raise ModelError(
                    f"The tokenizer of {self._ref} makes more of a text than a tokenizer should "
                    f"({most:,} characters): choose another model."
                ) from None
            except ApartError:
                raise ModelError(
                    f"The tokenizer of {self._ref} crashed or took more memory than a tokenizer "
                    f"should ({self._memory // 2**20:,} MB): choose another model."
                ) from None


_asking = threading.Lock()
_asked: list[weakref.ref[PersistentProcess]] = []  # at most one: the last that was asked


@contextmanager
def _only_process(process: PersistentProcess) -> Iterator[None]:
    """Keep all other tokenizers from outside out of memory on a shared instance, whose host has no
    room for several. Raises CancelledError if the run is cancelled while it waits."""
    if not current_limits().shared:
        yield
        return
    with turn(_asking, partial(tick, 0.0, "waiting for another run's tokenizer")):
        for before in filter(None, (reference() for reference in _asked)):
            if before is not process:
                before.close()
        _asked[:] = [weakref.ref(process)]
        yield


def open_tokenizer(ref: ModelRef, folder: Path, longest: int, rows: int | None = None) -> Tokenizer:
    """The tokenizer of a model's folder; the model reads `longest` subwords and has vectors of
    `rows` tokens, None for unchecked. Raises ModelError if it cannot be read, is not a fast one, or
    breaks its limits."""
    if is_included(ref, folder):
        return Tokenizer(partial(replies, read_tokenizer(str(folder), str(ref))), longest, rows)
    return Tokenizer(OutsideTokenizer(folder, str(ref)), longest, rows)


def is_included(ref: ModelRef, folder: Path) -> bool:
    """Whether every file that decides the tokenization is that of the manifest."""
    if ref.kind != "zoo":
        return False
    listed = (entry for entry in read_manifest() if entry.get("name") == ref.name)
    files: dict[str, str] = next(listed, {}).get("files", {})
    present = [name for name in layout.TOKENIZER_FILES if (folder / name).is_file()]
    return bool(files) and all(
        files.get(name) == checkpoints.content_hash(folder / name)
        for name in (layout.CONFIG, *present)
    )
