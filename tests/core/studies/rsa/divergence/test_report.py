"""Tables of output divergence: means and bands, groups of words, correlations of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.maths.ranks import correlate
from core.maths.similarity.scoring import mean_band
from core.maths.statistics import jackknife_interval
from core.studies.rsa.divergence import tasks
from core.studies.rsa.divergence.report import (
    ALL,
    COUNTS,
    TAGS,
    divergence_rows,
    frequency,
    gap_row,
    groups_of,
)
from core.studies.rsa.divergence.tasks import row_changes

SENTENCES = tuple(("the", "cat", "sat") for _ in range(25))
RNG = np.random.default_rng(0)


def value(js: np.ndarray) -> dict[str, Any]:
    """An output of `compare_predictions` with this divergence."""
    count = len(js)
    names = ("kl", "reverse_kl", "chance", "surprisal", "base_surprisal", "agree")
    columns = {name: np.full(count, float(number)) for number, name in enumerate(names)}
    return {
        "sentence": np.repeat(np.arange(count // 3), 3),
        "word": np.tile(np.arange(3), count // 3),
        "js": js,
        **columns,
    }


def test_words_are_grouped_by_tag_and_by_how_often_they_occur() -> None:
    assert [frequency(times) for times in (1, 2, 4, 5, 19, 20)] == [
        "once",
        *["2 to 4 times"] * 2,
        *["5 to 19 times"] * 2,
        "20 times and more",
    ]
    groups = groups_of((("The", "cat"), ("the", "dog")), ("DET", "NOUN", "DET", "NOUN"))
    assert groups[0, 0][1] == groups[1, 0][1] == "2 to 4 times"
    assert groups[1, 1][0] == "NOUN"
    assert groups_of((("a",),), ()) == {(0, 0): ("", "once")}


def test_a_group_s_row_is_the_mean_of_its_words() -> None:
    js = RNG.uniform(size=75)
    groups = groups_of(SENTENCES, ("DET", "NOUN", "VERB") * 25)
    rows = divergence_rows("m", "compared", value(js), groups)
    by = {(row["by"], row["words"]): row for row in rows}
    assert set(by) == {
        (ALL, ALL),
        *((TAGS, tag) for tag in ("DET", "NOUN", "VERB")),
        (COUNTS, "20 times and more"),
    }
    assert by[TAGS, "NOUN"]["js"] == pytest.approx(js[1::3].mean())
    assert by[TAGS, "NOUN"]["items"] == 25
    assert by[TAGS, "NOUN"]["low"] < js[1::3].mean() < by[TAGS, "NOUN"]["high"]
    assert by[ALL, ALL]["agreement"] == 5.0
    few = divergence_rows("m", "compared", value(js[:30]), groups)
    assert [row["by"] for row in few] == [ALL, COUNTS], "10 words of a tag are too few"


def test_chance_is_of_the_words_that_have_one() -> None:
    made = value(RNG.uniform(size=75))
    made["chance"][:5] = np.nan  # alone in their batches
    whole = divergence_rows("m", "compared", made, groups_of(SENTENCES, ()))[0]
    assert whole["chance_js"] == 2.0
    made["chance"][:] = np.nan
    none = divergence_rows("m", "compared", made, groups_of(SENTENCES, ()))[0]
    assert np.isnan(none["chance_js"])


def test_a_band_is_a_jackknife_over_sentences() -> None:
    rng = np.random.default_rng(5)
    numbers, sentence = rng.normal(size=12), np.repeat([3, 5, 6, 9], 3)
    means = [numbers[sentence != left_out].mean() for left_out in (3, 5, 6, 9)]
    expected = jackknife_interval(float(numbers.mean()), means)
    assert mean_band(numbers, sentence) == pytest.approx(expected)
    rho, low, high = correlate(numbers, numbers**3 + rng.normal(size=12), sentence)
    assert -1.0 <= low <= rho <= high <= 1.0
    skewed = np.exp(numbers)
    low, high = mean_band(skewed, sentence, positive=True)
    assert 0 < low < skewed.mean() < high
    assert mean_band(0 * numbers, sentence, positive=True) == (0.0, 0.0)


def test_one_sentence_has_no_band() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 12))
    sentence = np.full(12, 1)
    assert np.isnan(mean_band(x, sentence)).all()
    rho, *band = correlate(x, y, sentence)
    assert rho == pytest.approx(spearmanr(x, y).statistic)
    assert np.isnan(band).all()


def test_a_gap_is_over_the_words_that_both_have() -> None:
    js = RNG.uniform(size=75)
    mine, theirs = value(js), value(js - 0.25)
    theirs = {name: column[3:] for name, column in theirs.items()}
    gap = gap_row("m", "n", mine, theirs)
    assert gap is not None
    assert [gap["difference"], gap["low"], gap["high"]] == pytest.approx([0.25] * 3)
    assert gap_row("m", "n", mine, value(js[:0])) is None


def test_the_correlation_is_spearmans_and_within_groups_a_difference_of_groups_is_none() -> None:
    x, y = RNG.normal(size=(2, 60))
    y = y + x
    sentence = np.repeat(np.arange(20), 3)
    rho, low, high = correlate(x, y, sentence)
    assert rho == pytest.approx(spearmanr(x, y).statistic)
    assert low < rho < high
    cells = np.tile([0, 1, 1], 20)
    apart, noise = 10.0 * cells + RNG.normal(size=60), 10.0 * cells + RNG.normal(size=60)
    assert correlate(apart, noise, sentence)[0] > 0.6
    within, low, high = correlate(apart, noise, sentence, cells)
    assert low < 0 < high
    assert abs(within) < 0.4
    assert np.isnan(correlate(x, np.zeros(60), sentence)).all()


def test_a_words_change_is_that_of_its_similarities_and_ignores_rotations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "BLOCK", 4)  # words come in three blocks
    x = RNG.normal(size=(9, 4)).astype(np.float32)
    y = RNG.normal(size=(9, 6)).astype(np.float32)
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0].astype(np.float32)
    assert row_changes(x, 3 * x @ turn) == pytest.approx(np.zeros(9), abs=1e-5)
    changes = row_changes(x, y)
    for word in range(9):
        rest = [number for number in range(9) if number != word]
        first, second = (
            [
                float(v[word] @ v[number] / np.linalg.norm(v[word]) / np.linalg.norm(v[number]))
                for number in rest
            ]
            for v in (x, y)
        )
        assert changes[word] == pytest.approx(1 - np.corrcoef(first, second)[0, 1], abs=1e-5)
