"""The token map in sentences: headline, notices and methods, made from its statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.studies.text_kit import Statement, listed, short_names, text_of, words_beside

said = words_beside(__file__).sentence
NOTHING = said("nothing")
CLOSER = "question closer to its answer than to other words"
UNDECIDED = "undecided whether the question is closer to its answer"
TOO_FEW = "too few spans to detect whether the question is closer to its answer"
BY_CHANCE = "share of equally long spans that are as close to the question"
ANSWERS = "answers at the top layer"
SAME_SPAN = "layers with the answer of the top layer"
OVERLAP = "F1 of its answer"
GATHERED = "highlighted words closest together"
EXPLAINED = "share of variance on the two axes"
REST, SPANS, WORDS = "other words of the passage", "other spans of the passage", "all words"


def make_headline(
    statements: Sequence[Statement],
    spans: pd.DataFrame,
    models: Sequence[str],
    words: int,
    *,
    asked: bool = True,
) -> str:
    """Say what the models answer, whether the question is close to it, and how much the map
    shows."""
    if not models:
        return NOTHING
    names = short_names(tuple(models))
    facts = {(statement.subject, statement.verdict): statement for statement in statements}
    parts = [] if asked else [said("unasked")]
    parts += [*_answers(facts, spans, names), *_nearness(facts, names), *_gathering(facts, names)]
    shown = next(statement for statement in statements if statement.verdict == EXPLAINED)
    named = listed([names[ref] for ref in models])
    parts.append(
        f"The two axes show {shown.number.text} of the variance of {words} words in {named}."
    )
    return " ".join(parts)


Facts = Mapping[tuple[str, str], Statement]


def _answers(facts: Facts, spans: pd.DataFrame, names: Mapping[str, str]) -> list[str]:
    """Say what each model answers at the top, and from which layer upward."""
    sentences = []
    for ref, rows in spans.groupby("model", sort=False):
        top, model = rows.iloc[-1], str(ref)
        same, overlap = facts.get((model, SAME_SPAN)), facts.get((model, OVERLAP))
        upward = ""
        if same is not None:
            only = len(same.layers) == 1
            upward = " only at the top layer" if only else f" from layer {same.layers[0]} upward"
        score = f", F1 {overlap.number.text}" if overlap is not None else ""
        sure = text_of(facts[model, ANSWERS].number.value, "probability")
        sentences.append(
            f"{names[model]} answers “{top['span']}”{upward} (probability {sure}{score})."
        )
    return sentences


def _nearness(facts: Facts, names: Mapping[str, str]) -> list[str]:
    """Say in which models the question is closer to its answer than to other spans of the passage,
    and with which p-value and how many spans this cannot be detected in the others."""
    than = "closer to its answer than to other spans"
    sentences: list[str] = []
    for verdict, claim in (
        (CLOSER, f"The question is {than}"),
        (UNDECIDED, f"The question is not detectably {than}"),
        (TOO_FEW, "There are too few spans to detect that the question is closer to its answer"),
    ):
        there = [ref for ref in names if (ref, verdict) in facts]
        clauses = [
            f"layer {facts[ref, verdict].layers[0]} of {names[ref]} "
            f"({facts[ref, verdict].number.text}, {facts[ref, BY_CHANCE].number.text})"
            for ref in there
        ]
        if clauses:
            least = min((facts[ref, BY_CHANCE] for ref in there), key=lambda s: s.number.value)
            note = f"smallest {least.number.text}" if len(there) > 1 else least.number.text
            note += f" of {least.baseline.split()[0]} spans"
            note += f", corrected for {len(names)} models" if len(names) > 1 else ""
            where = "" if len(there) == len(names) else f" in {listed([names[r] for r in there])}"
            ratio = "" if sentences else "distance ratio, below 1 where closer than other words"
            # on a page the first sentence is a line above the figure
            late = verdict == TOO_FEW
            noted = "; ".join(filter(None, (ratio, note if late else "")))
            noted = f" ({noted})" if noted else ""
            sentences += [
                f"{claim}{where}." if late else f"{claim}{where} ({note}).",
                f"It is closest{noted} at {listed(clauses)}.",
            ]
    return sentences


def _gathering(facts: Facts, names: Mapping[str, str]) -> list[str]:
    """Say where the highlighted words are closest together on the map."""
    there = [facts[ref, GATHERED] for ref in names if (ref, GATHERED) in facts]
    clauses = [f"layer {s.layers[0]} of {names[s.subject]} ({s.number.text})" for s in there]
    if not clauses:
        return []
    ratio = "their mean distance on the map divided by that of all words"
    return [f"The highlighted words are closest together at {listed(clauses)}: {ratio}."]


def missing_words(words: Sequence[str]) -> str:
    """Say which words to highlight are not in the passage."""
    verb, it = ("is", "it is") if len(words) == 1 else ("are", "they are")
    return f"{listed(words)} {verb} not in the passage, so {it} not highlighted."
