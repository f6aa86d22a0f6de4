"""Minimal pairs: as many as asked for, each once, counterbalanced, in words that are one token."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from core.probes.minimal_pairs import words
from core.probes.minimal_pairs.templates import KINDS, MOST, Pair, make_pairs
from tests import ROOT


def differing(pair: Pair) -> list[tuple[str, str]]:
    return [(good, bad) for good, bad in zip(pair.good, pair.bad, strict=True) if good != bad]


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_pairs_are_the_beginning_of_more(kind: str) -> None:
    every = make_pairs(kind, MOST)
    assert len(set(every)) == MOST
    assert make_pairs(kind, 20) == every[:20]
    assert {pair.kind for pair in every} == {kind}
    assert all(pair.good != pair.bad for pair in every)
    assert all(side[0][0].isupper() for pair in every for side in (pair.good, pair.bad))


@pytest.mark.parametrize("kind", ["agreement", "reflexive", "determiner", "arguments"])
def test_a_preference_for_a_word_wins_half_of_the_pairs(kind: str) -> None:
    """Each form is right as often as wrong, so a model that only likes one form is at chance."""
    right, wrong = Counter[str](), Counter[str]()
    for pair in make_pairs(kind, 400):
        ((good, bad),) = differing(pair)
        right[good] += 1
        wrong[bad] += 1
    number = {form: place for forms in (*words.AUXILIARIES, words.HAVE, *words.DEMONSTRATIVES)
              for place, form in enumerate(forms)}  # fmt: skip
    number |= {"himself": 0, "herself": 0, "themselves": 1}
    number |= dict.fromkeys(words.NEEDS_OBJECT, 0) | dict.fromkeys(words.TAKES_NO_OBJECT, 1)
    for counts in (right, wrong):
        by_number = Counter[int]()
        for form, count in counts.items():
            by_number[number[form]] += count
        assert by_number == {0: 200, 1: 200}


def test_both_sides_of_a_polarity_pair_have_the_same_words() -> None:
    for pair in make_pairs("polarity", 200):
        folded = [Counter(word.lower() for word in side) for side in (pair.good, pair.bad)]
        assert folded[0] == folded[1]
        assert pair.good[0] == "No"
        assert "ever" in pair.good


def test_a_noun_in_between_has_the_other_number() -> None:
    number = {form: place for noun in words.PEOPLE for place, form in enumerate(noun)}
    for kind in ("agreement", "reflexive"):
        for pair in make_pairs(kind, 200):
            nouns = [number[word] for word in pair.good if word in number]
            assert len(nouns) == 2
            assert nouns[0] != nouns[1]


def test_a_singular_reflexive_has_its_antecedents_gender() -> None:
    genders = {men[0]: "himself" for men in words.MEN} | {
        women[0]: "herself" for women in words.WOMEN
    }
    for pair in make_pairs("reflexive", 200):
        ((good, bad),) = differing(pair)
        singular = next(word for word in pair.good if word in genders)
        assert genders[singular] in (good, bad)


def test_every_word_is_one_token_of_the_included_tokenizer() -> None:
    tokenizer = json.loads((ROOT / "zoo" / "tokenizer" / "tokenizer.json").read_text("utf8"))
    vocabulary = tokenizer["model"]["vocab"]
    used = {
        word.lower()
        for kind in KINDS
        for pair in make_pairs(kind, MOST)
        for word in (*pair.good, *pair.bad)
    }
    assert used <= set(vocabulary)
