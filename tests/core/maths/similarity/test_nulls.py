"""The null that pairs sentences: what it keeps together, and how often independent spaces exceed
it."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.similarity.nulls import pair_sentences
from core.maths.similarity.registry import get_measure
from core.maths.statistics import interval


def test_sentences_of_one_length_stay_whole_and_in_order_and_meet_another() -> None:
    sentence = np.random.default_rng(0).permutation(np.repeat([7, 3, 9, 1, 5], 4))
    kept, orders = pair_sentences(sentence, 50, np.random.default_rng(1))
    assert sorted(kept) == list(range(20))
    assert orders.shape == (50, 20)
    met = set()
    for order in orders:
        assert sorted(order) == list(range(20))
        for label in np.unique(sentence):
            partners = kept[order][sentence[kept] == label]
            assert len(set(sentence[partners])) == 1
            assert sentence[partners[0]] != label
            assert (np.diff(partners) > 0).all(), "words in their order"
            met.add((label, sentence[partners[0]]))
    assert len(met) == 20, "every sentence meets every other one"


@pytest.mark.parametrize("count", [2, 4, 6, 7])
def test_the_sentences_of_one_length_go_round_in_one_cycle(count: int) -> None:
    """Two meet each other; among more nobody who is met by another meets that one in turn."""
    sentence = np.repeat(np.arange(count), 3)
    kept, orders = pair_sentences(sentence, 20, np.random.default_rng(5))
    for order in orders:
        partner = dict(zip(sentence[kept], sentence[kept[order]], strict=True))
        here, visited = 0, []
        while here not in visited:
            visited.append(here)
            here = partner[here]
        assert (here, len(visited)) == (0, count)


def test_sentences_of_rare_lengths_are_cut_to_the_shortest_of_their_group() -> None:
    sizes = [2, 2, 2, 2, 2, 3, 3, 3, 3, 5, 8, 9]
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    kept, orders = pair_sentences(sentence, 20, np.random.default_rng(2))
    assert np.bincount(sentence[kept]).tolist() == [2] * 5 + [3] * 7, (
        "9, 8, 5 and all of 3 are one group"
    )
    for order in orders:
        partners = sentence[kept[order]].reshape(-1)
        for label in range(12):
            met = set(partners[sentence[kept] == label])
            assert len(met) == 1
            assert label not in met
            assert (met.pop() < 5) == (label < 5)
    few, _ = pair_sentences(np.repeat([0, 1], [2, 3]), 3, np.random.default_rng(2))
    assert few.tolist() == [2, 3, 0, 1] or few.tolist() == [0, 1, 2, 3]
    rest, _ = pair_sentences(np.repeat(np.arange(5), [3, 3, 3, 3, 1]), 3, np.random.default_rng(2))
    assert sorted(rest) == list(range(12)), "one that is left alone has nobody to meet"


@pytest.mark.parametrize("sentence", [np.zeros(9, dtype=int), np.arange(9)])
def test_one_sentence_or_items_that_are_sentences_are_paired_freely(sentence: np.ndarray) -> None:
    kept, orders = pair_sentences(sentence, 30, np.random.default_rng(3))
    assert kept.tolist() == list(range(9))
    assert all(sorted(order) == list(range(9)) for order in orders)
    assert len({tuple(order) for order in orders}) > 25
    assert {int(order[0]) for order in orders} == set(range(9))


def _sharing(
    rng: np.random.Generator, sentences: int = 50
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two spaces that have nothing in common but which words share a sentence."""
    sentence = np.repeat(np.arange(sentences), rng.binomial(rng.integers(4, 25, sentences), 0.4))
    x, y = (
        rng.standard_normal((sentences, 16))[sentence] + rng.standard_normal((len(sentence), 16))
        for _ in range(2)
    )
    return x, y, sentence


@pytest.mark.slow
def test_independent_spaces_that_share_sentences_exceed_the_null_of_sentences_rarely_and_of_words_always() -> (
    None
):
    rng = np.random.default_rng(4)
    measure = get_measure("rsa")
    exceeds = {"words": 0, "sentences": 0}
    replicates = 60
    for _ in range(replicates):
        x, y, sentence = _sharing(rng)
        freely = np.array([rng.permutation(len(x)) for _ in range(60)])
        for name, (kept, orders) in (
            ("words", (np.arange(len(x)), freely)),
            ("sentences", pair_sentences(sentence, 60, rng)),
        ):
            exceeds[name] += (
                measure.similarity(x, y) > interval(measure.null_of(x[kept], y[kept], orders))[1]
            )
    assert exceeds["words"] >= 0.95 * replicates
    assert exceeds["sentences"] <= 0.12 * replicates
