"""Minimal pairs: as many as asked for, each once, counterbalanced, in words that are one token."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from core.studies.probes.minimal_pairs import words
from core.studies.probes.minimal_pairs.accuracy import correct
from core.studies.probes.minimal_pairs.templates import (
    KINDS,
    MOST,
    Pair,
    joined_groups,
    make_pairs,
    region_scores,
)
from tests import ROOT


def differing(pair: Pair) -> list[tuple[str, str]]:
    return [(good, bad) for good, bad in zip(pair.good, pair.bad, strict=True) if good != bad]


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_pairs_are_the_beginning_of_more(kind: str) -> None:
    every = make_pairs(kind, MOST)
    assert len(set(every)) == MOST
    assert make_pairs(kind, 20) == every[:20]
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
        assert pair.good[0] in ("No", "Few")
        assert pair.bad[0] not in ("No", "Few")
        assert "ever" in pair.good


@pytest.mark.parametrize("kind", KINDS)
def test_the_critical_region_is_what_the_rule_concerns(kind: str) -> None:
    for pair in make_pairs(kind, 100):
        inside, outside = pair.good[pair.region :], pair.good[: pair.region]
        if kind in ("agreement", "reflexive"):  # the word that differs must fit what precedes it
            assert outside == pair.bad[: pair.region]
            assert differing(pair) == [(pair.good[pair.region], pair.bad[pair.region])]
        else:  # what differs licenses words behind it, which are the same
            assert inside == pair.bad[pair.region :]
            assert len(inside) > 0 < len(differing(pair))
        if kind == "polarity":
            assert inside[0] == "ever"


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_one_contrast_are_a_group(kind: str) -> None:
    pairs, groups = make_pairs(kind, 100), joined_groups({kind: 100})
    assert len(set(groups)) == groups.max() + 1 == len({pair.contrast for pair in pairs})
    assert groups.max() >= 3, "an interval over groups needs some"
    for pair, group in zip(pairs, groups, strict=True):
        assert pair.contrast == pairs[int(np.flatnonzero(groups == group)[0])].contrast


def test_groups_of_several_kinds_are_apart() -> None:
    joined = joined_groups({"polarity": 100, "reflexive": 8})
    assert joined[:100].tolist() == joined_groups({"polarity": 100}).tolist()
    assert joined[100:].tolist() == [6, 7, 8, 9] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_only_knows_how_often_words_begin_sentences_guesses(kind: str) -> None:
    """Whole sentences of polarity pairs are decided by their first word, the region is not."""
    pairs = make_pairs(kind, 120)
    sides = [*(pair.good for pair in pairs), *(pair.bad for pair in pairs)]
    words = np.zeros((len(sides), max(map(len, sides))))
    words[:, 0] = [{"The": -1.0, "Some": -2.0, "Many": -3.0}.get(side[0], -4.0) for side in sides]
    good, bad = region_scores(words, pairs)
    assert correct(good, bad).mean() == 0.5
    whole = correct(words.sum(axis=1)[:120], words.sum(axis=1)[120:]).mean()
    assert whole == (0.0 if kind == "polarity" else 0.5)


def test_a_region_is_summed_to_the_end() -> None:
    pairs = make_pairs("determiner", 2)
    words = np.arange(4.0 * 9).reshape(4, 9)
    good, bad = region_scores(words, pairs)
    for place, pair in enumerate(pairs):
        assert good[place] == words[place, pair.region :].sum()
        assert bad[place] == words[2 + place, pair.region :].sum()


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
