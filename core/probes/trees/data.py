"""Sentences with trees, split three ways, the same for every model that is probed.

A split is fixed by a hash of the sentence's words, so that a sentence falls into the same part whatever stands
round it, and never into two. Sentences that one model cannot read whole are left out for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import CorpusError, ModelError
from core.probes.structural.scores import Gold
from core.probes.trees.spec import ProbeSpec
from core.runs.tasks import pure
from core.text.corpora import Corpus, Sentence, is_punctuation, parse_corpus, read_corpus
from core.text.reading import Text, read_text
from core.text.trees import tree_depths, tree_distances

PARTS = ("train", "dev", "test")
FEWEST = {"train": 20, "dev": 2, "test": 2}
OWN_GOLD = "demo-gold"  # hand-checked trees in the box
SHARES = {"train": 8, "dev": 1, "test": 1}  # of ten


@dataclass(frozen=True)
class Tree:
    """A sentence as probes use it: plain values, so that it can travel in a task's arguments.

    Attributes:
        words: The sentence.
        heads: 1-based heads, 0 for the root.
        keep: Whether each word counts in trees; punctuation does not.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    keep: tuple[bool, ...]


@dataclass(frozen=True)
class Trees:
    """Sentences with their trees as tasks take them: plain values, see `Tree`."""

    words: tuple[tuple[str, ...], ...]
    heads: tuple[tuple[int, ...], ...]
    keep: tuple[tuple[bool, ...], ...]

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Trees:
        """These trees."""
        return cls(*(tuple(getattr(tree, name) for tree in trees) for name in ("words", "heads", "keep")))

    @property
    def rows(self) -> list[Tree]:
        """The trees, one by one."""
        return [Tree(*row) for row in zip(self.words, self.heads, self.keep, strict=True)]


