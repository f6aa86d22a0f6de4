"""The headline of the study: which layers changed, by their outputs on the base's own input, and
where models differ from the base, by their states.

All of it is made from the statements of `differences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.studies.rsa.layers.differences import (
    AT_CHANCE,
    BEYOND_RANDOM,
    CHANGED_MOST,
    COMPARED,
    DIFFERS,
    LIKE_RANDOM,
    LOWEST,
    MAY_DIFFER,
    NOT_FROM_BASE,
    REFERENCE,
    RUNS,
    SATURATED,
    SCALED,
    SECOND_RUN,
    UNMEASURED,
    WEIGHT_CHANGE,
    place_in_words,
)
from core.studies.rsa.layers.notice_text import RULE, UNEQUAL, said
from core.studies.text_kit import (
    TWO_LINES,
    Estimate,
    Statement,
    by_number,
    first_of,
    layers_in_words,
    listed,
    short_names,
    text_of,
)

CHANGES = {  # verdict -> its sentence among the words
    BEYOND_RANDOM: "changed_beyond_random",
    LIKE_RANDOM: "changed_like_random",
    CHANGED_MOST: "changed_most",
}
MOST_NAMED = 4  # models that get a clause of their own where there are many; the others are counted
Facts = dict[str, dict[str, Statement]]  # verdict -> subject -> statement


def make_headline(statements: Sequence[Statement], label: str) -> str:
    """Say which layers changed and where the models differ, then the same of each model with its
    numbers and the rule."""
    facts = facts_of(statements)
    compared = list(facts.get(COMPARED, ()))
    if not compared:
        return summarise(statements)
    names = _names_of(facts)
    named = len(first_of(compared, MOST_NAMED))
    clauses = [_clause(facts, model, names[model], label) for model in compared[:named]]
    if rest := compared[named:]:
        count = sum(model in facts.get(DIFFERS, ()) for model in rest)
        verb = by_number(count, "differs", "differ")
        clauses.append(f"{count or 'none'} of the other {len(rest)} models {verb} in some layer")
    parts = (
        *(*changed_sentences(statements), summarise(statements)),
        *_scores(facts, SECOND_RUN, "Two runs of one seed score {}."),
        *(f"By model: {'; '.join(clauses)}.", _unmeasured(facts), RULE),
        *(most_changed(facts, verdict) for verdict in CHANGES),
    )
    return " ".join(filter(None, parts))


def summarise(statements: Sequence[Statement]) -> str:
    """Say where the models differ from the base and which one most, in two lines above a figure."""
    facts = facts_of(statements)
    if not facts.get(COMPARED):
        return _unmeasured(facts)
    rival = _scores(facts, REFERENCE, "For comparison, two pretraining seeds score {}.")
    return " ".join([_finding(facts), *rival, *_unequal(facts)])


def changed_sentences(statements: Sequence[Statement]) -> list[str]:
    """Say in two lines each which layers fine-tuning changed most, and in which models none did;
    nothing without a comparison of functions."""
    facts = facts_of(statements)
    levels, names = lowest_of(facts), _names_of(facts)
    changed = {
        verdict: [facts[verdict][model] for model in facts.get(verdict, ()) if model in levels]
        for verdict in CHANGES
    }
    sentences = []
    for verdict in (BEYOND_RANDOM, CHANGED_MOST):
        even = [fact for fact in changed[verdict] if _is_even(facts, fact)]
        if stated := [fact for fact in changed[verdict] if fact not in even]:
            whole = _changes(stated, names, verdict)
            sentences.append(whole if len(whole) <= TWO_LINES else _change(stated, names, verdict))
        if even:
            of = listed([names[fact.subject] for fact in even], MOST_NAMED)
            moved = _moved(even, verdict)
            sentences.append(f"No layer of {of} changes detectably more than the others: {moved}.")
    if alike := changed[LIKE_RANDOM]:
        of = listed([names[fact.subject] for fact in alike], MOST_NAMED)
        sentences.append(
            f"No layer of {of} changes detectably more than at random: at most "
            f"{_times(_furthest(alike, LIKE_RANDOM).number)} as much as after random changes of "
            "equal spectrum."
        )
    return sentences


def _furthest(stated: Sequence[Statement], verdict: str) -> Statement:
    """Choose the change that is largest: by similarity the lowest, by ratio the highest."""
    choose = min if verdict == CHANGED_MOST else max
    return choose(stated, key=lambda fact: fact.number.value)


def _is_even(facts: Facts, fact: Statement) -> bool:
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
    whose, furthest = "outputs" if several else "its output", _furthest(stated, verdict).number
    if verdict == CHANGED_MOST:
        return f"similarity of {whose} to the base's {'down to ' * several}{furthest.text}"
    differs = "differ up to" if several else "differs"
    return f"{whose} {differs} {_times(furthest)} as much as after random changes"


def _change(stated: Sequence[Statement], names: Mapping[str, str], verdict: str) -> str:
    """Name the layers that changed most of one model, and those of all others together."""
    first = _furthest(stated, verdict)
    shown = (
        first.number.text
        if verdict == CHANGED_MOST
        else f"{_times(first.number)} as much as random changes"
    )
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


def most_changed(facts: Facts, verdict: str) -> str:
    """Name the layers that changed most, of the models of this verdict, with their numbers and with
    where their states differ most; "" without any."""
    names, levels = _names_of(facts), lowest_of(facts)
    changed = [model for model in facts.get(verdict, ()) if model in levels]
    shown = first_of(changed, MOST_NAMED)
    clauses = []
    for model in shown:
        layers, number = facts[verdict][model].layers, facts[verdict][model].number
        if verdict == LIKE_RANDOM:
            clauses.append(f"{names[model]} ({_times(number)} as much at most)")
            continue
        lowest = levels[model].layers[0]
        elsewhere = f"; its states differ most at layer {lowest}" if lowest not in layers else ""
        end, score = "lowest", number.text
        if verdict == BEYOND_RANDOM:
            end, score = "at most", f"{number.value_text} times as much"
        unclear = f"not distinguishable, {end} " if len(layers) > 1 else ""
        clauses.append(f"{layers_in_words(layers)} of {names[model]} ({unclear}{score}{elsewhere})")
    if not clauses:
        return ""
    rest = len(changed) - len(shown)
    more = f" The other {rest} are in the table." if rest else ""
    return said(CHANGES[verdict], places=listed(clauses)) + more


def facts_of(statements: Iterable[Statement]) -> Facts:
    """Sort statements by verdict and subject."""
    facts: Facts = {}
    for statement in statements:
        facts.setdefault(statement.verdict, {})[statement.subject] = statement
    return facts


def lowest_of(facts: Facts) -> Mapping[str, Statement]:
    """Give each model's lowest similarity, whether at chance level or above."""
    return facts.get(LOWEST, {}) | facts.get(AT_CHANCE, {})


