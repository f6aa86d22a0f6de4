"""The token map in sentences: headline, notices and methods, made from its statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.errors import listed
from core.results.names import short_names
from core.results.numbers import text_of
from core.results.statements import Statement
from core.results.words import words_beside

NOTHING = words_beside(__file__).sentence("nothing")
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
    statements: Sequence[Statement], spans: pd.DataFrame, models: Sequence[str], words: int
) -> str:
    """Say what the models answer, whether the question is close to it, and how much the map shows.

    Args:
        statements: All of this module.
        spans: The answers by layer; may be empty.
        models: References, in order.
        words: How many words are drawn.
    """
    if not models:
        return NOTHING
    names = short_names(tuple(models))
    facts = {(statement.subject, statement.verdict): statement for statement in statements}
    parts = [*_answers(facts, spans, names), *_nearness(facts, names), *_gathering(facts, names)]
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


def no_span_head(model: str) -> str:
    """Say that a model is drawn without an answer."""
    return (
        f"{model} gives no answer, because it has no head for question answering; its words are "
        f"drawn."
    )


def these_answer(readers: Sequence[str]) -> str:
    """Say which included models have a head for question answering."""
    return f"To see a question answered, compare {listed(readers)}."


def top_answer_only(model: str) -> str:
    """Say that a model's head cannot be applied to lower layers."""
    return (
        f"{model} gives an answer at the top layer only, because its head reads more than that "
        f"layer."
    )


def missing_words(words: Sequence[str]) -> str:
    """Say which words to highlight are not in the passage."""
    verb, it = ("is", "it is") if len(words) == 1 else ("are", "they are")
    return f"{listed(words)} {verb} not in the passage, so {it} not highlighted."


def missing_part(what: str, words: Sequence[str]) -> str:
    """Say that the answer or the supporting sentence is not in the passage."""
    return (
        f"The {what} is not in the passage word for word, so it has no colour: {' '.join(words)}."
    )


def make_methods(question: bool) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        question: Whether a question was read with the passage.
    """
    text = (
        "Each layer of each model was centred and scaled to unit root mean square over the words "
        "of the passage; one "
        "principal component analysis was fitted to all layers and models together. Points are "
        "words (means of their "
        "subwords)."
    )
    if question:
        text += (
            " Question and passage were read as one pair. If a model has a head for question "
            "answering, it was applied "
            "to the states of every layer, and its scores at the top were checked against the "
            "model's own; the most "
            "probable span of the passage is shown, with the probability of its first and last "
            "subword among those of "
            "the passage. Distances are Euclidean, in the whole space: the mean distance from the "
            "question's words to "
            "the words of the answer (of the supporting sentence where no answer is given), "
            "divided by that to the other words; words that occur in both question and passage "
            "were left out. The p-value is the share of equally long spans of the passage "
            "(its shifts) that are as close to the question at some layer, each layer in "
            "units of its spans' standard deviation. It cannot be below one over the number of "
            "spans, and is multiplied by the number of models (Bonferroni)."
        )
    return text
