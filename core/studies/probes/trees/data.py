"""Sentences with trees, split into training, development and test, the same for every model.

The split is fixed by a hash of the sentence's words, so that a sentence is always in the same part,
and never in two. Sentences too long for one model are left out for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from core.errors import CorpusError, ModelError, by_number
from core.maths.structural.scores import Gold
from core.maths.trees import tree_depths, tree_distances
from core.results.words import words_beside
from core.studies.probes.trees.spec import SHARES, SPLIT, ProbeSpec
from core.studies.task_kit import Value, pure
from core.text.corpora import Corpus, Sentence, is_punctuation, parse_corpus, read_corpus
from core.text.pipelines import foreign_notice
from core.text.reading import SENTENCE, Text, UnreadCorpus, read_text
from core.vectors.sinks import Positions, due, find_sinks, positions_of, record

PARTS = ("train", "dev", "test")
PartSizes = tuple[int, int, int]  # sentences of each
FEWEST = {"train": 20, "dev": 2, "test": 2}
NAMED = {"train": "training", "dev": "development", "test": "test"}
said = words_beside(__file__).sentence
OWN_GOLD = "demo-gold"  # the included hand-checked trees


@dataclass(frozen=True)
class Tree:
    """A sentence as probes use it, in plain values, which a task can take as arguments.

    Attributes:
        words: The sentence.
        heads: 1-based heads, 0 for the root.
        keep: Whether each word is part of the tree; punctuation and attention sinks are not.
        sinks: Positions of the attention sinks, which no probe is trained or scored on.
        labels: Dependency label of each word, "_" for none; empty where the text has no labels.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    keep: tuple[bool, ...]
    sinks: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()

    def without(self, sinks: tuple[int, ...]) -> Tree:
        """The tree, in which these words are left out as attention sinks."""
        keep = tuple(kept and place not in sinks for place, kept in enumerate(self.keep))
        return replace(self, keep=keep, sinks=sinks)


@dataclass(frozen=True)
class Trees:
    """Sentences with their trees as tasks take them: plain values, see `Tree`."""

    words: tuple[tuple[str, ...], ...]
    heads: tuple[tuple[int, ...], ...]
    keep: tuple[tuple[bool, ...], ...]

    @staticmethod
    def of(trees: Sequence[Tree]) -> Trees:
        """These trees."""
        words, heads, keep, sinks = (
            tuple(map(attrgetter(name), trees)) for name in ("words", "heads", "keep", "sinks")
        )
        return TreesAndSinks(words, heads, keep, sinks) if any(sinks) else Trees(words, heads, keep)

    @property
    def rows(self) -> list[Tree]:
        """The trees, one by one."""
        return [Tree(*row) for row in zip(*vars(self).values(), strict=True)]

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence, (sentence,)."""
        return np.array([len(words) for words in self.words])

    @property
    def sink_words(self) -> np.ndarray:
        """Which of all words are attention sinks, (word,)."""
        return np.array([at in tree.sinks for tree in self.rows for at in range(len(tree.words))])


@dataclass(frozen=True)
class TreesAndSinks(Trees):
    """Sentences with their trees, some of whose words are left out as attention sinks; kept apart,
    so that studies without any keep the keys of their tasks."""

    sinks: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Treebank:
    """The sentences on which a study trains and scores.

    Attributes:
        parts: "train", "dev" and "test" sentences.
        corpus: All of them, in order, with notices of sentences that were left out and of where the
            trees come from.
        parsed: Whether the trees are a parser's rather than the corpus's.
        judged: Sentences with gold heads on which the parser is scored: the test sentences, or the
            included hand-checked ones where these have none. None without a parser or gold heads.
        parser: Fingerprint of the parser's files; "" where there is none.
        sinks: Record of the attention sinks that were left out, see `core.vectors.sinks`; None if
            none was looked for.
        foreign: Why the parser's trees mean nothing on this text; "" where they mean something.
    """

    parts: Mapping[str, tuple[Tree, ...]]
    corpus: Corpus
    parsed: bool
    judged: tuple[Tree, ...] | None
    parser: str
    sinks: Value | None = None
    foreign: str = ""

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each sentence."""
        return self.corpus.words

    def in_words(self, trees: str, spec: ProbeSpec) -> str:
        """Say where a study's trees, as it calls them, come from, for a methods paragraph."""
        source = f"predicted by the parser {spec.pipeline}" if self.parsed else "from the treebank"
        train, dev, test = (len(self.parts[part]) for part in ("train", "dev", "test"))
        split = "as given" if spec.given_splits else f"{SPLIT} by a hash of the sentence"
        return (
            f"{trees} were {source} ({self.corpus.ref}; {train:,} training, {dev:,} development "
            f"and {test:,} test sentences, split {split}; the same for all models)."
        )