def _names_of(facts: Facts) -> dict[str, str]:
    """Name the models compared, shortly."""
    verdicts = (COMPARED, UNMEASURED, SATURATED)
    return short_names(dict.fromkeys(name for each in verdicts for name in facts.get(each, ())))


def _unmeasured(facts: Facts) -> str:
    """Name the models of which no layer could be measured; "" without any."""
    names, parts = _names_of(facts), []
    for verdict, sentence in ((UNMEASURED, "unmeasured"), (SATURATED, "saturated")):
        if shown := [names[model] for model in facts.get(verdict, ())]:
            verb = by_number(len(shown), "has", "have")
            parts.append(said(sentence, models=listed(shown), have=verb))
    return " ".join(parts)


def _finding(facts: Facts) -> str:
    """Say where the models differ from the base, and what the least similar one scores."""
    compared, names, kind = list(facts[COMPARED]), _names_of(facts), _kind(facts)
    levels = lowest_of(facts)
    least = min(compared, key=lambda model: levels[model].number.value)
    score, at = levels[least].number, f"layer {levels[least].layers[0]}"
    at_chance = ", not detectably above chance" if least in facts.get(AT_CHANCE, ()) else ""
    places = {model: _place(facts, model) for model in compared if model in facts.get(DIFFERS, ())}
    if not places:
        lowest = f"the lowest similarity is {score.text} ({names[least]}, {at}){at_chance}"
        who, do = f"The {kind}", "do"
        if len(compared) == 1:
            lowest = f"its lowest similarity is {score.text}, at {at}{at_chance}"
            who, do = names[least], "does"
        return f"{who} {do} not detectably differ from the base in any layer: {lowest}."
    if len(compared) == 1:
        return (
            f"{names[least]} differs from the base {places[least]}: similarity {score.text} at "
            f"{at}{at_chance}."
        )
    same = len(places) == len(compared) and len(set(places.values())) == 1
    others = [levels[model].number for model in compared if model != least]
    apart = least in places and score.high < min(estimate.low for estimate in others)
    if same:
        text = f"The {kind} differ from the base {places[least]}"
    else:
        text = f"{_counted(len(places), len(compared), kind)} from the base"
    if not apart:
        some = "" if same else " in some layer"
        return f"{text}{some}: similarity falls to {score.text} ({names[least]}, {at}){at_chance}."
    # two lines have no room for more
    place = "" if same else f" ({layers_in_words(facts[DIFFERS][least].layers, '–')})"
    return f"{text}, {names[least]} most{place}: similarity {score.text} at {at}{at_chance}."


