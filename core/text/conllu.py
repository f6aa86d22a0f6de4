"""Reading CoNLL-U: sentences of words with heads, tags and labels; invalid lines are refused.

Read: comments, multiword ranges (`3-4`, whose syntactic words follow and are the words), empty
nodes (`8.1`, left out: they carry no head of the basic tree), a byte order mark, CRLF, a missing
last newline. Heads that are all `_` make a corpus without heads. Everything else is refused, with
file, line and reason.

Reference: https://universaldependencies.org/format.html. Deviations: `# genre = NAME` before a
sentence names its genre; a line of blanks counts as empty; XPOS, UPOS and labels are not checked
against any inventory.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from jaxtyping import Bool

from core.errors import CorpusError
from core.maths.trees import head_problem

COLUMNS = 10
NO_HEADS = "{name} has no heads (all are _), so its trees come from a parser."
PUNCTUATION_TAGS = frozenset({"''", ",", ".", ":", "``", "-LRB-", "-RRB-"})
_PENN_WORDS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ HYPH NFP ADD AFX GW XX"
)
PENN_TAGS = PUNCTUATION_TAGS | frozenset(_PENN_WORDS.split())
# no sentence has more words than nine digits say
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY_NODE = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_WORD_ID = re.compile(r"[1-9][0-9]{0,8}")
_HEAD = re.compile(r"0|[1-9][0-9]{0,8}")
LONGEST_WORD = 500  # characters; longer words slow tokenizer and parser down


@dataclass(frozen=True)
class Sentence:
    """Words of one sentence, with their annotation.

    Attributes:
        words: Syntactic words (`do`, `n't`), in order.
        heads: 1-based head of each word, 0 for the root; None without a tree.
        genre: One of the demo's genres, or "".
        upos: Universal part-of-speech tags, or None.
        xpos: Tags of the treebank's own set (Penn Treebank for English), or None.
        identifier: The sentence's id in its file, or "".
        deprel: Dependency label of each word (`nsubj`), or None.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    genre: str = ""
    upos: tuple[str, ...] | None = None
    xpos: tuple[str, ...] | None = None
    identifier: str = ""
    deprel: tuple[str, ...] | None = None


def is_punctuation(sentence: Sentence) -> Bool[np.ndarray, " word"]:
    """Mark punctuation, which unlabelled attachment leaves out, as True: by XPOS where it is one of
    the seven Penn Treebank tags of the structural probe's published code (hyphens and symbols count
    as words), else by UPOS `PUNCT`, else by Unicode's classes. On UD English EWT (dev / test, edges
    to left-out words dropped) the XPOS rule gives a linear chain a UUAS of 43.0 / 43.0."""
    nothing = ("_",) * len(sentence.words)
    tags = zip(sentence.words, sentence.upos or nothing, sentence.xpos or nothing, strict=True)
    return np.array([_is_mark(word, upos, xpos) for word, upos, xpos in tags], dtype=bool)


def _is_mark(word: str, upos: str, xpos: str) -> bool:
    if xpos in PENN_TAGS:
        return xpos in PUNCTUATION_TAGS
    if upos != "_":
        return upos == "PUNCT"
    return all(unicodedata.category(letter).startswith("P") for letter in word)


@dataclass
class _Block:
    """A sentence of the file `name` while it is read: the words' rows with their line numbers, and
    the comments before them."""

    name: str
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    first: int = 0  # line of its first row; 0 before it
    range_end: int = 0
    empty_node: tuple[int, int] = (-1, 0)

    def refuse(self, line: int, reason: str) -> CorpusError:
        """Make the error of a line."""
        return CorpusError(f"{self.name}, line {line}: {reason}.")


