"""Corpora: a CorpusRef is read as sentences of words, with heads if the corpus has them.

A CorpusRef is one string, the same in forms, links, the command line and reports:
`demo` (included) · `demo:fiction,news` (two of its genres) · `demo-gold` (its hand-checked trees) ·
a path ending in `.txt` or `.conllu`, also with `.gz` (not in shared mode) ·
`hub:NAME[/CONFIG][#SPLIT][:COLUMN]`.

The unit is the word: CoNLL-U has words, plain text is cut by spaCy's English rules (once; the store
keeps them). Notices say what is left out (sentences that are too long, everything beyond a limit).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from core.errors import CorpusError
from core.limits import Limits, current_limits
from core.models.zoo import restoring, zoo_folder
from core.text import parsing
from core.text.conllu import NO_HEADS, Sentence, is_punctuation, read_conllu
from core.text.datasets import parse_hub_ref
from core.text.pipelines import BOX, CLEARNLP_NOTICE, box_scores, foreign_notice
from core.text.sources import GENRES, read_demo, read_file, read_hub

__all__ = [
    "GENRES",
    "Corpus",
    "Sentence",
    "corpus_from_bytes",
    "is_punctuation",
    "parse_corpus",
    "read_conllu",
    "read_corpus",
]

FORMS = (
    "demo, demo:GENRE,GENRE, demo-gold, a path that ends in .txt or .conllu (or .gz), or hub:NAME"
)
LONGEST_SENTENCE = (
    512  # words; longer ones are lists or tables, and a distance matrix grows with the square
)
LONGEST_NAME = 100  # characters of a file's name in messages
HUB_SENTENCES = 1_000  # of a hub data set, if no number is given
_SUFFIXES = (".txt", ".conllu", ".txt.gz", ".conllu.gz")


@dataclass(frozen=True)
class Corpus:
    """Sentences with their source and notices.

    Attributes:
        ref: The CorpusRef; `upload:NAME` for an upload.
        sentences: In the corpus's order.
        notices: One sentence each, for readers.
    """

    ref: str
    sentences: tuple[Sentence, ...]
    notices: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """Compute sha256 over words, heads, genres, tags and labels, whatever their source."""
        content = [[s.words, s.heads, s.genre, s.upos, s.xpos, s.deprel] for s in self.sentences]
        return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """List the words of each sentence."""
        return tuple(sentence.words for sentence in self.sentences)

    @property
    def has_heads(self) -> bool:
        """Whether every sentence has a tree."""
        return bool(self.sentences) and all(
            sentence.heads is not None for sentence in self.sentences
        )


def read_corpus(
    ref: str,
    limit: int | None = None,
    genres: Sequence[str] = (),
    limits: Limits | None = None,
) -> Corpus:
    """Read the sentences of a corpus.

    Args:
        ref: A CorpusRef, see the module's first lines.
        limit: The largest number of sentences, from the front; None for all that the server allows
            (1,000 of a hub data set). The genres of the demo corpora alternate, so any limit
            includes them all.
        genres: Keep these genres only (demo corpora, or CoNLL-U with `# genre = NAME`).
        limits: What the server allows; None for this instance's own.

    Raises:
        CorpusError: If the reference has no valid form, or the corpus is missing, empty or
            malformed.
    """
    limits = limits or current_limits()
    base, _, named = ref.strip().partition(":")
    if base in ("demo", "demo-gold"):
        path = zoo_folder() / "corpus" / ("demo.txt" if base == "demo" else "demo-gold.conllu")
        if not path.is_file():
            raise CorpusError(
                f"The demo corpus is missing ({path}): restore it with {restoring('zoo/corpus')}."
            )
        named_genres = tuple(part.strip() for part in named.split(",") if part.strip())
        wanted = _genres(named_genres, genres)
        with path.open("rb") as handle:
            source = read_demo(handle) if base == "demo" else read_file(handle, path.name)
            return _collect(ref.strip(), source, limit, wanted, limits)
    if base == "hub":
        hub = parse_hub_ref(ref.strip())
        count = HUB_SENTENCES if limit is None else limit
        left_out: Counter[str] = Counter()
        return _collect(
            ref.strip(), read_hub(hub, left_out), count, tuple(genres), limits, left_out
        )
    if ref.strip().lower().endswith(_SUFFIXES):
        return _read_path(ref.strip(), limit, tuple(genres), limits)
    raise CorpusError(f"{ref[:100]!r} is not a corpus: choose {FORMS}.")


def corpus_problem(ref: str) -> str | None:
    """Say why this cannot be a text; None if it may be one. Nothing is read, and the hub is not
    asked."""
    base, _, named = ref.partition(":")
    if base == "upload":
        return None
    if base in ("demo", "demo-gold"):
        unknown = [
            genre
            for genre in (part.strip() for part in named.split(","))
            if genre and genre not in GENRES
        ]
        return (
            f"{unknown[0]!r} is not a genre of the demo: choose from {', '.join(GENRES)}."
            if unknown
            else None
        )
    if base == "hub":
        try:
            parse_hub_ref(ref)
        except CorpusError as error:
            return str(error)
        return None
    if not ref.lower().endswith(_SUFFIXES):
        return f"{ref[:100]!r} is not a text: choose {FORMS}."
    if current_limits().shared:
        return "Files of the server cannot be read on a shared instance: upload the text instead."
    return (
        None
        if os.path.isfile(os.path.expanduser(ref))  # noqa: PTH111, PTH113
        else f"There is no file {ref[:100]}: check the path, or upload it."
    )


def corpus_from_bytes(name: str, data: bytes) -> Corpus:
    """Read the sentences of an uploaded `.txt` or `.conllu` file (also `.gz`) of limited size,
    packed and unpacked.

    Raises:
        CorpusError: If the file is too large, of another kind, empty or malformed.
    """
    limits = current_limits()
    short = _short_name(name)
    if not short.lower().endswith(_SUFFIXES):
        raise CorpusError(
            f"{short} cannot be read: upload a file that ends in .txt or .conllu (or .txt.gz, "
            ".conllu.gz)."
        )
    if len(data) > limits.max_upload_bytes:
        raise CorpusError(
            f"{short} is larger than {limits.max_upload_bytes / 2**20:g} MB, "
            "the limit for uploads: upload a smaller file."
        )
    source = read_file(io.BytesIO(data), short, limits.max_upload_bytes)
    return _collect(f"upload:{short}", source, None, (), limits)


def parse_corpus(corpus: Corpus, pipeline: str = "box") -> Corpus:
    """Replace the sentences' trees, tags and labels by a parser's.

    A notice names the parser and its accuracy: these are parses, not gold. Another one says where
    the text is none that an English parser can parse.

    Raises:
        ModelError: If there is no such pipeline.
    """
    parses = parsing.parse_sentences(corpus.words, pipeline)
    sentences = tuple(
        replace(sentence, heads=parse.heads, upos=parse.upos, xpos=parse.xpos, deprel=parse.deprel)
        for sentence, parse in zip(corpus.sentences, parses, strict=True)
    )
    if pipeline == BOX:
        uas = box_scores().get("uas")
        accuracy = f" (UAS {uas:.1f} % on UD English EWT dev)" if uas else ""
        notice = f"Trees are parses by the included parser{accuracy}, not gold annotation."
    else:
        notice = (
            f"Trees are parses, not gold annotation. {CLEARNLP_NOTICE.format(pipeline=pipeline)}"
        )
    foreign = [unread] if (unread := foreign_notice(corpus.words)) else []
    return replace(corpus, sentences=sentences, notices=(*foreign, *corpus.notices, notice))


def _short_name(name: str) -> str:
    """Give a file's name without its folders, shortened in the middle so that its ending stays."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return last if len(last) <= LONGEST_NAME else f"{last[: LONGEST_NAME - 20]}…{last[-19:]}"


