"""The study in sentences: headline and methods, made from its statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from core.studies.rsa.divergence.tables import ALL
from core.studies.text_kit import Estimate, Statement, estimate_of, short_names, words_beside

said = words_beside(__file__).sentence
NOTHING = said("nothing")
CLOSEST = "predictions closest to the base's"
CHANCE = "predictions of other words"
GAP = "divergence minus a baseline's"
SIMILAR = "similarity of the top layer's states to the base's"
SIMILAR_BASELINE = "similarity of a baseline's top-layer states to the base's"
FOLLOWS = "rank correlation of changes of states and of predictions, top layer"
WITHIN = "the same among words of equal part of speech and frequency"


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
        return NOTHING
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
    if follows.clear and follows.value > 0:
        lead = "Words whose top-layer states differ more also have predictions that differ more"
    elif follows.clear:
        lead = "Words whose top-layer states differ more have predictions that differ less"
    else:
        lead = "Whether a word's top-layer state differs does not detectably predict its divergence"
    numbers = [f"rank correlation {follows.text}"]
    if WITHIN in facts:
        numbers.append(f"{facts[WITHIN].number.text} at equal part of speech and frequency")
    return f"{lead} ({'; '.join(numbers)})"
