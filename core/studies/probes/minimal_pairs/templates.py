"""Minimal pairs from templates: an acceptable sentence and one that breaks a single rule.

Five kinds are made, in the tradition of BLiMP. Forms are counterbalanced:
half of the pairs of a kind have a plural where the other half has a singular, so that a preference
for one word wins half of them. A noun between a word and what it agrees with has the other number.

What a pair tests is the critical region: the word that must fit the context before it and differs,
with all after it; or, where what differs licenses words behind it, these words, which both
sentences share. The words before it are scored in neither case: how probable "no" is as a first
word says nothing of negative polarity.

Reference: Warstadt et al. 2020, TACL, BLiMP (two-prefix method); Marvin & Linzen 2018, EMNLP; Hu,
Gauthier, Qian, Wilcox & Levy 2020, ACL, SyntaxGym (critical regions).
Deviations: templates and words are our own, so scores are not comparable with BLiMP's.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.runs.process.remembered import remembered
from core.studies.probes.minimal_pairs import words as lexicon
from core.studies.probes.minimal_pairs.words import PLURAL, SINGULAR

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
        good: The acceptable sentence, as words.
        bad: The unacceptable one.
        region: Place of the first word of the critical region.
    """

    good: Sentence
    bad: Sentence
    region: int

    @property
    def contrast(self) -> tuple[tuple[str, str], ...]:
        """The words that differ, each with its counterpart; pairs that share them are right or
        wrong together."""
        sides = zip(self.good, self.bad, strict=True)
        return tuple((good, bad) for good, bad in sides if good != bad)


@remembered(32)
def make_pairs(kind: str, count: int) -> tuple[Pair, ...]:
    """Make the first `count` pairs of a kind, at most MOST and each once; fewer are the beginning
    of more."""
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    pairs: dict[Pair, None] = {}
    while len(pairs) < count:
        pairs.setdefault(MAKERS[kind](rng, len(pairs)))
    return tuple(pairs)


def number_alike(contrasts: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number contrasts in the order in which they appear, equal ones alike."""
    numbers = {contrast: number for number, contrast in enumerate(dict.fromkeys(contrasts))}
    return np.array([numbers[contrast] for contrast in contrasts], dtype=np.int64)


def joined_groups(counts: Mapping[str, int]) -> NDArray[np.int64]:
    """Number the lexical groups of the pairs of several kinds, one kind after the other,
    (pair,)."""
    pairs = ((kind, pair) for kind, count in counts.items() for pair in make_pairs(kind, count))
    return number_alike([(kind, pair.contrast) for kind, pair in pairs])


def region_scores(
    words: NDArray[np.float64], pairs: Sequence[Pair]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum log-likelihoods of words over the critical regions of the good and of the bad sentences,
    (pair,) each, which stand one after the other in `words` (sentence, word)."""
    starts = np.array([pair.region for pair in pairs] * 2)
    inside = np.where(np.arange(words.shape[1]) >= starts[:, None], words, 0.0).sum(axis=1)
    return inside[: len(pairs)], inside[len(pairs) :]


def _agreement(rng: np.random.Generator, place: int) -> Pair:
    """The boy that the girls saw was | were happy."""
    number, clause = place % 2, place // 2 % 2
    subject, attractor = _two(rng, lexicon.PEOPLE)
    verb = _any(rng, lexicon.MEETING)
    between = ("the", attractor[1 - number])
    inside = (*between, verb) if clause else (verb, *between)
    if rng.random() < 1 / 3:
        forms, rest = lexicon.HAVE, _any(rng, lexicon.PARTICIPLES)
    else:
        forms, rest = _any(rng, lexicon.AUXILIARIES), _any(rng, lexicon.STATES)
    begin = ["the", subject[number], "that", *inside]
    good, bad = ([*begin, forms[place], rest] for place in (number, 1 - number))
    return _pair(good, bad, len(begin))


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
    good, bad = ([*begin, forms[place]] for place in (number, 1 - number))
    return _pair(good, bad, len(begin))


def _polarity(rng: np.random.Generator, place: int) -> Pair:
    """No boys that the girls saw had ever smiled | The boys that no girls saw had ever smiled."""
    negative, positive = lexicon.LICENSORS[place % len(lexicon.LICENSORS)]
    subject, inner = _two(rng, lexicon.PEOPLE)
    verb = _any(rng, lexicon.MEETING)
    simple = rng.random() < 1 / 2
    rest = [_any(rng, lexicon.PARTICIPLES)] if simple else ["been", _any(rng, lexicon.STATES)]
    good, bad = (
        [first, subject[PLURAL], "that", second, inner[PLURAL], verb, "had", "ever", *rest]
        for first, second in ((negative, positive), (positive, negative))
    )
    return _pair(good, bad, good.index("ever"))


def _determiner(rng: np.random.Generator, place: int) -> Pair:
    """The girl saw these | this old houses."""
    number, adjective = place % 2, place // 2 % 2
    begin = ["the", _any(rng, lexicon.PEOPLE)[int(rng.integers(2))], _any(rng, lexicon.MEETING)]
    forms = _any(rng, lexicon.DEMONSTRATIVES)
    end = [_any(rng, lexicon.ADJECTIVES)] if adjective else []
    end += [_any(rng, lexicon.THINGS)[number]]
    good, bad = ([*begin, forms[place], *end] for place in (number, 1 - number))
    return _pair(good, bad, len(begin) + 1)


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
        return _pair([*begin, without], [*begin, with_object], len(begin) + 1)
    if frame == 1:
        good, bad = (["the", person, verb, "the", noun] for verb in (with_object, without))
        return _pair(good, bad, 3)
    state = _any(rng, lexicon.ADJECTIVES)
    good, bad = (
        ["the", noun, "that", "the", person, verb, "was", state] for verb in (with_object, without)
    )
    return _pair(good, bad, 6)


MAKERS: dict[str, Callable[[np.random.Generator, int], Pair]] = {
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


def _pair(good: Sequence[str], bad: Sequence[str], region: int) -> Pair:
    """Write both as sentences: a capital at the beginning and a full stop at the end."""
    return Pair(_sentence(good), _sentence(bad), region)


def _sentence(words: Sequence[str]) -> Sentence:
    return (words[0].capitalize(), *words[1:], ".")
