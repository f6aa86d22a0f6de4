"""The static window equals a slow loop over words, at sentences' ends, with words left out and in
any order."""

from unittest import mock

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.progress import LISTENER
from core.vectors.window import REACHES, of_best_reach, places_in, static_window


def slow(vectors, sentence, word, reach):
    at = {(s, w): row for row, (s, w) in enumerate(zip(sentence, word, strict=True))}
    nothing = np.zeros(vectors.shape[1])
    rows = []
    for s, w in zip(sentence, word, strict=True):
        near = [at.get((s, w + place)) for place in places_in(reach)]
        rows.append(np.concatenate([nothing if row is None else vectors[row] for row in near]))
    return np.array(rows)


@pytest.mark.parametrize("reach", [0, 1, 2, 3])
def test_it_equals_the_loop(reach):
    rng = np.random.default_rng(reach)
    pairs = [(s, w) for s in range(9) for w in range(int(rng.integers(1, 7))) if rng.random() > 0.2]
    rng.shuffle(pairs)
    sentence, word = np.array(pairs).T
    vectors = rng.normal(size=(len(pairs), 3))
    np.testing.assert_array_equal(
        static_window(vectors, sentence, word, reach), slow(vectors, sentence, word, reach)
    )


def test_a_narrow_window_begins_a_wide_one():
    rng = np.random.default_rng(0)
    sentence, word, vectors = (
        np.zeros(5, int),
        np.arange(5),
        rng.normal(size=(5, 4)).astype(np.float32),
    )
    wide = static_window(vectors, sentence, word, 2)
    np.testing.assert_array_equal(wide[:, : 3 * 4], static_window(vectors, sentence, word, 1))
    np.testing.assert_array_equal(wide[:, :4], vectors)
    assert wide.dtype == np.float32


def test_whole_sentences_have_no_window():
    with pytest.raises(ShapeError, match="words"):
        static_window(np.zeros((2, 3)), np.arange(2), np.full(2, -1), 1)


def test_progress_rises_through_the_reaches_that_are_tried() -> None:
    heard = mock.Mock()
    heard.part.return_value = heard
    token = LISTENER.set(heard)
    try:
        of_best_reach(np.ones((3, 1)), np.array([3]), lambda window: 0.0)
    finally:
        LISTENER.reset(token)
    ends = [end for call in heard.part.call_args_list for end in call.args]
    assert ends == sorted(ends)
    assert (ends[0], ends[-1], len(set(ends))) == (0, 1, len(REACHES) + 1)