def read_conllu(lines: Iterable[str], name: str) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file one at a time, so that reading can stop early. Raises
    CorpusError at the first line that the format does not allow, with file, line and reason; also
    if only some sentences have heads, or there is none."""
    block, with_heads = _Block(name), None
    for number, line in enumerate(chain(lines, [""]), start=1):  # an empty line ends a sentence
        text = line.rstrip("\r\n")
        if number == 1:
            text = text.removeprefix("\ufeff")
        if text.strip():
            _take(block, text, number)
            continue
        if block.first:
            sentence = _finish(block)
            with_heads = _same_heads(sentence, with_heads, block)
            yield sentence
        block = _Block(name)
    if with_heads is None:
        raise CorpusError(
            f"{name} holds no sentence in its {number - 1} lines: "
            "write one word per line, and an empty line between sentences."
        )


def _take(block: _Block, text: str, number: int) -> None:
    """Add one non-empty line to the sentence."""
    if text.startswith("#"):
        if block.first:
            raise block.refuse(number, "a comment inside a sentence; move it before the first word")
        key, _, value = text[1:].partition("=")
        block.comments[key.strip()] = value.strip()
        return
    columns = text.split("\t")
    if len(columns) != COLUMNS:
        raise block.refuse(
            number, f"{len(columns)} columns separated by tabs, but CoNLL-U has {COLUMNS}"
        )
    if not all(columns):
        raise block.refuse(number, f"column {columns.index('') + 1} is empty; write _ instead")
    if len(columns[1]) > LONGEST_WORD:
        raise block.refuse(
            number, f"a word has {len(columns[1]):,} characters, more than {LONGEST_WORD}"
        )
    block.first = block.first or number
    identifier, last = columns[0], len(block.rows)
    if _WORD_ID.fullmatch(identifier):
        if int(identifier) != last + 1:
            raise block.refuse(number, f"word id {identifier} is out of order; {last + 1} is next")
        block.rows.append((number, columns))
    elif match := _RANGE.fullmatch(identifier):
        start, end = int(match[1]), int(match[2])
        if start != last + 1 or end < start or start <= block.range_end:
            raise block.refuse(
                number,
                f"multiword range {identifier} is out of order; word {last + 1} is next",
            )
        block.range_end = end
    elif match := _EMPTY_NODE.fullmatch(identifier):
        node = int(match[1]), int(match[2])
        expected = (last, block.empty_node[1] + 1 if block.empty_node[0] == last else 1)
        if node != expected:
            raise block.refuse(
                number,
                f"empty node {identifier} is out of order; {expected[0]}.{expected[1]} is next",
            )
        block.empty_node = node
    else:
        raise block.refuse(
            number,
            f"id {identifier[:20]!r} is not a word (3), a range (3-4) or an empty node (3.1)",
        )


def _finish(block: _Block) -> Sentence:
    """Make the sentence of a block, and check its heads."""
    if not block.rows:
        raise block.refuse(block.first, "the sentence that begins here has no words")
    rows = [columns for _, columns in block.rows]
    if block.range_end > len(rows):
        raise block.refuse(
            block.rows[-1][0],
            f"the sentence ends before word {block.range_end} of a multiword range",
        )
    return Sentence(
        words=tuple(row[1] for row in rows),
        heads=_heads(block),
        genre=block.comments.get("genre", ""),
        upos=_tags(rows, 3),
        xpos=_tags(rows, 4),
        identifier=block.comments.get("sent_id", ""),
        deprel=_tags(rows, 7),
    )


def _tags(rows: list[list[str]], column: int) -> tuple[str, ...] | None:
    """Give a column as a tuple, or None if it is all _."""
    values = tuple(row[column] for row in rows)
    return None if all(value == "_" for value in values) else values


def _heads(block: _Block) -> tuple[int, ...] | None:
    """Give the heads of a block as integers, None if all are missing; refuse them unless they are
    one tree."""
    missing = [line for line, columns in block.rows if columns[6] == "_"]
    if len(missing) == len(block.rows):
        return None
    if missing:
        raise block.refuse(
            missing[0], "a head is missing (_), but other words of the sentence have one"
        )
    for line, columns in block.rows:
        if not _HEAD.fullmatch(columns[6]):
            raise block.refuse(line, f"head {columns[6][:20]!r} is not a whole number")
    heads = tuple(int(columns[6]) for _, columns in block.rows)
    if 0 not in heads and max(heads) <= len(heads):
        raise block.refuse(
            block.first, "the sentence that begins here has no root (no word has head 0)"
        )
    problem = head_problem(heads)
    if problem is not None:
        raise block.refuse(block.rows[problem[0]][0], problem[1])
    return heads


def _same_heads(sentence: Sentence, with_heads: bool | None, block: _Block) -> bool:
    """Whether the sentence has heads; refuse it if the sentences before it differ."""
    present = sentence.heads is not None
    if with_heads is not None and present != with_heads:
        which = (
            "has heads, but those before it have none"
            if present
            else "has no heads, but those before it do"
        )
        raise block.refuse(block.first, f"the sentence that begins here {which}")
    return present