@dataclass(frozen=True)
class Treebank:
    """What a study trains and scores on.

    Attributes:
        parts: "train", "dev" and "test" sentences.
        corpus: All of them, in order, for the record of where numbers come from.
        parsed: Whether the trees are a parser's rather than the corpus's.
        judged: Sentences with gold heads that the parser is scored on: the test sentences, or the box's hand-checked
            ones where these have none. None where there is no parser, or nothing to hold it against.
        parser: Fingerprint of the parser's files; "" where there is none.
        notices: What was left out, and whose trees these are.
    """

    parts: Mapping[str, tuple[Tree, ...]]
    corpus: Corpus
    parsed: bool
    judged: tuple[Tree, ...] | None
    parser: str
    notices: tuple[str, ...]

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence."""
        return self.corpus.words


@pure("probes.treebank")
def read_treebank(spec: ProbeSpec, texts: Mapping[str, Text] | None = None) -> Treebank:
    """Read, parse where needed, split, and leave out what a model cannot read.

    Args:
        spec: The study.
        texts: Texts that came with the request (an upload), by CorpusRef.

    Raises:
        CorpusError: If a corpus cannot be read, has no heads where they were asked for, is too small to split, or
            has no edges to find.
        ModelError: If trees must come from a parser that is not there.
    """
    read = {
        part: read_text(ref, spec.genres, limit, (texts or {}).get(ref))
        for part, (ref, limit) in _sources(spec).items()
    }
    whole = Corpus(
        " ".join(dict.fromkeys(corpus.ref for corpus in read.values())),
        tuple(sentence for corpus in read.values() for sentence in corpus.sentences),
        tuple(dict.fromkeys(notice for corpus in read.values() for notice in corpus.notices)),
    )
    if spec.heads == "corpus" and not whole.has_heads:
        raise CorpusError(f"{whole.ref} has sentences without heads. Let a parser draw the trees, or use demo-gold.")
    parsed = spec.heads == "parser" or not whole.has_heads
    trees = parse_corpus(whole, spec.pipeline) if parsed else whole
    labels = [part for part, corpus in read.items() for _ in corpus.sentences]
    if not spec.given_splits:
        labels = [part_of(sentence.words) for sentence in whole.sentences]
    readable, notices = _readable(spec, [sentence.words for sentence in whole.sentences])
    parts: dict[str, list[Tree]] = {part: [] for part in PARTS}
    gold: list[Tree] = []
    for label, true, sentence, fits in zip(labels, whole.sentences, trees.sentences, readable, strict=True):
        if fits:
            parts[label].append(as_tree(sentence))
            if label == "test" and true.heads is not None:
                gold.append(replace(parts[label][-1], heads=true.heads))
    _check_parts(whole.ref, parts, split=not spec.given_splits)
    judged, parser, more = _judge(spec, gold if whole.has_heads else None, whole.ref)
    notices += [*more, *_remarks(parts)]
    frozen = {part: tuple(rows) for part, rows in parts.items()}
    return Treebank(frozen, trees, parsed, judged, parser, (*trees.notices, *notices))


def _check_parts(ref: str, parts: Mapping[str, list[Tree]], *, split: bool) -> None:
    """Refuse, before anything is trained, what nothing can be learned from or scored on."""
    every = [tree.words for rows in parts.values() for tree in rows]
    different = len(set(every))
    copies = f" Only {different} of its {len(every)} sentences differ, and copies fall into one part."
    for part, few in FEWEST.items():
        rows = parts[part]
        if len(rows) < few:
            why = copies if split and different < len(every) else ""
            raise CorpusError(
                f"{ref} leaves {len(rows)} sentences for {part}, and a probe needs {few}.{why} Use more text."
            )
        if all(sum(tree.keep) < 2 for tree in rows):
            raise CorpusError(
                f"No {part} sentence of {ref} has two words that are not punctuation, so there is no edge to find: "
                "use longer sentences."
            )


def _judge(spec: ProbeSpec, gold: list[Tree] | None, ref: str) -> tuple[tuple[Tree, ...] | None, str, list[str]]:
    """What the parser is scored on, its fingerprint, and what must be said about that."""
    from core.text.parsing import BOX, pipeline_fingerprint

    try:
        pipeline = pipeline_fingerprint(spec.pipeline)
        if gold is None:
            return tuple(as_tree(sentence) for sentence in read_corpus(OWN_GOLD).sentences), pipeline, []
    except (ModelError, CorpusError):
        return None, "", []  # no parser, or nothing to hold it against; see `make_notices`
    if ref.startswith(OWN_GOLD) and spec.pipeline == BOX:
        return tuple(gold), pipeline, []
    rules = "UD English EWT" if spec.pipeline == BOX else "its own training text"
    notice = (
        f"The parser's row holds {spec.pipeline}, which learned the head rules of {rules}, against the heads of {ref}: "
        "where that treebank attaches words by other rules, the row is too low."
    )
    return tuple(gold), pipeline, [notice]


def _remarks(parts: Mapping[str, list[Tree]]) -> list[str]:
    """What must be said of texts that overlap."""
    train = {tree.words for tree in parts["train"]}
    seen = {part: sum(tree.words in train for tree in parts[part]) for part in ("dev", "test")}
    names = {"dev": "development", "test": "test"}
    return [
        f"{count} of {len(parts[part])} {names[part]} sentences stand in the training text too: scores on them are "
        "not scores on new sentences."
        for part, count in seen.items()
        if count
    ]


def part_of(words: Sequence[str]) -> str:
    """The part of the 80/10/10 split that a sentence belongs to, by a hash of its words."""
    digest = hashlib.sha256("\x1f".join(words).encode("utf8", "surrogatepass")).digest()
    place = int.from_bytes(digest[:8], "big") % sum(SHARES.values())
    return "train" if place < SHARES["train"] else "dev" if place < SHARES["train"] + SHARES["dev"] else "test"


def as_tree(sentence: Sentence) -> Tree:
    """A sentence with heads as plain values."""
    assert sentence.heads is not None  # the callers parse what has none
    return Tree(sentence.words, sentence.heads, tuple(bool(mark) for mark in ~is_punctuation(sentence)))


def gold_of(trees: Sequence[Tree], heads: Sequence[Sequence[int]] | None = None) -> Gold:
    """True trees as the scores want them; `heads` in place of the trees' own (control trees)."""
    chosen = [tree.heads for tree in trees] if heads is None else heads
    return Gold(
        heads=chosen,
        distances=[tree_distances(row).astype(np.int16) for row in chosen],
        depths=[tree_depths(row).astype(np.int16) for row in chosen],
        keep=[np.array(tree.keep) for tree in trees],
    )


def _sources(spec: ProbeSpec) -> dict[str, tuple[str, int | None]]:
    """Part -> (CorpusRef, limit); one entry, called train, where the corpus is to be split."""
    if spec.given_splits:
        return {"train": (spec.train, spec.sentences), "dev": (spec.dev, None), "test": (spec.test, None)}
    return {"train": (spec.corpus, spec.sentences)}


def _readable(spec: ProbeSpec, sentences: Sequence[tuple[str, ...]]) -> tuple[np.ndarray, list[str]]:
    """Which sentences every model reads whole. A model that cannot be found fails in its own task, not here."""
    from core.vectors.activations import fitting

    mask = np.ones(len(sentences), dtype=bool)
    notices = []
    for ref in spec.probed:
        try:
            fits = fitting(ref, sentences)
        except ModelError:
            continue
        if not fits.all():
            notices.append(f"{int((~fits).sum())} sentences that {ref} cannot read whole are left out for every model.")
        mask &= fits
    return mask, notices
