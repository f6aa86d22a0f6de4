"""Which layers changed most, in sentences: by the outputs of layers on the base's own input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
from core.studies.text_kit import (
    TWO_LINES,
    Estimate,
    Statement,
    first_of,
    layers_in_words,
    listed,
    short_names,
)

CHANGES = {
    BEYOND_RANDOM: "Given the base's own input, and compared with random changes of equal "
    "spectrum, the output that differs most (1 − similarity) is that of",
    LIKE_RANDOM: "Given the base's own input, no output differs detectably more than after random "
    "changes of equal spectrum in",
    CHANGED_MOST: "Given the base's own input, the output that differs most from the base's is "
    "that of",
}
MOST_NAMED = 4  # models that get a clause of their own where there are many; the others are counted
Facts = dict[str, dict[str, Statement]]  # verdict -> subject -> statement


def changed_sentence(statements: Sequence[Statement]) -> str:
    """Say which layers fine-tuning changed most; "" without a comparison of functions."""
    return " ".join(changed_sentences(statements))


def changed_sentences(statements: Sequence[Statement]) -> list[str]:
    """Say in two lines each which layers fine-tuning changed most, and in which models none did;
    nothing without a comparison of functions."""
    facts = facts_of(statements)
    levels, names = levels_of(facts), names_of(facts)
    changed = {
        verdict: [facts[verdict][model] for model in facts.get(verdict, ()) if model in levels]
        for verdict in CHANGES
    }
    sentences = []
    for verdict in (BEYOND_RANDOM, CHANGED_MOST):
        level = [fact for fact in changed[verdict] if _is_level(facts, fact)]
        if stated := [fact for fact in changed[verdict] if fact not in level]:
            whole = _changes(stated, names, verdict)
            sentences.append(whole if len(whole) <= TWO_LINES else _change(stated, names, verdict))
        if level:
            of = listed([names[fact.subject] for fact in level], MOST_NAMED)
            moved = _moved(level, verdict)
            sentences.append(f"No layer of {of} changes detectably more than the others: {moved}.")
    if alike := changed[LIKE_RANDOM]:
        most = max(alike, key=lambda fact: fact.number.value).number
        of = listed([names[fact.subject] for fact in alike], MOST_NAMED)
        sentences.append(
            f"No layer of {of} changes detectably more than at random: at most {_times(most)} as "
            "much as after random changes of equal spectrum."
        )
    return sentences


def _is_level(facts: Facts, fact: Statement) -> bool:
    """Tell whether no layer of a model differs detectably from the others."""
    layers = set(facts[COMPARED][fact.subject].layers) - {0}
    return len(fact.layers) > 1 and layers <= set(fact.layers)


def _changes(stated: Sequence[Statement], names: Mapping[str, str], verdict: str) -> str:
    """Name the layers that changed most of every model, models of the same layers together."""
    models: dict[tuple[int, ...], list[str]] = {}
    for fact in stated:
        models.setdefault(fact.layers, []).append(names[fact.subject])
    places = [f"{layers_in_words(layers)} of {listed(of)}" for layers, of in models.items()]
    return f"Fine-tuning changes {listed(places)} most: {_moved(stated, verdict)}."


def _moved(stated: Sequence[Statement], verdict: str) -> str:
    """Say how far the outputs of these layers moved at most."""
    several = len(stated) > 1 or len(stated[0].layers) > 1
    whose = "outputs" if several else "its output"
    if verdict == CHANGED_MOST:
        least = min(stated, key=lambda fact: fact.number.value).number
        return f"similarity of {whose} to the base's {'down to ' * several}{least.text}"
    most = max(stated, key=lambda fact: fact.number.value).number
    differs = "differ up to" if several else "differs"
    return f"{whose} {differs} {_times(most)} as much as after random changes"


def _change(stated: Sequence[Statement], names: Mapping[str, str], verdict: str) -> str:
    """Name the layers that changed most of one model, and those of all others together."""
    choose = min if verdict == CHANGED_MOST else max
    first = choose(stated, key=lambda fact: fact.number.value)
    number = first.number
    ratio = f"{_times(number)} as much as random changes"
    shown = number.text if verdict == CHANGED_MOST else ratio
    text = f"Fine-tuning changes {layers_in_words(first.layers)} of {names[first.subject]} most"
    rest = [fact for fact in stated if fact is not first]
    if not rest:
        return f"{text} ({shown})."
    layers = layers_in_words(sorted({layer for fact in rest for layer in fact.layers}))
    others = (
        f"{names[rest[0].subject]} changes"
        if len(rest) == 1
        else f"the other {len(rest)} models change"
    )
    return f"{text} ({shown}); {others} most in {layers}."


def _times(number: Estimate) -> str:
    """Write a ratio with its interval: "26 [21, 31] times"."""
    return f"{number.text} times"


def functions_sentence(statements: Sequence[Statement]) -> str:
    """Give the layers in which each model changed most, with their numbers and with where its
    states differ most; "" without a comparison of functions."""
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
            score = f"{unclear}{number.value_text} times as much"
        if verdict == LIKE_RANDOM:
            clauses.append(f"{names[model]} ({number.text} times as much at most)")
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
