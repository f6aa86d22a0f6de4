"""The bigram baseline: probabilities add up to 1, and those of a hand-counted text."""

from __future__ import annotations

from math import log

import pytest

from core.studies.probes.minimal_pairs.bigrams import Bigrams

TEXT = ([-1, 3, 4, 3, 4], [-1, 3, 5])


def test_probabilities_after_any_token_add_up_to_1() -> None:
    bigrams = Bigrams(TEXT, vocabulary=4)
    assert bigrams.tokens == 6
    for before in (-1, 3, 4, 5, 9):
        assert sum(bigrams.chance(before, token) for token in (3, 4, 5, 6)) == pytest.approx(1.0)


def test_a_pair_that_was_counted_is_weighed_with_its_single_token() -> None:
    bigrams = Bigrams(TEXT, vocabulary=4)
    single = (2 + 1) / (6 + 4)  # 4 stands twice
    assert bigrams.chance(3, 4) == pytest.approx((2 + 2 * single) / (3 + 2))
    assert bigrams.chance(5, 4) == pytest.approx(single), "nothing ever followed 5"
    assert bigrams.score([-1, 3, 4]) == pytest.approx(
        [log(bigrams.chance(-1, 3)), log(bigrams.chance(3, 4))]
    )
