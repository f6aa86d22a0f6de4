"""The split: by word and by sentence."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.evaluation.scoring import rows_for
from core.maths.evaluation.split import SHARES, part_of, split_rows
from core.maths.maps.controls import Lookup

SENTENCES = tuple(
    ("The" if k % 2 else "the", f"word{k * 7 % 90}", "and", f"other{k % 60}") for k in range(200)
)
SENTENCE = np.repeat(np.arange(200), 4)
WORD = np.tile(np.arange(4), 200)


def test_a_part_is_a_function_of_the_words_in_the_right_shares() -> None:
    sentences = [(f"word{i}", "and", f"another{i * 7}") for i in range(4000)]
    parts = [part_of(words) for words in sentences]
    assert parts == [part_of(words) for words in sentences]
    for part, share in SHARES.items():
        assert parts.count(part) / 4000 == pytest.approx(share, abs=0.02)
    assert [part_of(words, 1) for words in sentences] != parts


def test_split_by_word_no_type_is_on_both_sides_whatever_its_case() -> None:
    parts = split_rows(SENTENCES, SENTENCE, WORD, "word", 0)
    spelled = np.array([SENTENCES[s][w].lower() for s, w in zip(SENTENCE, WORD, strict=True)])
    train, held, test = (set(spelled[rows]) for rows in (parts.train, parts.validation, parts.test))
    assert not train & test
    assert not train & held
    assert not held & test
    assert len(parts.train) + len(parts.validation) + len(parts.test) == len(SENTENCE)
    assert not parts.seen(parts.test).any()
    assert parts.seen(parts.train).all()


def test_split_by_sentence_a_word_is_seen_if_its_type_is_in_training() -> None:
    parts = split_rows(SENTENCES, SENTENCE, WORD, "sentence", 0)
    spelled = np.array([SENTENCES[s][w].lower() for s, w in zip(SENTENCE, WORD, strict=True)])
    assert not set(SENTENCE[parts.train]) & set(SENTENCE[parts.test])
    known = set(spelled[parts.train])
    assert parts.seen(parts.test).tolist() == [word in known for word in spelled[parts.test]]
    assert parts.seen(parts.test).any()
    assert set(parts.unit[parts.test]) == set(SENTENCE[parts.test])


def test_word_types_have_the_same_numbers_whatever_rows_are_left_out() -> None:
    some = np.flatnonzero(np.arange(len(WORD)) % 5 != 1)
    whole = split_rows(SENTENCES, SENTENCE, WORD, "word", 0)
    part = split_rows(SENTENCES, SENTENCE[some], WORD[some], "word", 0)
    assert (whole.types[some] == part.types).all()


def test_rows_of_whole_sentences_are_not_split_by_word() -> None:
    with pytest.raises(ShapeError, match="cannot be split by word"):
        split_rows(SENTENCES, np.arange(200), np.full(200, -1), "word", 0)
    parts = split_rows(SENTENCES, np.arange(200), np.full(200, -1), "sentence", 0)
    with pytest.raises(ShapeError, match="rows that are words"):
        rows_for(Lookup(), np.zeros((1, 200, 3)), parts.types)


def test_too_few_rows_are_a_sentence() -> None:
    with pytest.raises(ShapeError, match="needs 20"):
        split_rows(SENTENCES[:10], SENTENCE[:40], WORD[:40], "sentence", 0)
