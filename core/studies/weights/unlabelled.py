"""What is an unlabelled model? The vote of its nearest labelled neighbours, and how often such
votes are right.

A vote is judged by leaving each labelled model out in turn: how often a vote of the same share
names its label, beside the same with shuffled labels. A model farther from its nearest neighbour
than every labelled model may have a label that none of them has.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from core.maths.spectra.neighbours import predict_labels
from core.maths.spectra.outsiders import VoteRate, predict_outsider, rate_votes, share_of
from core.studies.text_kit import (
    Estimate,
    Statement,
    by_number,
    estimate_of,
    listed,
    short_name,
    short_names,
)

# what a label is, by the option that says where labels come from; small numbers in words
WORDS = {"task": "task", "data": "data set", "base": "base", "table": "label"}
SPELT = dict(
    enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
)
UNLABELLED = "unlabelled"  # name of the table
SHUFFLES = 100
SENTENCES = 2  # groups of models that a headline names
NAMED = 3  # models of a group that it names
CAST, JUDGED, SHUFFLED = "share of the votes", "such votes are right", "with shuffled labels"
NEAREST, FARTHEST, MOVED = "nearest model", "farthest of labelled models", "change of the weights"


def nearest_in_words(k: int) -> str:
    """Write which neighbours are looked at: "nearest", "two nearest"."""
    return "nearest" if k == 1 else f"{SPELT.get(k, k)} nearest"


def build_unlabelled(
    bases: Mapping[str, str],
    labels: Sequence[str],
    voters: Sequence[int],
    asked: Sequence[int],
    distances: Float[ndarray, "model model"],
    sizes: Float[ndarray, " model"],
    k: int,
    seed: int,
) -> pd.DataFrame:
    """Build the table of what the nearest labelled models vote for, a row per unlabelled model.
    `bases` gives the base of each model, in order; `voters` and `asked` are places in that
    order."""
    if not voters or not asked:
        return pd.DataFrame()
    refs, named = [*bases], [labels[place] for place in voters]
    inner = distances[np.ix_(voters, voters)]
    guesses = predict_labels(inner, named, k)
    farthest = max(guess.distance for guess in guesses)
    rates = rate_votes(inner, named, k, SHUFFLES, np.random.default_rng(seed))
    rows = []
    for place in asked:
        guess = predict_outsider(inner, distances[place, list(voters)], named, k)
        rate = rates.get(share_of(guess), VoteRate())
        rows.append(
            {
                "model": refs[place],
                "predicted": guess.predicted,
                "votes": guess.votes,
                "k": k,
                "nearest": refs[voters[guess.nearest]],
                "distance": guess.distance,
                "judged": rate.judged,
                "right_votes": rate.right,
                "shuffled": rate.shuffled,
                "farthest": farthest,
                "base": bases[refs[place]],
                "relative_delta": float(sizes[place]),
            }
        )
    return pd.DataFrame(rows)


def state_unlabelled(votes: pd.DataFrame, word: str) -> tuple[Statement, ...]:
    """State each vote, how often such votes are right, and how far the model is from its nearest
    neighbour and from its base."""
    stated: list[Statement] = []
    for row in votes.to_dict("records"):
        model, predicted, judged = str(row["model"]), str(row["predicted"]), int(row["judged"])
        right = row["right_votes"] / judged if judged else float("nan")
        stated += [
            Statement(model, CAST, estimate_of(row, "votes"), (), word, predicted),
            Statement(model, JUDGED, Estimate(right, kind="per cent"), baseline=f"{judged} models"),
            Statement(model, SHUFFLED, estimate_of(row, "shuffled")),
            Statement(model, NEAREST, estimate_of(row, "distance"), baseline=str(row["nearest"])),
            Statement(model, FARTHEST, estimate_of(row, "farthest")),
            Statement(model, MOVED, estimate_of(row, "relative_delta"), baseline=str(row["base"])),
        ]
    return tuple(stated)


def unlabelled_sentence(statements: Sequence[Statement]) -> str:
    """Say what unlabelled models are by the vote of their neighbours, how often such votes are
    right, and what speaks against it; "" without unlabelled models."""
    models: dict[str, dict[str, Statement]] = {}
    for each in statements:
        if each.verdict in (CAST, JUDGED, SHUFFLED, NEAREST, FARTHEST, MOVED):
            models.setdefault(each.subject, {})[each.verdict] = each
    ordered = sorted(models.values(), key=_alike)
    groups = [list(group) for _, group in groupby(ordered, key=_alike)]
    groups.sort(key=lambda group: list(models).index(group[0][CAST].subject))
    texts = [_said(group) for group in groups[:SENTENCES]]
    left = sum(len(group) for group in groups[SENTENCES:])
    if left:
        texts.append(
            f"The table of unlabelled models has {left} more {by_number(left, 'model', 'models')}."
        )
    return " ".join(texts)


def _alike(model: Mapping[str, Statement]) -> tuple[str, str, str, bool]:
    """What models have in common that one sentence speaks of."""
    cast = model[CAST]
    return cast.metric, cast.number.value_text, model[MOVED].baseline, _is_far(model)


def _is_far(model: Mapping[str, Statement]) -> bool:
    return model[NEAREST].number.value > model[FARTHEST].number.value


def _said(group: Sequence[Mapping[str, Statement]]) -> str:
    first, word = group[0], group[0][CAST].baseline
    many, far = len(group) > 1, _is_far(group[0])
    who = listed([*short_names([model[CAST].subject for model in group]).values()], NAMED)
    near = listed([*dict.fromkeys(short_name(model[NEAREST].baseline) for model in group)], NAMED)
    cast, judged, shuffled = first[CAST], first[JUDGED], first[SHUFFLED].number
    sizes = sorted((model[MOVED].number for model in group), key=lambda size: size.value)
    moved = " to ".join(dict.fromkeys(size.value_text for size in (sizes[0], sizes[-1])))
    rival = f" ({shuffled.value_text} with shuffled labels)" if shuffled.value >= 0 else ""
    nearest = Estimate(min(model[NEAREST].number.value for model in group)).value_text
    parts = (
        f"By a vote of {'their' if many else 'its'} nearest models, the {word} of {who} "
        f"{'would be' if far else 'is'} {cast.metric} ({cast.number.value_text} of the votes; "
        f"nearest: {near}).",
        f"Such a vote is right for {judged.number.value_text} of {judged.baseline} with a known "
        f"{word}, each left out in turn{rival}."
        if judged.number.value >= 0
        else f"How often such a vote is right is not known: no model with a known {word} has one.",
        f"But {'they are' if many else 'it is'} farther from the nearest model ({nearest}) than "
        f"any model with a known {word} ({first[FARTHEST].number.value_text}), so the {word} may "
        "be one that is not on the map."
        if far
        else "",
        f"{'Their' if many else 'Its'} weights differ from those of the base "
        f"{short_name(first[MOVED].baseline)} by {moved} of their norm (unrelated weights: "
        "about 140 %).",
    )
    return " ".join(filter(None, parts))
