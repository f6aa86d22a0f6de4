"""The sentences of views, at most two lines long, except that of a map that a reader chose."""

from __future__ import annotations

from core.maths.maps.registry import METHODS
from core.studies.alignment.seeds.statements import (
    BEST,
    DIRECTED,
    HIGHEST,
    LEAST,
    LOWEST,
    MOST,
    OF_VIEWS,
    SAME,
    TRAINED,
    UNCONVERGED,
    judged,
    view_statements,
)
from core.studies.alignment.seeds.text import (
    WHICH,
    again_sentence,
    best_named,
    layer_clause,
    lead_sentence,
    named,
    tie_clause,
)
from core.studies.kit import Result
from core.studies.text_kit import Statement, short_name, short_names, text_of


def method_sentence(result: Result) -> str:
    """Say how much of the variance the best map predicts, and of a second run's."""
    facts = [fact for fact in result.statements if fact.verdict not in OF_VIEWS]
    if not facts:
        return ""
    words = judged(result.tables["methods"])
    return f"{lead_sentence(facts, words)} {again_sentence(facts)}".rstrip()


def layer_sentence(result: Result) -> str:
    """Say at which layer the best map's error is lowest and at which it is highest."""
    ends = [fact for fact in result.statements if fact.verdict in (LOWEST, HIGHEST)]
    if not ends:
        return ""
    words, first = WHICH[judged(result.tables["methods"])], ends[0]
    if len(ends) > 1:
        return f"On {words}, {layer_clause(ends)}{tie_clause(result.statements)}."
    return (
        f"On {words}, the error of {named(first.subject)} at layer {first.layers[0]} is "
        f"{first.number.text}."
    )


def of_views(result: Result) -> dict[str, Statement]:
    """The statements of views by verdict; made of the tables where a result was saved before they
    were stated. Of two pairs, LEAST and MOST are in their order."""
    facts = [fact for fact in result.statements if fact.verdict in OF_VIEWS]
    models, grid = result.spec["models"], result.spec.get("grid", "")
    made = facts or view_statements(result.tables, models, grid)
    return {fact.verdict: fact for fact in made}


def grid_sentence(result: Result) -> str:
    """Say how much higher the error from the same layer is than that from the best layer, for
    layers of the first pair's target."""
    facts = of_views(result)
    if SAME not in facts:
        return ""
    same, best = facts[SAME], facts[BEST]
    names = short_names(result.spec["models"])
    source, target = names[same.subject], names[same.baseline]
    label = METHODS[same.metric].label
    above = same.number.value - best.number.value
    if not above:
        return (
            f"Every layer of {target} is predicted best from the same layer of {source} "
            f"(map: {label})."
        )
    return (
        f"From the same layer of {source}, the error is at most {text_of(above)} above that "
        f"from the best layer (layer {same.layers[-1]} of {target}: {same.number.text}; from layer "
        f"{best.layers[0]}: {best.number.text}; map: {label})."
    )


def pairs_sentence(result: Result) -> str:
    """Say how far the errors of directed pairs differ, by the best map, averaged over layers."""
    facts = of_views(result)
    if DIRECTED not in facts:
        return ""
    pairs, least, most = facts[DIRECTED], facts[LEAST].number, facts[MOST].number
    if pairs.number.value == 2:
        there, back = (fact for fact in facts.values() if fact.verdict in (LEAST, MOST))
        return (
            f"This is one pair: {best_named(there.metric)} leaves "
            f"{text_of(there.number.value, 'per cent')} of the variance unexplained from "
            f"{short_name(there.subject)} into {short_name(there.baseline)} and "
            f"{text_of(back.number.value, 'per cent')} back. Add models to compare pairs."
        )
    return (
        f"The errors of {pairs.number.value_text} directed pairs differ by at most "
        f"{text_of(most.value - least.value)}: averaged over layers, they range from "
        f"{least.text} to {most.text} (map: {METHODS[pairs.subject].label})."
    )


def training_sentence(result: Result) -> str:
    """Say how many networks converged."""
    facts = of_views(result)
    if TRAINED not in facts:
        return ""
    networks, missing = (facts[name].number.value_text for name in (TRAINED, UNCONVERGED))
    if not facts[UNCONVERGED].number.value:
        rates = "at each of three falling learning rates"
        return f"All {networks} networks converged: they stopped improving {rates}."
    return (
        f"{missing} of {networks} networks had not converged at the last training step, "
        "so their errors may be too high."
    )
