"""Output divergence in a report: tables by part of speech and frequency, whether predictions differ
where states do, statements and headline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value, Words
from core.maths.ranks import correlate
from core.maths.similarity.scoring import mean_band
from core.studies.rsa.divergence.reading import COLUMNS, NAMED
from core.studies.text_kit import Estimate, Statement, estimate_of, short_names, words_beside

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

Place = tuple[int, int]  # sentence and word, from 0
Groups = Mapping[Place, tuple[str, str]]  # each word's part of speech and frequency
said = words_beside(__file__).sentence
CLOSEST = "predictions closest to the base's"
CHANCE = "predictions of other words"
GAP = "divergence minus a baseline's"
SIMILAR = "similarity of the top layer's states to the base's"
SIMILAR_BASELINE = "similarity of a baseline's top-layer states to the base's"
FOLLOWS = "rank correlation of changes of states and of predictions, top layer"
WITHIN = "the same among words of equal part of speech and frequency"


def groups_of(sentences: Words, tags: Sequence[str]) -> Groups:
    """Group the words of a text by their parts of speech, in order ("" where there are none), and
    by how often they occur in the text, in words of FREQUENCIES."""
    places = [(row, at) for row, words in enumerate(sentences) for at in range(len(words))]
    forms = [word.casefold() for words in sentences for word in words]
    times, tags = Counter(forms), tags or [""] * len(forms)
    return {
        place: (tag, frequency(times[form]))
        for place, tag, form in zip(places, tags, forms, strict=True)
    }


def frequency(times: int) -> str:
    """Name the class of a word that occurs so often in the text."""
    return next((name for most, name in FREQUENCIES if times <= most), OFTEN)


def divergence_rows(model: str, part: str, value: Value, groups: Groups) -> list[dict[str, Any]]:
    """Average a model's divergence over all words and over each group, with bands over
    sentences."""
    frame = pd.DataFrame({column: value[column] for column in ("sentence", *COLUMNS)})
    kinds = [groups[place] for place in _places(value)]
    rows = []
    for by, names in (
        (ALL, [ALL] * len(kinds)),
        (TAGS, [tag for tag, _ in kinds]),
        (COUNTS, [count for _, count in kinds]),
    ):
        for name, inside in frame.groupby(np.array(names), sort=False):
            if not name or (by != ALL and len(inside) < LEAST_WORDS):
                continue
            divergence, sentence = (inside[column].to_numpy() for column in ("js", "sentence"))
            low, high = mean_band(divergence, sentence, positive=True)
            # a word alone in its batch has no chance level; a divergence is at most one bit
            means = inside[list(COLUMNS)].mean()
            rows.append(
                {
                    **{"model": model, "part": part, "by": by, "words": name},
                    **{"items": len(inside), "low": low, "high": min(high, 1.0), **means},
                    **{"chance_js": means["chance"], "agreement": means["agree"]},
                }
            )
    return rows


def gap_row(model: str, other: str, value: Value, baseline: Value) -> dict[str, Any] | None:
    """Compare a model's divergence with a baseline's on the words that both have: a row of GAPS, in
    bits, the baseline's subtracted; None without such words."""
    mine, theirs = _by_place(value), _by_place(baseline)
    shared = [place for place in mine if place in theirs]
    if not shared:
        return None
    differences = np.array([mine[place] - theirs[place] for place in shared])
    low, high = mean_band(differences, np.array([place[0] for place in shared]))
    return dict(zip(GAPS, (model, other, float(differences.mean()), low, high), strict=True))


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
    cells = np.unique([" ".join(groups[place]) for place in shared], return_inverse=True)[1]
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
    for number, top, base_top in zip(
        np.flatnonzero(value["sentence"] < NAMED), value["top"], value["base_top"], strict=True
    ):
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


def _places(value: Value) -> list[Place]:
    """List each word's sentence and its place there."""
    return list(zip(value["sentence"].tolist(), value["word"].tolist(), strict=True))


def _by_place(value: Value) -> dict[Place, float]:
    """Give each word's divergence, by its place."""
    return dict(zip(_places(value), value["js"].tolist(), strict=True))