def _genres(named: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Combine the genres of the reference with those of the option; their intersection if both are
    given."""
    for genre in (*named, *asked):
        if genre not in GENRES:
            raise CorpusError(
                f"{genre[:100]!r} is not a genre of the demo corpus: "
                f"choose from {', '.join(GENRES)}."
            )
    both = (
        tuple(genre for genre in named if genre in asked) if named and asked else (*named, *asked)
    )
    if (named or asked) and not both:
        raise CorpusError(
            f"The genres {', '.join(named)} and {', '.join(asked)} have none in common: "
            "choose one that is in both."
        )
    return both


def _collect(
    ref: str,
    source: Iterable[Sentence],
    limit: int | None,
    genres: tuple[str, ...],
    limits: Limits,
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> Corpus:
    """Take sentences from a source up to the limits, and say what was left out."""
    if limit is not None and limit < 1:
        raise CorpusError(f"The number of sentences must be at least 1, not {limit}.")
    taken: list[Sentence] = []
    words = long = 0
    stopped = ""
    for sentence in source:
        if genres and sentence.genre not in genres:
            continue
        if len(sentence.words) > LONGEST_SENTENCE:
            long += 1
            continue
        if len(taken) == limits.max_sentences:
            stopped = f"first {limits.max_sentences:,} sentences"
            break
        if words + len(sentence.words) > limits.max_words:
            stopped = f"first {len(taken):,} sentences ({limits.max_words:,} words)"
            break
        words += len(sentence.words)
        taken.append(sentence)
        if len(taken) == limit:
            break
    notices = []
    if long:
        notices.append(left_out_notice(f"Sentences of more than {LONGEST_SENTENCE} words", long))
    notices += [left_out_notice(group, count) for group, count in left_out.items()]
    if stopped:
        notices.append(
            f"Only the {stopped} were read, because this server limits the length of a text."
        )
    if not taken:
        why = (
            f" of {', '.join(genres)}"
            if genres
            else f" of {LONGEST_SENTENCE} words or fewer"
            if long
            else ""
        )
        raise CorpusError(f"{ref} holds no sentence{why}: choose another text.")
    if ".conllu" in ref.lower() and all(sentence.heads is None for sentence in taken):
        notices.append(NO_HEADS.format(name=ref))
    return Corpus(ref, tuple(taken), tuple(notices))


def left_out_notice(group: str, count: int) -> str:
    """Say that a group, such as "Sentences of more than 512 words", was left out."""
    return f"{group} were left out ({count:,})."


def _read_path(ref: str, limit: int | None, genres: tuple[str, ...], limits: Limits) -> Corpus:
    """Read a file by its path, only as far as needed."""
    if limits.shared:
        raise CorpusError(
            "Files cannot be read by their path on a shared instance: "
            "upload the file, or choose demo."
        )
    try:
        path = Path(ref).expanduser()
        if not path.is_file():
            raise CorpusError(f"There is no file {_short(ref)}: check the path, or choose demo.")
        with path.open("rb") as handle:
            return _collect(ref, read_file(handle, path.name), limit, genres, limits)
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # also: no such user, a zero byte, a path too long
        reason = getattr(error, "strerror", None) or error
        raise CorpusError(f"{_short(ref)} cannot be read: {reason}.") from error


def _short(ref: str) -> str:
    return ref if len(ref) <= 300 else f"{ref[:150]}…{ref[-100:]}"
