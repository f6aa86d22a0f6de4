"""Text is cut into words and parsed by spaCy; this is the only module that imports it.

spaCy's tokenizer takes quadratic time in a run of brackets or quotes, and holds the interpreter
lock meanwhile: 9,000 of them block every thread for 18 s. Therefore `check_line` limits the
characters between two white spaces, and a line is tokenised in pieces short enough that other
threads and a cancellation get their turn in between.

Words are parsed as given, one tree a sentence. Parses and words are kept in the store under the
sentence's content and the pipeline's fingerprint, so that stored parses are read without importing
spaCy.

Deviations from spaCy: every sentence has exactly one root. spaCy may leave several words without a
head; the first stays the root and the others are attached to it as `parataxis`.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.errors import CorpusError, ModelError
from core.maths import progress
from core.maths.arrays import Value
from core.runs.process.remembered import remembered
from core.runs.store import current_store, key_of
from core.text.pipelines import BOX, pipeline_fingerprint, pipeline_folder
from core.text.shipped import Columns, shipped

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_BATCH = 128  # sentences parsed and stored at once, between two reports of progress
_VERSION = 1  # of parses and words in the store
LONGEST_RUN = 500  # characters without white space; so many brackets take the tokenizer 40 ms
LONGEST_LINE = 1_000_000  # characters
_LINE = 500_000  # characters of one document
_PIECE = 500  # characters that the tokenizer gets at once, while it holds the interpreter lock
# marks of direction, word joiners, soft hyphens and control characters: no part of any word
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
MOST_LOADED = 4  # pipelines in memory
_lock = threading.Lock()  # spaCy's string store is not thread-safe


@dataclass(frozen=True)
class Parse:
    """One tree over the words of a sentence, with tags.

    Attributes:
        heads: 1-based head of each word, 0 for the one root.
        upos: Universal part-of-speech tags.
        xpos: Penn Treebank tags.
        deprel: Dependency labels; `root` for the root.
    """

    heads: tuple[int, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    deprel: tuple[str, ...]


def tokenize(text: str, split: bool = True) -> list[tuple[str, ...]]:
    """Cut text into sentences of words by spaCy's English rules; a line end always ends a sentence,
    and invisible characters are left out.

    Args:
        split: Whether one line may hold several sentences (ended by `.`, `!`, `?`); False takes
            each line as one.

    Returns:
        One tuple of words per sentence; blank lines give none.

    Raises:
        CorpusError: As for `check_line`.
        CancelledError: If the run is cancelled.
    """
    lines = _visible(text).splitlines()
    for number, line in enumerate(lines, start=1):
        check_line(line, f"Line {number} of the text" if len(lines) > 1 else "The text")
    parts = (line[at : at + _LINE] for line in lines for at in range(0, len(line), _LINE))
    return [words for part in parts for words in _sentences(part, split) if words]


def check_line(line: str, where: str) -> None:
    """Refuse a line that would take the tokenizer too long; takes linear time.

    Args:
        where: Name of the line in the message ("notes.txt, line 3").

    Raises:
        CorpusError: If the line is longer than `LONGEST_LINE`, or `LONGEST_RUN` is exceeded between
            white space.
    """
    if len(line) > LONGEST_LINE:
        raise CorpusError(
            f"{where} has {len(line):,} characters, but at most {LONGEST_LINE:,} can be read: "
            "put each sentence or paragraph on its own line."
        )
    run = max(map(len, line.split()), default=0) if len(line) > LONGEST_RUN else 0
    if run > LONGEST_RUN:
        raise CorpusError(
            f"{where} has {run:,} characters without a space, "
            f"but at most {LONGEST_RUN:,} can be read: remove them or put spaces between the words."
        )


def tokenize_lines(lines: Sequence[str], split: bool = True) -> list[list[tuple[str, ...]]]:
    """Tokenise each of several lines, and store them as one entry; a second call does not import
    spaCy.

    The demo's lines are included, already cut.
    """
    lines = [_visible(line) for line in lines]
    key = words_key(lines, split)
    demo = shipped()
    if key == demo.cut:
        return [list(line) for line in demo.lines]

    def compute() -> Value:
        return {
            "lines": cast(Any, [[list(words) for words in tokenize(line, split)] for line in lines])
        }

    value, _ = current_store().get_or_compute(key, compute)
    stored: Any = value["lines"]
    return [[tuple(words) for words in line] for line in stored]


def words_key(lines: Sequence[str], split: bool) -> str:
    """Compute the store key of these lines' words."""
    return key_of("words", _VERSION, importlib.metadata.version("spacy"), split, tuple(lines))


def parse_sentences(sentences: Sequence[Sequence[str]], pipeline: str = BOX) -> list[Parse]:
    """Parse sentences: one tree per sentence over the given words.

    Whatever the words are (none, one, hundreds, symbols, other scripts), the parse has as many
    heads as words and one root; an empty sentence has an empty parse. Parses are kept in the
    current run's store; the demo's are included.

    Raises:
        ModelError: If there is no such pipeline, or it has no parser, or it cannot be loaded.
    """
    store = current_store()
    mark = pipeline_fingerprint(pipeline)
    demo = shipped()
    wanted = dict.fromkeys(tuple(words) for words in sentences)
    included = demo.parses if demo.parser == mark else {}
    parses = {words: _parse_of(included[words]) for words in wanted if words in included}
    keys = {
        key_of("parse", _VERSION, mark, words): words for words in wanted if words not in parses
    }
    stored = store.get_many(keys)
    parses |= {
        keys[key]: _parse_of((value["heads"], value["upos"], value["xpos"], value["deprel"]))
        for key, value in stored.items()
    }
    misses = [(key, words) for key, words in keys.items() if key not in stored]
    for start in range(0, len(misses), _BATCH):
        progress.tick(start / len(misses), "parsing")
        batch = misses[start : start + _BATCH]
        fresh = parse_words([words for _, words in batch], pipeline)
        store.put_many({key: asdict(parse) for (key, _), parse in zip(batch, fresh, strict=True)})
        parses |= {words: parse for (_, words), parse in zip(batch, fresh, strict=True)}
    return [parses[tuple(words)] for words in sentences]


