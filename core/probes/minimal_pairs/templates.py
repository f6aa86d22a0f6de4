"""Minimal pairs from templates: an acceptable sentence and one that breaks a single rule.

Five kinds are made, in the tradition of BLiMP. Forms are counterbalanced:
half of the pairs of a kind have a plural where the other half has a singular, so that a preference
for one word wins half of them. A noun between a word and what it agrees with has the other number.

Reference: Warstadt et al. 2020, TACL, BLiMP; Marvin & Linzen 2018, EMNLP.
Deviations: templates and words are our own, so scores are not comparable with BLiMP's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from core.probes.minimal_pairs import words as lexicon
from core.probes.minimal_pairs.words import PLURAL, SINGULAR

MOST = 500  # pairs of a kind
KINDS = {
    "agreement": "agreement of a verb with its subject across a relative clause",
    "reflexive": "agreement of a reflexive pronoun with its antecedent across a relative clause",
    "polarity": "a negative polarity item (ever) with and without negation above it",
    "determiner": "agreement of a determiner with its noun, often across an adjective",
    "arguments": "verbs that need an object and verbs that take none",
}
Item = TypeVar("Item")
Sentence = tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """A minimal pair.

    Attributes:
        kind: One of KINDS.
        good: The acceptable sentence, as words.
        bad: The unacceptable one.
    """

    kind: str
    good: Sentence
    bad: Sentence


def make_pairs(kind: str, count: int) -> tuple[Pair, ...]:
    """Make the first `count` pairs of a kind, each once; fewer are the beginning of more.

    Args:
        kind: One of KINDS.
        count: At most MOST.

    Example:
        >>> pair = make_pairs("determiner", 1)[0]
        >>> len(pair.good) == len(pair.bad)
        True
    """
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    pairs: dict[Pair, None] = {}
    while len(pairs) < count:
        pairs.setdefault(MAKERS[kind](rng, len(pairs)))
    return tuple(pairs)


def _agreement(rng: np.random.Generator, place: int) -> Pair:
    """The boy that the girls saw was | were happy."""
    number, clause = place % 2, place // 2 % 2
    subject, attractor = _two(rng, lexicon.PEOPLE)
    verb = _any(rng, lexicon.MEETING)
    inside = [verb, "the", attractor[1 - number]]
    if clause:
        inside = ["the", attractor[1 - number], verb]
    if rng.random() < 1 / 3:
        forms, rest = lexicon.HAVE, _any(rng, lexicon.PARTICIPLES)
    else:
        forms, rest = _any(rng, lexicon.AUXILIARIES), _any(rng, lexicon.STATES)
    begin = ["the", subject[number], "that", *inside]
    return _pair("agreement", [*begin, forms[number], rest], [*begin, forms[1 - number], rest])


def _reflexive(rng: np.random.Generator, place: int) -> Pair:
    """The boys that the girl knew hurt themselves | herself."""
    number, women = place % 2, place // 2 % 2
    same, different = (lexicon.WOMEN, lexicon.MEN) if women else (lexicon.MEN, lexicon.WOMEN)
    singular = "herself" if women else "himself"
    # A singular antecedent has the pronoun's gender, and so has a singular noun in between.
    nouns = (same, different) if number == SINGULAR else (different, same)
    subject, attractor = (_any(rng, group) for group in nouns)
    begin = ["the", subject[number], "that", "the", attractor[1 - number]]
    begin += [_any(rng, lexicon.MEETING), _any(rng, lexicon.HARMING)]
    forms = (singular, lexicon.THEMSELVES)
    return _pair("reflexive", [*begin, forms[number]], [*begin, forms[1 - number]])


def _polarity(rng: np.random.Generator, place: int) -> Pair:
    """No boy that the girls saw had ever smiled | The boy that no girls saw had ever smiled."""
    number = place % 2
    subject, inner = _two(rng, lexicon.PEOPLE)
    verb = _any(rng, lexicon.MEETING)
    end = ["had", "ever"]
    end += (
        [_any(rng, lexicon.PARTICIPLES)]
        if rng.random() < 1 / 2
        else ["been", _any(rng, lexicon.STATES)]
    )
    good = ["no", subject[number], "that", "the", inner[PLURAL], verb, *end]
    bad = ["the", subject[number], "that", "no", inner[PLURAL], verb, *end]
    return _pair("polarity", good, bad)


def _determiner(rng: np.random.Generator, place: int) -> Pair:
    """The girl saw these | this old houses."""
    number, adjective = place % 2, place // 2 % 2
    begin = ["the", _any(rng, lexicon.PEOPLE)[int(rng.integers(2))], _any(rng, lexicon.MEETING)]
    forms = _any(rng, lexicon.DEMONSTRATIVES)
    end = [_any(rng, lexicon.ADJECTIVES)] if adjective else []
    end += [_any(rng, lexicon.THINGS)[number]]
    return _pair("determiner", [*begin, forms[number], *end], [*begin, forms[1 - number], *end])


def _arguments(rng: np.random.Generator, place: int) -> Pair:
    """The boy took | smiled the book; the girl smiled | took; the book that the boy took | smiled
    was old."""
    person = _any(rng, lexicon.PEOPLE)[int(rng.integers(2))]
    noun = _any(rng, lexicon.THINGS)[SINGULAR]
    with_object, without = _any(rng, lexicon.NEEDS_OBJECT), _any(rng, lexicon.TAKES_NO_OBJECT)
    frame = place % 4
    if frame in (0, 2):  # as many intransitive sentences as transitive ones
        meeting, guest = _any(rng, lexicon.MEETING), _any(rng, lexicon.PEOPLE)[SINGULAR]
        begin = ["the", person, "that", meeting, "the", guest]
        return _pair("arguments", [*begin, without], [*begin, with_object])
    if frame == 1:
        good, bad = (["the", person, verb, "the", noun] for verb in (with_object, without))
        return _pair("arguments", good, bad)
    state = _any(rng, lexicon.ADJECTIVES)
    good, bad = (
        ["the", noun, "that", "the", person, verb, "was", state] for verb in (with_object, without)
    )
    return _pair("arguments", good, bad)


Maker = Callable[[np.random.Generator, int], Pair]
MAKERS: dict[str, Maker] = {
    "agreement": _agreement,
    "reflexive": _reflexive,
    "polarity": _polarity,
    "determiner": _determiner,
    "arguments": _arguments,
}


def _any(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    """Draw one of several items."""
    return items[int(rng.integers(len(items)))]


def _two(rng: np.random.Generator, items: Sequence[Item]) -> tuple[Item, Item]:
    """Draw two different items."""
    first, second = rng.choice(len(items), 2, replace=False)
    return items[int(first)], items[int(second)]


def _pair(kind: str, good: Sequence[str], bad: Sequence[str]) -> Pair:
    """Write both as sentences: a capital at the beginning and a full stop at the end."""
    return Pair(kind, _sentence(good), _sentence(bad))


def _sentence(words: Sequence[str]) -> Sentence:
    return (words[0].capitalize(), *words[1:], ".")
