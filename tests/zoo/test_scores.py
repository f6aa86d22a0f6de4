"""Scores and baselines against slow readable counts; text baselines against dictionaries."""

from __future__ import annotations

import itertools
from collections import Counter
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from zoo.recipe.baselines import text_baselines
from zoo.recipe.batches import Encoded
from zoo.recipe.scores import majority_baseline, score_model
from zoo.recipe.tasks import Example, TaskData
from zoo.recipe.text import CLS, SEP


def task_of(kind, train, test, names=()) -> TaskData:
    return TaskData("x", kind, names, tuple(train), tuple(test), "", "")


def test_the_commonest_label_is_that_of_the_training_part() -> None:
    task = task_of(
        "sequence",
        [Example(label=0), Example(label=1), Example(label=1)],
        [Example(label=0)] * 3,
        ("a", "b"),
    )
    assert majority_baseline(task) == {"score": 0.0, "answer": "b"}
    tags = task_of(
        "words",
        [Example(labels=(0, 0, 1))],
        [Example(labels=(0, 1)), Example(labels=(0, 0))],
        ("N", "V"),
    )
    assert majority_baseline(tags) == {"score": 0.75, "answer": "N"}


def test_the_commonest_head_is_relative_to_the_word() -> None:
    task = task_of(
        "arcs", [Example(labels=(2, 3, 0))], [Example(labels=(2, 0)), Example(labels=(0, 1))]
    )
    assert majority_baseline(task) == {"score": 0.25, "answer": "head at +1"}


def test_the_empty_answer_is_the_baseline_of_spans() -> None:
    task = task_of("span", [Example()], [Example(answers=("x",), starts=(0,)), Example()])
    assert majority_baseline(task)["score"] == 0.5


class Fixed:
    """A model that answers what it was made with, whatever it is asked."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def eval(self) -> None:
        """Nothing to switch."""

    def __call__(self, **inputs: torch.Tensor):
        return self.answer(inputs)


def test_uas_counts_words_that_were_cut_off_as_missed() -> None:
    item = Encoded(
        [2, 9, 9, 3],
        {"word_starts": [1, 2], "heads": [2, 0]},
        source=Example(words=("a", "b", "c")),
    )

    def arcs(inputs):
        scores = torch.zeros(1, 2, 3)
        scores[0, 0, 2] = scores[0, 1, 0] = 1  # both right, of three words
        return scores

    assert score_model(Fixed(arcs), task_of("arcs", [], []), [item], 0)["UAS"] == pytest.approx(
        2 / 3
    )


@pytest.mark.parametrize(
    ("start", "end", "exact", "f1"),
    [(4, 5, 1.0, 1.0), (4, 4, 0.0, 2 / 3), (3, 3, 0.0, 0.0), (0, 0, 0.0, 0.0)],
)
def test_spans_are_scored_as_squad_scores_them(
    start: int, end: int, exact: float, f1: float
) -> None:
    source = Example("who?", "It was The Old Man.", answers=("old man",), starts=(11,))
    offsets = [None, None, None, (0, 6), (11, 14), (15, 18), None]
    item = Encoded(
        [2, 9, 3, 9, 9, 9, 3], {"start_positions": 4, "end_positions": 5}, offsets, source
    )

    def span(inputs):
        logits = torch.zeros(2, 1, 7)
        logits[0, 0, start] = logits[1, 0, end] = 5.0
        return SimpleNamespace(start_logits=logits[0], end_logits=logits[1])

    scores = score_model(Fixed(span), task_of("span", [], []), [item], 0)
    assert scores == {"F1": pytest.approx(f1), "exact_match": exact}


def test_text_baselines_against_dictionaries() -> None:
    rng = np.random.default_rng(0)
    training, held_out = rng.integers(5, 12, (40, 8)), rng.integers(5, 14, (6, 8))
    for windows in (training, held_out):
        windows[:, 0], windows[:, -1] = CLS, SEP
        windows[::3, 4] = SEP
    vocabulary = 14
    words = Counter(int(word) for row in training for word in row if word not in (CLS, SEP))
    total = sum(words.values())

    def unigram(word: int) -> float:
        return (words[word] + 1) / (total + vocabulary)

    pairs = Counter(
        (int(row[i]), int(row[i + 1]))
        for row in training
        for i in range(7)
        if row[i + 1] not in (CLS, SEP)
    )
    losses: list[tuple[float, float]] = []
    for row in held_out:
        for before, word in itertools.pairwise(row):
            if word in (CLS, SEP):
                continue
            seen = {pair: count for pair, count in pairs.items() if pair[0] == before}
            share = unigram(int(word))
            if seen:
                share = (seen.get((int(before), int(word)), 0) + len(seen) * share) / (
                    sum(seen.values()) + len(seen)
                )
            losses.append((-log(unigram(int(word))), -log(share)))
    found = text_baselines(training.astype(np.uint16), held_out.astype(np.uint16), vocabulary)
    assert found.unigram == pytest.approx(np.mean([loss[0] for loss in losses]))
    assert found.bigram == pytest.approx(np.mean([loss[1] for loss in losses]))