def _visible(text: str) -> str:
    """Leave out characters that nobody sees; a zero-width space ends a word."""
    return _INVISIBLE.sub("", text).replace("\u200b", " ")


def _sentences(line: str, split: bool) -> list[tuple[str, ...]]:
    """Cut one document into sentences of words, a piece at a time under the lock.

    The result is that of the whole document except for rare emoticons, whose rules look past a
    space.
    """
    words: list[str] = []
    spaces: list[bool] = []
    start = 0
    while start < len(line):
        progress.tick(start / len(line), "cutting text into words")
        end = _piece_end(line, start)
        with _lock:
            for token in _blank().tokenizer(line[start:end]):
                words.append(token.text)
                spaces.append(bool(token.whitespace_))
        start = end
    with _lock:
        from spacy.tokens import Doc

        doc = Doc(_blank().vocab, words=words, spaces=spaces)
        parts = _blank().get_pipe("sentencizer")(doc).sents if split else [doc]
        return [tuple(token.text for token in part if not token.is_space) for part in parts]


def _piece_end(line: str, start: int) -> int:
    """Find where a piece that begins at `start` ends: after white space, which `check_line`
    guarantees."""
    if len(line) - start <= _PIECE:
        return len(line)
    return next(end for end in range(start + _PIECE + 1, start, -1) if line[end - 1].isspace())


@remembered(1)
def _blank() -> Language:
    """Make the English tokenizer with a sentence rule, once per process; the caller holds the
    lock."""
    import spacy

    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    return blank


def _parse_of(columns: Columns) -> Parse:
    heads, upos, xpos, deprel = columns
    return Parse(tuple(int(head) for head in heads), tuple(upos), tuple(xpos), tuple(deprel))


def parse_words(sentences: Sequence[tuple[str, ...]], pipeline: str = BOX) -> list[Parse]:
    """Parse sentences now, in order; `parse_sentences` first looks in the store."""
    # around the import too: of two threads that import spaCy at once, one may see it half imported
    with _lock:
        from spacy.tokens import Doc

        nlp, table = _load(pipeline, pipeline_folder(pipeline)), _upos_table(pipeline)
        docs = [
            # spaCy refuses an empty string as a word; "_" stands for it.
            Doc(
                nlp.vocab,
                [word or "_" for word in words],
                sent_starts=[True, *[False] * (len(words) - 1)],
            )
            for words in sentences
            if words
        ]
        parsed = iter(list(nlp.pipe(docs)))
        return [
            _one_tree(next(parsed), table) if words else Parse((), (), (), ())
            for words in sentences
        ]


def _one_tree(doc: Doc, table: dict[str, str] | None) -> Parse:
    """Make one tree of a document; `table` gives UPOS if the pipeline has none."""
    heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
    labels = [(token.dep_ or "dep").replace("ROOT", "root") for token in doc]
    roots = [i for i, head in enumerate(heads) if head == 0]
    for i in roots[1:]:
        heads[i], labels[i] = roots[0] + 1, "parataxis"
    labels[roots[0]] = "root"
    xpos = [token.tag_ or "_" for token in doc]
    if table is None:
        upos = [token.pos_ or "X" for token in doc]
    else:
        upos = [
            _upos(table, *row) for row in zip(xpos, labels, (t.lower_ for t in doc), strict=True)
        ]
    return Parse(tuple(heads), tuple(upos), tuple(xpos), tuple(labels))


def _upos(table: dict[str, str], tag: str, label: str, word: str) -> str:
    """Look UPOS up by the most specific key of the table."""
    for key in (f"{tag} {label} {word}", f"{tag} {label}", tag):
        if key in table:
            return table[key]
    return "X"


@remembered(MOST_LOADED)
def _load(pipeline: str, folder: Path) -> Language:
    """Load the pipeline, once per process; the caller holds the lock."""
    import spacy

    try:
        nlp = spacy.load(
            folder if pipeline == BOX else pipeline, exclude=["ner", "lemmatizer", "senter"]
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelError(
            f"The parser {pipeline} in {folder} could not be loaded ({type(error).__name__}: "
            f"{error}): restore its files, or choose another parser."
        ) from error
    if "parser" not in nlp.pipe_names:
        raise ModelError(f"The spaCy pipeline {pipeline} has no parser: choose another pipeline.")
    return nlp


def _upos_table(pipeline: str) -> dict[str, str] | None:
    """Read the table from XPOS and label to UPOS of a pipeline that predicts only XPOS; None for
    others."""
    path = pipeline_folder(pipeline) / "upos.json"
    return json.loads(path.read_text(encoding="utf8")) if path.is_file() else None
