"""Tables of the study: divergence by part of speech and frequency, and whether predictions differ
where states do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy import ndarray

from core.maths.arrays import Value, Words
from core.maths.ranks import correlate
from core.maths.statistics import jackknife_interval, sentence_labels
from core.studies.rsa.divergence.reading import COLUMNS, NAMED

ALL, TAGS, COUNTS = "all", "part of speech", "frequency"
FREQUENCIES = ((1, "once"), (4, "2 to 4 times"), (19, "5 to 19 times"))
OFTEN = "20 times and more"
LEAST_WORDS = 20  # words of a group
DIVERGENCE = (
    *("model", "part", "by", "words", "items", "js", "low", "high", "kl", "reverse_kl"),
    *("chance_js", "surprisal", "base_surprisal", "agreement"),
)
STATES = (
    *("model", "part", "layer", "similarity", "low", "high", "null_low", "null_high"),
    *("correlation", "correlation_low", "correlation_high"),
    *("within", "within_low", "within_high"),
)
GAPS = ("model", "other", "difference", "low", "high")
SHOWN = (
    *("model", "sentence", "position", "word", "js", "agreement"),
    *("predicted_token", "base_token"),
)


@dataclass(frozen=True)
class Groups:
    """Which group each word of a text is in.

    Attributes:
        tags: Its universal part of speech by (sentence, word); empty without tags.
        counts: How often it occurs in the text, in words of `FREQUENCIES`.
    """

    tags: Mapping[tuple[int, int], str]
    counts: Mapping[tuple[int, int], str]

    @classmethod
    def of(cls, sentences: Words, tags: Sequence[str]) -> Groups:
        """Group the words of a text.

        Args:
            sentences: Words of each sentence.
            tags: The part of speech of every word, in order; empty where it is not known.
        """
        places = [(row, at) for row, words in enumerate(sentences) for at in range(len(words))]
        forms = [word.casefold() for words in sentences for word in words]
        times = Counter(forms)
        return cls(
            dict(zip(places, tags, strict=True)) if tags else {},
            {place: frequency(times[form]) for place, form in zip(places, forms, strict=True)},
        )


def frequency(times: int) -> str:
    """Name the class of a word that occurs so often in the text."""
    return next((name for most, name in FREQUENCIES if times <= most), OFTEN)


def divergence_rows(model: str, part: str, value: Value, groups: Groups) -> list[dict[str, Any]]:
    """Average a model's divergence over all words and over each group, with bands over
    sentences."""
    places = _places(value)
    rows = []
    for by, names in (
        (ALL, [ALL] * len(places)),
        (TAGS, [groups.tags.get(place, "") for place in places]),
        (COUNTS, [groups.counts[place] for place in places]),
    ):
        of_word = np.array(names)
        for name in dict.fromkeys(names):
            inside = np.flatnonzero(of_word == name)
            if not name or (by != ALL and len(inside) < LEAST_WORDS):
                continue
            low, high = mean_band(value["js"][inside], value["sentence"][inside], positive=True)
            high = min(high, 1.0)  # at most one bit
            chance = value["chance"][inside]
            chance = chance[~np.isnan(chance)]  # a word alone in its batch has none
            means = {column: float(np.mean(value[column][inside])) for column in COLUMNS}
            means["chance"] = float(chance.mean()) if len(chance) else np.nan
            rows.append(
                {
                    **{"model": model, "part": part, "by": by, "words": name},
                    **{"items": len(inside), "low": low, "high": high, **means},
                    **{"chance_js": means["chance"], "agreement": means["agree"]},
                }
            )
    return rows


def mean_band(
    values: Float[ndarray, " word"], sentence: Int[ndarray, " word"], *, positive: bool = False
) -> tuple[float, float]:
    """Compute the 95 % interval of a mean over words, leaving out one sentence at a time.

    Args:
        values: One number a word.
        sentence: Sentence of each word.
        positive: Whether the mean is that of a skewed quantity above 0, whose logarithm's interval
            is computed.

    Returns:
        Lower and upper end; NaN where all words are of one sentence.
    """
    labels, sentences = sentence_labels(sentence)
    if sentences < 2:
        return float("nan"), float("nan")
    mean = float(values.mean())
    means = (values.sum() - np.bincount(labels, values)) / (len(values) - np.bincount(labels))
    if not positive or means.min() <= 0:
        return jackknife_interval(mean, means)
    low, high = jackknife_interval(math.log(mean), np.log(means))
    return min(math.exp(low), mean), max(math.exp(high), mean)


def gap_row(model: str, other: str, value: Value, baseline: Value) -> dict[str, Any] | None:
    """Compare a model's divergence with a baseline's on the words that both have: a row of GAPS, in
    bits, the baseline's subtracted; None without such words."""
    mine, theirs = _by_place(value), _by_place(baseline)
    shared = [place for place in mine if place in theirs]
    if not shared:
        return None
    differences = np.array([mine[place] - theirs[place] for place in shared])
    low, high = mean_band(differences, np.array([place[0] for place in shared]))
    return {
        "model": model,
        "other": other,
        "difference": float(differences.mean()),
        "low": low,
        "high": high,
    }


def state_rows(
    model: str,
    part: str,
    similarity: Value | None,
    changes: Value,
    predictions: Value,
    groups: Groups,
) -> list[dict[str, Any]]:
    """Say of every layer how similar the states are (NaN where `rsa.compare` failed), and whether
    they differ where the predictions do."""
    js, places = _by_place(predictions), _places(changes)
    kept = np.array([number for number, place in enumerate(places) if place in js], dtype=np.int64)
    shared = [places[number] for number in kept]
    output = np.array([js[place] for place in shared])
    cells = np.unique(
        [f"{groups.tags.get(place, '')} {groups.counts[place]}" for place in shared],
        return_inverse=True,
    )[1]
    sentence = np.array([place[0] for place in shared], dtype=np.int64)
    rows = []
    for layer, change in enumerate(changes["change"][:, kept]):
        row: dict[str, Any] = {"model": model, "part": part, "layer": layer}
        for name, alike in (("correlation", None), ("within", cells)):
            value, low, high = correlate(output, change, sentence, alike)
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        for name in ("similarity", "low", "high", "null_low", "null_high"):
            row[name] = np.nan if similarity is None else float(similarity[name][layer])
        rows.append(row)
    return rows


def shown_rows(model: str, value: Value, sentences: Words) -> list[dict[str, Any]]:
    """List the words of the first sentences with their divergence and both most likely tokens."""
    rows = []
    at = np.flatnonzero(value["sentence"] < NAMED)
    for number, top, base_top in zip(at, value["top"], value["base_top"], strict=True):
        sentence, position = int(value["sentence"][number]), int(value["word"][number])
        rows.append(
            {
                **{"model": model, "sentence": sentence + 1, "position": position + 1},
                **{"word": sentences[sentence][position], "js": float(value["js"][number])},
                **{"agreement": float(value["agree"][number])},
                **{"predicted_token": str(top), "base_token": str(base_top)},
            }
        )
    return rows


def _places(value: Value) -> list[tuple[int, int]]:
    """List each word's sentence and its place there."""
    return list(zip(value["sentence"].tolist(), value["word"].tolist(), strict=True))


def _by_place(value: Value) -> dict[tuple[int, int], float]:
    """Give each word's divergence, by its place."""
    return dict(zip(_places(value), value["js"].tolist(), strict=True))


def as_table(rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Make a table with these columns, also of no rows."""
    return pd.DataFrame(rows, columns=list(columns))
