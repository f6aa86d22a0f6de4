"""Which layer changed most, in a sentence: by the outputs of layers on the base's own input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.errors import first_of, listed
from core.results.names import layers_in_words, short_names
from core.results.statements import Statement
from core.studies.rsa.layers.differences import (
    AT_CHANCE,
    BEYOND_RANDOM,
    CHANGED_MOST,
    COMPARED,
    LIKE_RANDOM,
    LOWEST,
    SATURATED,
    UNMEASURED,
)

CHANGES = {
    BEYOND_RANDOM: "Given the base's own input, and compared with random changes of equal "
    "spectrum, the output that moved furthest is that of",
    LIKE_RANDOM: "Given the base's own input, no output moved detectably further than after random "
    "changes of equal spectrum in",
    CHANGED_MOST: "Given the base's own input, the output that differs most from the base's is "
    "that of",
}
MOST_NAMED = 4  # models that get a clause of their own where there are many; the others are counted
Facts = dict[str, dict[str, Statement]]  # verdict -> subject -> statement


def functions_sentence(statements: Sequence[Statement]) -> str:
    """Say in which layer each model changed most, by outputs on the base's own input, compared with
    random changes; "" without a comparison of functions."""
    facts = facts_of(statements)
    return " ".join(
        filter(None, (_most_changed(facts, verdict, words) for verdict, words in CHANGES.items()))
    )


def _most_changed(facts: Facts, verdict: str, words: str) -> str:
    """Name the layers that changed most, of the models of this verdict; "" without any."""
    names, levels = names_of(facts), levels_of(facts)
    changed = [model for model in facts.get(verdict, ()) if model in levels]
    shown = first_of(changed, MOST_NAMED)
    clauses = []
    for model in shown:
        layers, number = facts[verdict][model].layers, facts[verdict][model].number
        lowest = levels[model].layers[0]
        elsewhere = f"; its states differ most at layer {lowest}" if lowest not in layers else ""
        if verdict == CHANGED_MOST:
            unclear = "not distinguishable, lowest " if len(layers) > 1 else ""
            score = f"{unclear}{number.text}"
        else:
            unclear = "not distinguishable, at most " if len(layers) > 1 else ""
            score = f"{unclear}{number.value_text} times as far"
        if verdict == LIKE_RANDOM:
            clauses.append(f"{names[model]} ({number.text} times as far at most)")
        else:
            clauses.append(f"{layers_in_words(layers)} of {names[model]} ({score}{elsewhere})")
    if not clauses:
        return ""
    rest = len(changed) - len(shown)
    more = f" The other {rest} are in the table." if rest else ""
    return f"{words} {listed(clauses)}.{more}"


def facts_of(statements: Iterable[Statement]) -> Facts:
    """Sort statements by verdict and subject."""
    facts: Facts = {}
    for statement in statements:
        facts.setdefault(statement.verdict, {})[statement.subject] = statement
    return facts


def names_of(facts: Facts) -> dict[str, str]:
    """Name the models compared, shortly."""
    verdicts = (COMPARED, UNMEASURED, SATURATED)
    return short_names(
        tuple(dict.fromkeys(name for each in verdicts for name in facts.get(each, ())))
    )


def levels_of(facts: Facts) -> Mapping[str, Statement]:
    """Give each model's lowest similarity, whether at chance level or above."""
    return facts.get(LOWEST, {}) | facts.get(AT_CHANCE, {})