def statements_of(tables: Mapping[str, pd.DataFrame], base: str) -> tuple[Statement, ...]:
    """State which model predicts most like the base, how far a baseline is, and whether predictions
    differ where states do."""
    whole = tables["divergence"][tables["divergence"]["by"] == ALL]
    compared = whole[whole["part"] == "compared"].sort_values("js", kind="stable")
    if compared.empty:
        return ()
    closest = str(compared["model"].iloc[0])
    baselines = whole[whole["part"] == "baseline"]
    statements = [Statement(closest, CLOSEST, estimate_of(compared.iloc[0], "js"), baseline=base)]
    chance = float(compared["chance_js"].iloc[0])
    if np.isfinite(chance):
        statements.append(Statement(closest, CHANCE, Estimate(chance, kind="probability")))
    gaps = tables["gaps"][tables["gaps"]["model"] == closest]
    if len(gaps):
        gap = estimate_of(gaps.iloc[0], "difference", "probability")
        statements.append(Statement(closest, GAP, gap, baseline=str(gaps.iloc[0]["other"])))
    return (*statements, *_state_statements(tables["states"], closest, baselines["model"], base))


def _state_statements(
    states: pd.DataFrame, closest: str, baselines: Iterable[str], base: str
) -> list[Statement]:
    """State how similar the states are where predictions are closest, and whether the two go
    together."""
    wanted = [(closest, SIMILAR, "similarity")]
    wanted += [(ref, SIMILAR_BASELINE, "similarity") for ref in list(baselines)[:1]]
    wanted += [(closest, FOLLOWS, "correlation"), (closest, WITHIN, "within")]
    tops = states.groupby("model", sort=False).tail(1).set_index("model")
    return [
        Statement(
            ref,
            verdict,
            estimate_of(tops.loc[ref], column),
            (int(tops.loc[ref, "layer"]),),
            base,
        )
        for ref, verdict, column in wanted
        if ref in tops.index and np.isfinite(tops.loc[ref, column])
    ]


def make_headline(statements: Sequence[Statement]) -> str:
    """Say whose predictions are closest to the base's, compared with a baseline and chance, and
    whether predictions differ where states do."""
    facts = {statement.verdict: statement for statement in statements}
    if CLOSEST not in facts:
        return ""
    closest = facts[CLOSEST]
    subjects = [s.subject for s in statements] + [s.baseline for s in statements if s.baseline]
    names = short_names(dict.fromkeys(subjects))
    name, base, apart = names[closest.subject], names[closest.baseline], closest.number.text
    parts = [f"Predictions of {name} differ from {base}'s by {apart} bits per word (JS divergence)"]
    if GAP in facts:
        parts = [
            f"{name} predicts {_beside(facts[GAP], base, names)}",
            f"The divergence is {apart} bits per word",
        ]
    if {GAP, SIMILAR, SIMILAR_BASELINE} <= set(facts):
        parts[0] += _states(facts)
    if CHANCE in facts:
        parts.append(
            "At chance level (predictions for two different words) it is "
            f"{facts[CHANCE].number.text} bits"
        )
    if FOLLOWS in facts:
        parts.append(_follows(facts))
    return " ".join(f"{part}." for part in parts)


def _beside(statement: Statement, base: str, names: Mapping[str, str]) -> str:
    """Say whether a model predicts more like the base than a baseline does, and by how much."""
    gap, baseline = statement.number, names[statement.baseline]
    if not gap.clear:
        like, more = f"about as much like {base} as", "not detectably different"
    else:
        like = f"{'less' if gap.value > 0 else 'more'} like {base} than"
        more = gap.direction("bits more", "bits less")
    return f"{like} {baseline} does (JS divergence {more})"


def _states(facts: Mapping[str, Statement]) -> str:
    """Say whether the model or the baseline has the more similar states, and whether that is the
    opposite of their predictions."""
    gap, mine, theirs = (facts[name].number for name in (GAP, SIMILAR, SIMILAR_BASELINE))
    scores, more = f"{mine.value_text} and {theirs.value_text}; RSA", mine.low > theirs.high
    if not gap.clear or not (more or mine.high < theirs.low):
        return f"; similarity of the top layers' states to the base's: {scores}"
    joint = "yet" if more == (gap.value > 0) else "and"
    return f", {joint} its states are {'more' if more else 'less'} similar ({scores})"


def _follows(facts: Mapping[str, Statement]) -> str:
    """Say whether words whose top states differ more have predictions that differ more."""
    follows = facts[FOLLOWS].number
    if not follows.clear:
        relation = "unrelated_states"
    else:
        relation = "differ_together" if follows.value > 0 else "differ_against"
    numbers = [f"rank correlation {follows.text}"]
    if WITHIN in facts:
        numbers.append(f"{facts[WITHIN].number.text} at equal part of speech and frequency")
    return said(relation, numbers="; ".join(numbers))
