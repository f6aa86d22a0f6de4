"""Votes on unlabelled models: who votes, how often such votes are right, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import ShapeError
from core.maths.spectra.outsiders import predict_outsider, rate_votes
from core.studies.weights.unlabelled import build_unlabelled, state_unlabelled, unlabelled_sentence

LABELS = ["a"] * 3 + ["b"] * 3 + ["c"] * 3


def apart(labels: list[str], seed: int = 0) -> np.ndarray:
    """Distances below 1 within a label, above 2 between labels."""
    noise = np.triu(np.random.default_rng(seed).uniform(0.1, 0.9, (len(labels),) * 2), 1)
    between = np.array([[2.0 * (one != two) for two in labels] for one in labels])
    return np.where(np.eye(len(labels), dtype=bool), 0.0, between + noise + noise.T)


def votes_of(truth: list[str], known: int = 9, labels: list[str] | None = None) -> pd.DataFrame:
    """Votes on the models after the first `known`."""
    bases = {f"path:/runs/m{place}": "zoo:seed-0" for place in range(len(truth))}
    given = (labels or truth)[:known] + [""] * (len(truth) - known)
    sizes = np.linspace(0.05, 0.07, len(truth))
    voters, asked = [*range(known)], [*range(known, len(truth))]
    return build_unlabelled(bases, given, voters, asked, apart(truth), sizes, 2, 0)


def test_the_nearest_labelled_models_vote_and_the_vote_is_judged() -> None:
    votes = votes_of([*LABELS, "b", "a"])
    assert votes["predicted"].tolist() == ["b", "a"]
    assert votes["votes"].tolist() == [1.0, 1.0]
    assert votes["judged"].tolist() == votes["right_votes"].tolist() == [9, 9]
    assert (votes["distance"] <= votes["farthest"]).all()
    assert not set(votes["nearest"]) & set(votes["model"])


@pytest.mark.slow
def test_shuffled_labels_are_right_as_often_as_chance() -> None:
    """With three groups of three, both neighbours of a model share a label for 1 in 7 models, and
    it is the model's own for 1 in 28: a unanimous vote is then right once in four."""
    rates = rate_votes(apart(LABELS), LABELS, 2, 1_000, np.random.default_rng(0))
    assert rates[1.0].shuffled == pytest.approx((2 / 8 * 1 / 7) / (2 / 8), abs=0.02)


def test_labels_that_say_nothing_make_votes_that_are_seldom_right() -> None:
    mixed = ["a", "b", "c"] * 3
    votes = votes_of([*LABELS, "b"], labels=mixed)
    assert votes["right_votes"].sum() == 0
    sentence = unlabelled_sentence(state_unlabelled(votes, "task"))
    assert " 0 % of " in sentence or "not known" in sentence


def test_a_model_of_no_labelled_task_is_said_to_be_far() -> None:
    near, far = (
        unlabelled_sentence(state_unlabelled(votes_of([*LABELS, t]), "task")) for t in ("b", "z")
    )
    assert "is b" in near
    assert "would be" in far
    assert "not on the map" in far
    assert "not on the map" not in near


def test_models_with_one_vote_share_a_sentence_and_the_rest_is_counted() -> None:
    statements = state_unlabelled(votes_of([*LABELS, "a", "a", "b", "c"]), "data set")
    sentence = unlabelled_sentence(statements)
    assert "the data set of m9 and m10 is a" in sentence
    assert "the data set of m11 is b" in sentence
    assert "1 more model." in sentence
    assert "m12" not in sentence
    assert "5.0 % to " not in sentence.partition("m11")[2]


def test_no_sentence_without_unlabelled_models() -> None:
    assert votes_of(LABELS).empty
    assert unlabelled_sentence(state_unlabelled(votes_of(LABELS), "task")) == ""


@pytest.mark.parametrize(("labels", "k"), [(["a"], 1), (["a", "b"], 3), (["a", "b"], 0)])
def test_what_cannot_vote_is_refused(labels: list[str], k: int) -> None:
    with pytest.raises(ShapeError):
        predict_outsider(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0]), labels, k)
