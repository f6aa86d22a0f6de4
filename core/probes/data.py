"""Sentences with trees, split three ways, the same for every model that is probed.

A split is fixed by a hash of the sentence's words, so that a sentence falls into the same part whatever stands
round it, and never into two. Sentences that one model cannot read whole are left out for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import CorpusError
from core.probes.scores import Gold
from core.probes.spec import ProbeSpec
from core.text.corpora import Corpus, Sentence, is_punctuation, parse_corpus, read_corpus
from core.text.trees import tree_depths, tree_distances

PARTS = ("train", "dev", "test")
FEWEST = {"train": 20, "dev": 2, "test": 2}
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
class Treebank:
    """What a study trains and scores on.

    Attributes:
        parts: "train", "dev" and "test" sentences.
        corpus: All of them, in order, for the record of where numbers come from.
        parsed: Whether the trees are a parser's rather than the corpus's.
        gold_heads: For the test sentences the corpus's own heads, where it has them and the trees are a parser's.
        notices: What was left out, and whose trees these are.
    """

    parts: Mapping[str, tuple[Tree, ...]]
    corpus: Corpus
    parsed: bool
    gold_heads: tuple[tuple[int, ...], ...] | None
    notices: tuple[str, ...]


def read_treebank(spec: ProbeSpec, corpora: Mapping[str, Corpus] | None = None) -> Treebank:
    """Read, parse where needed, split, and leave out what a model cannot read.

    Args:
        spec: The study.
        corpora: Corpora already read (an upload), by CorpusRef.

    Raises:
        CorpusError: If a corpus cannot be read, has no heads where they were asked for, or is too small to split.
        ModelError: If trees must come from a parser that is not there.
    """
    read = {part: _read(ref, limit, spec.genres, corpora) for part, (ref, limit) in _sources(spec).items()}
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
    gold: list[tuple[int, ...]] = []
    for label, true, sentence, fits in zip(labels, whole.sentences, trees.sentences, readable, strict=True):
        if fits:
            parts[label].append(as_tree(sentence))
            if label == "test" and true.heads is not None:
                gold.append(true.heads)
    for part, few in FEWEST.items():
        if len(parts[part]) < few:
            raise CorpusError(
                f"{whole.ref} leaves {len(parts[part])} sentences for {part}, and a probe needs {few}. Use more text."
            )
    frozen = {part: tuple(rows) for part, rows in parts.items()}
    known = tuple(gold) if parsed and whole.has_heads else None
    return Treebank(frozen, trees, parsed, known, (*trees.notices, *notices))


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
        return {"train": (spec.train, spec.limit), "dev": (spec.dev, None), "test": (spec.test, None)}
    return {"train": (spec.corpus, spec.limit)}


def _read(ref: str, limit: int | None, genres: Sequence[str], corpora: Mapping[str, Corpus] | None) -> Corpus:
    if corpora and ref in corpora:
        known = corpora[ref]
        chosen = [sentence for sentence in known.sentences if not genres or sentence.genre in genres]
        return Corpus(known.ref, tuple(chosen[:limit]), known.notices)
    return read_corpus(ref, limit=limit, genres=genres)


def _readable(spec: ProbeSpec, sentences: Sequence[tuple[str, ...]]) -> tuple[np.ndarray, list[str]]:
    """Which sentences every model reads whole. A model that cannot be found fails in its own task, not here."""
    from core.errors import ModelError
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
