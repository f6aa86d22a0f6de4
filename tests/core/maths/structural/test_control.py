"""Control trees are trees, depend on the type alone, and cannot be guessed from real ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.structural.control import RULES, control_heads, control_rule
from core.maths.trees import validate_heads
from core.models import load_tokenizer


def test_every_sentence_gets_a_tree_rooted_in_its_first_word() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        words = [f"w{rng.integers(50)}" for _ in range(rng.integers(1, 30))]
        keep = rng.random(len(words)) > 0.3
        heads = control_heads(words, keep)
        validate_heads(heads)
        assert heads.index(0) == (int(keep.argmax()) if keep.any() else 0)


def test_a_type_always_follows_its_rule() -> None:
    words = [f"w{i}" for i in range(40)]
    keep = np.ones(40, dtype=bool)
    heads = control_heads(words, keep)
    for i in range(2, 40):
        assert heads[i] - 1 == (i - 1, i - 2, 0)[control_rule(words[i])]


def test_rules_are_drawn_evenly_and_anew_for_another_seed() -> None:
    types = [f"type{i}" for i in range(3000)]
    counts = Counter(control_rule(word) for word in types)
    assert len(counts) == len(RULES)
    assert all(abs(count - 1000) < 120 for count in counts.values())
    for other in ({"seed": 1}, {"draw": 1}):
        agree = np.mean([control_rule(word) == control_rule(word, **other) for word in types])
        assert agree == pytest.approx(1 / 3, abs=0.05)


def test_an_uncased_model_tells_fewer_types_apart() -> None:
    words, keep = tuple(f"Word{i}" for i in range(30)), np.ones(30, dtype=bool)
    assert load_tokenizer("zoo:seed-0").forms([words]) == [tuple(word.lower() for word in words)]
    (lower,) = load_tokenizer("zoo:seed-0").forms([words])
    assert control_heads(lower, keep) != control_heads(words, keep)


def test_punctuation_is_skipped_and_never_a_head() -> None:
    words = ["a", ",", "b", ",", "c", "."]
    keep = np.array([True, False, True, False, True, False])
    heads = control_heads(words, keep)
    assert all(head == 0 or keep[head - 1] for head in heads)
    assert [heads[i] for i in (1, 3, 5)] == [1, 1, 1]


def test_odd_words_have_rules_and_odd_input_is_refused() -> None:
    assert control_rule("\udc80") in range(3)  # a lone surrogate, from a damaged file
    with pytest.raises(ShapeError, match="got 1 and 2"):
        control_heads(["a"], np.array([True, True]))
    with pytest.raises(ShapeError, match="got 0 and 0"):
        control_heads([], np.array([], dtype=bool))
