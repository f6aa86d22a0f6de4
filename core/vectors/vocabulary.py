"""Words of a text that are not in a model's vocabulary: its tokenizer reads them all as one unknown
token.

No model is run. Each word of a text is cut once by each tokenizer, in a stage between the first
one, which reads the text and identifies the models, and the tasks of a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, runtime_checkable

from core.errors import listed
from core.models import load_tokenizer, locate, parse_ref, tokenizer_fingerprint
from core.models.identity import identities
from core.models.loading.tokenizers import Capitals
from core.results.export import Result
from core.results.names import short_names
from core.results.numbers import text_of
from core.runs.runner import Outputs
from core.runs.store import current_store, key_of
from core.runs.tasks import Task, pure

VERSION = 1  # raised when the share of the same words and tokenizer changes
CAPITALS_VERSION = 1  # raised when the count of the same tokenizer changes
NOTED = 0.01  # share from which there is a notice
MOSTLY = 0.2  # share above which the headline begins with it
MOST_NAMED = 3  # models
LOST = 0.05  # share of the vocabulary from which a notice says that its capitals are never read
UNKNOWN, CAPITALS = "unknown words", "capitals"  # first parts of roles
NAMED_TEXTS = ("second text", "passage")  # roles that are also words for readers
R = TypeVar("R", bound=Result)
Sentences = Sequence[Sequence[str]]


@runtime_checkable
class Readable(Protocol):
    """A text from the first stage, which models read."""

    @property
    def words(self) -> Sentences:
        """List the words of each sentence."""


@pure("vectors.unknown_share")
def unknown_share(ref: str, sentences: Sentences) -> float:
    """Compute the share of words that are not in the model's vocabulary; 0 without words. Raises
    ModelError if the tokenizer cannot be loaded."""
    counts = Counter(word for words in sentences for word in words if word)
    if not counts:
        return 0.0
    unknown = _unknown_words(ref, tuple(sorted(counts)))
    return sum(counts[word] for word in unknown) / sum(counts.values())


def unknown_word_tasks(ready: Outputs) -> list[Task]:
    """Make a task for each text that the first stage read and each tokenizer of its models, and one
    for each tokenizer that reads a text."""
    readers = _readers(ready)
    shares = [
        Task.of(
            f"vocabulary of {refs[0]}",
            unknown_share,
            role=(UNKNOWN, tokenizer, role),
            fleeting=True,
            ref=refs[0],
            sentences=text.words,
        )
        for role, text in ready.values.items()
        if isinstance(text, Readable)
        for tokenizer, refs in readers.items()
    ]
    return shares + [
        Task.of(
            f"capitals of {refs[0]}",
            lost_capitals,
            role=(CAPITALS, tokenizer),
            fleeting=True,
            ref=refs[0],
        )
        for tokenizer, refs in readers.items()
        if shares
    ]


@pure("vectors.lost_capitals")
def lost_capitals(ref: str) -> str:
    """Say what to do where a tokenizer lower-cases texts and its vocabulary has capitals; "" where
    that is not so."""
    if parse_ref(ref).kind == "zoo":
        return ""
    stored, _ = current_store().get_or_compute(
        key_of("capitals", CAPITALS_VERSION, tokenizer_fingerprint(ref)),
        lambda: load_tokenizer(ref).capitals._asdict(),
    )
    capitals = Capitals(**stored)
    if capitals.lost < LOST * capitals.tokens:
        return ""
    setting = (
        '{"do_lower_case": false} into tokenizer_config.json'
        if capitals.setting
        else '"lowercase": false into the normalizer of tokenizer.json'
    )
    return (
        f"{capitals.lost:,} of {capitals.tokens:,} entries have capitals and are never read, "
        "because the tokenizer lower-cases every text: if the model was trained on cased text, "
        f"write {setting} beside the model"
    )


def with_unknown_words(result: R, ready: Outputs) -> R:
    """Add notices of unknown words to the result, and a caution above `MOSTLY`."""
    readers = _readers(ready)
    for tokenizer, refs in readers.items():
        result = with_lost_capitals(result, refs, ready.values.get((CAPITALS, tokenizer), ""))
    for role, share in ready.values.items():
        if isinstance(role, tuple) and role[0] == UNKNOWN:
            text = role[2] if role[2] in NAMED_TEXTS else "text"
            capitals = bool(ready.values.get((CAPITALS, role[1])))
            result = with_unknown_share(result, readers[role[1]], share, text, capitals=capitals)
    return result


def with_lost_capitals(result: R, refs: Sequence[str], lost: str) -> R:
    """Add a notice of capitals that are never read to the result."""
    notices = (f"In the vocabulary of {_named(refs)}, {lost}.", *result.notices)
    return replace(result, notices=notices) if lost else result


def with_unknown_share(
    result: R, refs: Sequence[str], share: float, text: str, *, capitals: bool = False
) -> R:
    """Add the notice, and above `MOSTLY` the caution, of a share of unknown words of a `text`
    ("text", "passage") to the result; `refs` share a tokenizer, `capitals` tells of another
    notice."""
    if share < NOTED:
        return result
    models, part = _named(refs), text_of(share, "per cent")
    advice = (
        "Its capitals, which are never read, may be the reason."
        if capitals
        else "Choose a text in the language and domain that the model was trained on."
    )
    notice = (
        f"{part} of the words of the {text} are not in the vocabulary of {models}, which reads "
        f"them all as one unknown token, so the numbers say nothing about these words. {advice}"
    )
    caution = f"{models} cannot read {part} of the words of this {text}." if share > MOSTLY else ""
    return replace(
        result,
        caution=f"{caution} {result.caution}".strip(),
        notices=(notice, *result.notices),
    )


def _readers(ready: Outputs) -> dict[str, tuple[str, ...]]:
    """Group references by the fingerprint of their tokenizer."""
    readers: dict[str, tuple[str, ...]] = {}
    for ref, identity in identities(ready).items():
        tokenizer = identity.content.split()[-1]
        readers[tokenizer] = (*readers.get(tokenizer, ()), ref)
    return readers


def _named(refs: Iterable[str]) -> str:
    trained = [ref for ref in refs if not parse_ref(ref).random] or list(refs)
    names = list(short_names(trained).values())
    return listed(names, MOST_NAMED - 1, rest="more models")


def _unknown_words(ref: str, words: tuple[str, ...]) -> frozenset[str]:
    """Find the words, each given once, that contain something outside the tokenizer's
    vocabulary."""
    file = locate(ref) / "tokenizer.json"
    if (
        parse_ref(ref).kind == "zoo" and file.is_file()
    ):  # included: trusted, and faster to cut than to look up
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(file))
        unknown = getattr(tokenizer.model, "unk_token", None)
        cut = tokenizer.encode_batch([[word] for word in words], is_pretokenized=True)
        return frozenset(
            word for word, encoded in zip(words, cut, strict=True) if unknown in encoded.tokens
        )

    def look() -> dict[str, list[str]]:
        from core.vectors.forward import cut_sentences

        tokenizer = load_tokenizer(ref)
        unknown = tokenizer.unk
        cut = cut_sentences(tokenizer, [[word] for word in words])
        return {
            "unknown": [
                word for word, pieces in zip(words, cut, strict=True) if unknown in pieces.inside
            ]
        }

    stored, _ = current_store().get_or_compute(
        key_of("unknown", VERSION, tokenizer_fingerprint(ref), words), look
    )
    return frozenset(stored["unknown"])