def _expected(sizes: Any, spec: ProbeSpec, **_: Any) -> Treebank:
    """Return as many trees as there are sentences, all alike."""
    count = UnreadCorpus.of(spec.train or spec.corpus, spec.genres, spec.sentences).count
    tree, held_out = as_tree(SENTENCE), max(1, count // 10)
    parts = {"train": (tree,) * (count - 2 * held_out)} | dict.fromkeys(
        PARTS[1:], (tree,) * held_out
    )
    return Treebank(parts, UnreadCorpus("", (SENTENCE,)), True, parts["test"], "parser")


@pure("probes.treebank", expect=_expected)
def read_treebank(
    spec: ProbeSpec, texts: Mapping[str, Text] | None = None, others: Sequence[str] = ()
) -> Treebank:
    """Read the text, parse it where needed, split it, and leave out sentences too long for a model
    and the attention sinks, also of `others`. Raises CorpusError if a text cannot be read or used,
    ModelError if a parser is missing."""
    read = {
        part: read_text(ref, spec.genres, limit, (texts or {}).get(ref), copies=True)
        for part, (ref, limit) in _sources(spec).items()
    }
    whole = Corpus(
        " ".join(dict.fromkeys(corpus.ref for corpus in read.values())),
        tuple(sentence for corpus in read.values() for sentence in corpus.sentences),
        tuple(dict.fromkeys(notice for corpus in read.values() for notice in corpus.notices)),
    )
    if spec.heads == "corpus" and not whole.has_heads:
        raise CorpusError(
            f"{whole.ref} has sentences without heads. "
            "Set Trees to auto or parser, or use demo-gold."
        )
    parsed = spec.heads == "parser" or not whole.has_heads
    trees = parse_corpus(whole, spec.pipeline) if parsed else whole
    labels = [part for part, corpus in read.items() for _ in corpus.sentences]
    if not spec.given_splits:
        labels = [part_of(sentence.words) for sentence in whole.sentences]
    readable, notices = _readable(spec, whole.words)
    positions, left_out = _find_sinks((*spec.probed, *others), spec.sinks, whole.words)
    parts: dict[str, list[Tree]] = {part: [] for part in PARTS}
    gold: list[Tree] = []
    for label, true, sentence, fits, sinks in zip(
        labels, whole.sentences, trees.sentences, readable, positions, strict=True
    ):
        if fits:
            parts[label].append(as_tree(sentence).without(sinks))
            if label == "test" and true.heads is not None:
                gold.append(replace(as_tree(true), keep=parts[label][-1].keep, sinks=sinks))
    _check_parts(whole.ref, parts, split=not spec.given_splits)
    judged, parser, more = _judge(spec, gold if whole.has_heads else None, whole.ref)
    notices += [*more, *_overlaps(parts)]
    frozen = {part: tuple(rows) for part, rows in parts.items()}
    foreign = foreign_notice(whole.words) if parsed else ""
    noted = replace(trees, notices=(*trees.notices, *notices))
    return Treebank(frozen, noted, parsed, judged, parser, left_out, foreign)


def _check_parts(ref: str, parts: Mapping[str, list[Tree]], *, split: bool) -> None:
    """Refuse, before any training, parts on which no probe can be trained or scored."""
    every = [tree.words for rows in parts.values() for tree in rows]
    different = len(set(every))
    copies = (
        f" Only {different} of its {len(every)} sentences are different, "
        "and copies are in one part."
    )
    for part, few in FEWEST.items():
        rows = parts[part]
        if len(rows) < few:
            why = copies if split and different < len(every) else ""
            sentences = by_number(len(rows), "sentence", "sentences")
            raise CorpusError(
                f"{ref} has {len(rows)} {sentences} in the {NAMED[part]} part; "
                f"a probe needs at least {few}.{why} Use more text, or more of its sentences."
            )
        if all(sum(tree.keep) < 2 for tree in rows):
            raise CorpusError(
                f"No {NAMED[part]} sentence of {ref} has two words that are not punctuation, "
                "so there is no edge to predict. Use longer sentences."
            )


def _judge(
    spec: ProbeSpec, gold: list[Tree] | None, ref: str
) -> tuple[tuple[Tree, ...] | None, str, list[str]]:
    """The sentences on which the parser is scored, its fingerprint, and a notice about them."""
    from core.text.pipelines import BOX, pipeline_fingerprint

    try:
        pipeline = pipeline_fingerprint(spec.pipeline)
        if gold is None:
            return tuple(map(as_tree, read_corpus(OWN_GOLD).sentences)), pipeline, []
    except (ModelError, CorpusError):
        return None, "", []  # no parser or no gold heads; `notice_of` has a sentence for it
    if ref.startswith(OWN_GOLD) and spec.pipeline == BOX:
        return tuple(gold), pipeline, []
    rules = "UD English EWT" if spec.pipeline == BOX else "its own training text"
    return tuple(gold), pipeline, [said("rules", parser=spec.pipeline, rules=rules, text=ref)]


def _overlaps(parts: Mapping[str, list[Tree]]) -> list[str]:
    """A notice for each part that shares sentences with the training part."""
    train = {tree.words for tree in parts["train"]}
    seen = {part: sum(tree.words in train for tree in parts[part]) for part in ("dev", "test")}
    return [
        said("overlap", count=count, size=len(parts[part]), part=NAMED[part])
        for part, count in seen.items()
        if count
    ]


def part_of(words: Sequence[str]) -> str:
    """The part of the 80/10/10 split to which a sentence belongs, by a hash of its words."""
    digest = hashlib.sha256("\x1f".join(words).encode("utf8", "surrogatepass")).digest()
    place = int.from_bytes(digest[:8], "big") % sum(SHARES.values())
    return PARTS[(place >= SHARES["train"]) + (place >= SHARES["train"] + SHARES["dev"])]


def as_tree(sentence: Sentence) -> Tree:
    """A sentence with heads as plain values."""
    assert sentence.heads is not None  # callers parse sentences without heads
    keep = tuple(bool(mark) for mark in ~is_punctuation(sentence))
    return Tree(sentence.words, sentence.heads, keep, labels=sentence.deprel or ())


def gold_of(trees: Sequence[Tree], heads: Sequence[Sequence[int]] | None = None) -> Gold:
    """Gold trees for the scores; with `heads` in place of the trees' own, control trees."""
    heads = [tree.heads for tree in trees] if heads is None else heads
    distances = [tree_distances(row).astype(np.int16) for row in heads]
    depths = [tree_depths(row).astype(np.int16) for row in heads]
    for number, tree in enumerate(trees):
        sinks = list(tree.sinks)
        distances[number][sinks] = distances[number][:, sinks] = depths[number][sinks] = -1
    return Gold(heads, distances, depths, [np.array(tree.keep) for tree in trees])


def _sources(spec: ProbeSpec) -> dict[str, tuple[str, int | None]]:
    """Part -> (CorpusRef, limit); a single entry "train" where the corpus is to be split."""
    if spec.given_splits:
        return {
            "train": (spec.train, spec.sentences),
            "dev": (spec.dev, None),
            "test": (spec.test, None),
        }
    return {"train": (spec.corpus, spec.sentences)}


def _readable(
    spec: ProbeSpec, sentences: Sequence[tuple[str, ...]]
) -> tuple[np.ndarray, list[str]]:
    """Which sentences every model reads whole. A model not found fails in its own task."""
    from core.vectors.activations import fitting

    mask = np.ones(len(sentences), dtype=bool)
    notices = []
    for ref in spec.probed:
        try:
            fits = fitting(ref, sentences)
        except ModelError:
            continue
        if not fits.all():
            count = int((~fits).sum())
            are = by_number(count, "is", "are")
            noun = by_number(count, "sentence", "sentences")
            notices.append(said("unread", count=count, noun=noun, are=are, model=ref))
        mask &= fits
    return mask, notices


def _find_sinks(
    refs: Sequence[str], choice: str, sentences: Sequence[tuple[str, ...]]
) -> tuple[Positions, Value | None]:
    """Attention sinks of any model, left out for all. A model not found fails in its own task."""
    sinks = []
    for ref in dict.fromkeys(refs):
        try:
            if due(ref, choice):
                sinks.append(find_sinks(ref, sentences))
        except ModelError:
            continue
    positions = positions_of(sinks, len(sentences))
    left = sum(map(len, positions))
    return positions, record(sinks, left, sum(map(len, sentences))) if sinks else None