def _counted(count: int, total: int, kind: str) -> str:
    """Say how many of the models differ, with the verb: "Both fine-tunes differ"."""
    if count == total:
        return f"{'Both' if total == 2 else f'All {total}'} {kind} differ"
    return f"{count} of {total} {kind} {by_number(count, 'differs', 'differ')}"


def _kind(facts: Facts) -> str:
    """Call them fine-tunes unless one of them may not have been trained from the base."""
    tuned = all(model in facts.get(WEIGHT_CHANGE, ()) for model in facts[COMPARED])
    return "models" if facts.get(NOT_FROM_BASE) or not tuned else "fine-tunes"


def _place(facts: Facts, model: str) -> str:
    """Say where one model differs."""
    only = model not in facts.get(MAY_DIFFER, ())
    return place_in_words(facts[DIFFERS][model].layers, facts[COMPARED][model].layers, only=only)


def _clause(facts: Facts, model: str, name: str, label: str) -> str:
    """Say where one model differs, with its lowest similarity, its runs and its weight change."""
    lowest = lowest_of(facts)[model]
    place, also = "does not detectably differ", ""
    if model in facts.get(DIFFERS, ()):
        place, also = f"differs {_place(facts, model)}", "also "
    uncertain, runs, scaled, size = (
        facts.get(verdict, {}).get(model) for verdict in (MAY_DIFFER, RUNS, SCALED, WEIGHT_CHANGE)
    )
    more = f", but may {also}differ in {layers_in_words(uncertain.layers)}" if uncertain else ""
    smaller = f", scaled to {scaled.number.text}" if scaled else ""
    parts = (
        f"lowest {label} {lowest.number.text} at layer {lowest.layers[0]}",
        "not detectably above chance" if model in facts.get(AT_CHANCE, ()) else "",
        f"mean of {runs.number.text} runs" if runs else "",
        f"weight change {size.number.text}{smaller}" if size else "",
    )
    stranger = " (not trained from the base)" if model in facts.get(NOT_FROM_BASE, ()) else ""
    return f"{name}{stranger} {place}{more} ({'; '.join(filter(None, parts))})"


def _scores(facts: Facts, verdict: str, sentence: str) -> list[str]:
    """Say what a reference model scores at the layer where the models differ most; nothing without
    one."""
    references = list(facts.get(verdict, {}).values())
    return [sentence.format(reference.number.value_text) for reference in references[:1]]


def _unequal(facts: Facts) -> list[str]:
    """Say that the weights moved unequally far, a rival explanation of every difference between
    models."""
    strangers = facts.get(NOT_FROM_BASE, {})
    sizes = sorted(
        statement.number.value
        for model, statement in facts.get(WEIGHT_CHANGE, {}).items()
        if model not in strangers
    )
    if facts.get(SCALED) or len(sizes) < 2 or sizes[-1] < UNEQUAL * sizes[0]:
        return []
    return [f"Weight changes range from {text_of(sizes[0])} to {text_of(sizes[-1])}."]
