"""The headline of the study and the sentences of its views: which layers changed and where models
differ from the base, made from the tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.results.export import Result
from core.studies.rsa.layers import function_text
from core.studies.rsa.layers.differences import (
    AT_CHANCE,
    COMPARED,
    DIFFERS,
    MAY_DIFFER,
    NOT_FROM_BASE,
    OTHER_LAYER,
    REFERENCE,
    RUNS,
    SAME_LAYER,
    SATURATED,
    SCALED,
    SECOND_RUN,
    TEXTS_ALIKE,
    UNMEASURED,
    WEIGHT_CHANGE,
    grid_statements,
    measured,
    place_in_words,
    text_differences,
    text_statement,
)
from core.studies.rsa.layers.notice_text import RULE, UNEQUAL
from core.studies.text_kit import (
    TWO_LINES,
    Statement,
    by_number,
    counted,
    first_of,
    layers_in_words,
    leading,
    listed,
    short_name,
    text_of,
    words_beside,
)

said = words_beside(__file__).sentence
NOTHING = said("nothing")
NAMED = 3  # models that the grid's sentence names


def curves_sentence(result: Result) -> str:
    """Say which layers changed, by their functions, and where states differ as far as there is
    room; without functions, where the models differ from the base; "" where there are none."""
    if result.table.empty:
        return ""
    sentences = [*function_text.changed_sentences(result.statements), summarise(result.statements)]
    return leading(sentences, TWO_LINES) if len(sentences) > 1 else sentences[0]


def grid_sentence(result: Result) -> str:
    """Say by how much each layer is more similar to the same layer of the base than to any other at
    least, or less similar at most; "" without a grid."""
    grid = result.tables.get("grid")
    if grid is None or grid.empty:
        return ""
    # A grid has no chance levels of its own; those of the layers themselves stand for it.
    without = set(result.table["model"]) - set(measured(result.table)["model"])
    grid = grid[~grid["model"].isin(without)]
    statements = grid_statements(grid, str(result.spec["base"]))
    same = [each for each in statements if each.verdict == SAME_LAYER]
    moved = [each for each in statements if each.verdict == OTHER_LAYER]
    parts = []
    if same:
        shown = listed([short_name(each.subject) for each in same], NAMED)
        least = min(each.number.value for each in same)
        parts.append(
            f"every layer of {shown} is most similar to the same layer"
            + ("" if moved else f", by at least {text_of(least)}")
        )
    if moved:
        parts.append(_moved(min(moved, key=lambda each: each.number.value), grid))
    if len(moved) > 1:
        parts.append(f"so are layers of {counted(len(moved) - 1, 'more model', 'more models')}")
    return f"Against the base, {'; '.join(parts)}." if parts else ""


def _moved(statement: Statement, grid: pd.DataFrame) -> str:
    """Say how much more similar a layer is to another layer of the base than to the same one."""
    layer = statement.layers[0]
    rows = grid[(grid["model"] == statement.subject) & (grid["layer"] == layer)]
    to = rows.set_index("base_layer")["similarity"]
    return (
        f"layer {layer} of {short_name(statement.subject)} is {statement.number.size} more similar "
        f"to layer {to.idxmax()} ({text_of(to.max())} against {text_of(to[layer])})"
    )


def texts_sentence(result: Result) -> str:
    """Say whether the two texts differ, by the largest difference of any model at any layer. Bands
    of differences take the texts' sentences as drawn independently (MOVER: Zou & Donner 2008) and
    hold for all layers and models together (Bonferroni), as the largest is reported."""
    table = result.tables.get("domains")
    if table is None or table["corpus"].nunique() < 2:
        return ""
    largest = text_statement(table)
    if largest is None:
        return said("texts_unknown")
    where = f"{short_name(largest.subject)} at layer {largest.layers[0]}"
    if largest.verdict == TEXTS_ALIKE:
        return said("texts_alike", largest=largest.number.text, where=where)
    first, second = dict.fromkeys(table["corpus"])
    pairs = text_differences(table).dropna(subset=["low"])
    apart = int(((pairs["low"] > 0) | (pairs["high"] < 0)).sum())
    return (
        f"The texts differ in {apart} of {len(pairs)} comparisons, most for {where}: its "
        f"similarity is "
        f"{largest.number.direction('higher', 'lower')} on {second} than on {first}."
    )


def summarise(statements: Sequence[Statement]) -> str:
    """Say where the models differ from the base and which one most, in two lines above a figure."""
    facts = function_text.facts_of(statements)
    if not facts.get(COMPARED):
        return _unmeasured(facts) or NOTHING
    return _finding(facts) + _comparison(facts) + _unequal(facts)


def make_headline(statements: Sequence[Statement], label: str) -> str:
    """Say which layers changed and where the models differ, then the same of each model with its
    numbers and the rule."""
    facts = function_text.facts_of(statements)
    compared = list(facts.get(COMPARED, ()))
    if not compared:
        return summarise(statements)
    names = function_text.names_of(facts)
    named = len(first_of(compared, function_text.MOST_NAMED))
    clauses = [_clause(facts, model, names[model], label) for model in compared[:named]]
    if len(compared) > named:
        rest = compared[named:]
        count = sum(model in facts.get(DIFFERS, ()) for model in rest)
        verb = by_number(count, "differs", "differ")
        clauses.append(f"{count or 'none'} of the other {len(rest)} models {verb} in some layer")
    details = f"By model: {'; '.join(clauses)}."
    parts = (
        *(function_text.changed_sentence(statements), summarise(statements), _second_run(facts)),
        *(details, _unmeasured(facts), RULE, function_text.functions_sentence(statements)),
    )
    return " ".join(filter(None, parts))


def _unmeasured(facts: function_text.Facts) -> str:
    """Name the models of which no layer could be measured; "" without any."""
    names, parts = function_text.names_of(facts), []
    for verdict, reason in (
        (UNMEASURED, ""),
        (SATURATED, " by this measure, because unrelated spaces score 1, too"),
    ):
        shown = [names[model] for model in facts.get(verdict, ())]
        if shown:
            verb = by_number(len(shown), "has", "have")
            parts.append(
                f"{listed(shown)} {verb} no layer that can be compared with the base{reason}."
            )
    return " ".join(parts)


def _finding(facts: function_text.Facts) -> str:
    """Say where the models differ from the base, and what the least similar one scores."""
    compared, names, kind = list(facts[COMPARED]), function_text.names_of(facts), _kind(facts)
    levels = function_text.levels_of(facts)
    least = min(compared, key=lambda model: levels[model].number.value)
    score, at = levels[least].number, f"layer {levels[least].layers[0]}"
    level = ", not detectably above chance" if least in facts.get(AT_CHANCE, ()) else ""
    places = {model: _place(facts, model) for model in compared if model in facts.get(DIFFERS, ())}
    if not places:
        lowest = f"the lowest similarity is {score.text} ({names[least]}, {at}){level}"
        if len(compared) == 1:
            lowest = f"its lowest similarity is {score.text}, at {at}{level}"
            return (
                f"{names[least]} does not detectably differ from the base in any layer: {lowest}."
            )
        return f"The {kind} do not detectably differ from the base in any layer: {lowest}."
    if len(compared) == 1:
        return (
            f"{names[least]} differs from the base {places[least]}: similarity {score.text} at "
            f"{at}{level}."
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
        return f"{text}{some}: similarity falls to {score.text} ({names[least]}, {at}){level}."
    # two lines have no room for more
    layers = layers_in_words(facts[DIFFERS][least].layers, "–")
    place = "" if same else f" ({layers})"
    return f"{text}, {names[least]} most{place}: similarity {score.text} at {at}{level}."


def _counted(count: int, total: int, kind: str) -> str:
    """Say how many of the models differ, with the verb: "Both fine-tunes differ"."""
    if count == total:
        return f"{'Both' if total == 2 else f'All {total}'} {kind} differ"
    return f"{count} of {total} {kind} {by_number(count, 'differs', 'differ')}"


def _kind(facts: function_text.Facts) -> str:
    """Call them fine-tunes unless one of them may not have been trained from the base."""
    tuned = all(model in facts.get(WEIGHT_CHANGE, ()) for model in facts[COMPARED])
    return "models" if facts.get(NOT_FROM_BASE) or not tuned else "fine-tunes"


def _place(facts: function_text.Facts, model: str) -> str:
    """Say where one model differs."""
    layers = facts[COMPARED][model].layers
    return place_in_words(
        facts[DIFFERS][model].layers, layers, only=model not in facts.get(MAY_DIFFER, ())
    )


def _clause(facts: function_text.Facts, model: str, name: str, label: str) -> str:
    """Say where one model differs, with its lowest similarity, its runs and its weight change."""
    lowest, uncertain = function_text.levels_of(facts)[model], facts.get(MAY_DIFFER, {}).get(model)
    place, also = "does not detectably differ", ""
    if model in facts.get(DIFFERS, ()):
        place, also = f"differs {_place(facts, model)}", "also "
    more = f", but may {also}differ in {layers_in_words(uncertain.layers)}" if uncertain else ""
    at, score = lowest.layers[0], lowest.number
    runs, scaled = (facts.get(verdict, {}).get(model) for verdict in (RUNS, SCALED))
    size = facts.get(WEIGHT_CHANGE, {}).get(model)
    smaller = f", scaled to {scaled.number.text}" if scaled else ""
    parts = (
        f"lowest {label} {score.text} at layer {at}",
        "not detectably above chance" if model in facts.get(AT_CHANCE, ()) else "",
        f"mean of {runs.number.text} runs" if runs else "",
        f"weight change {size.number.text}{smaller}" if size else "",
    )
    stranger = " (not trained from the base)" if model in facts.get(NOT_FROM_BASE, ()) else ""
    return f"{name}{stranger} {place}{more} ({'; '.join(filter(None, parts))})"


def _comparison(facts: function_text.Facts) -> str:
    """Say what another pretraining seed scores at the layer where the models differ most."""
    scores = [statement.number.value_text for statement in facts.get(REFERENCE, {}).values()]
    return f" For comparison, two pretraining seeds score {scores[0]}." if scores else ""


def _second_run(facts: function_text.Facts) -> str:
    """Say what a second run of the base scores there."""
    scores = [statement.number.value_text for statement in facts.get(SECOND_RUN, {}).values()]
    return f"Two runs of one seed score {scores[0]}." if scores else ""


def _unequal(facts: function_text.Facts) -> str:
    """Say that the weights moved unequally far, a rival explanation of every difference between
    models."""
    strangers = facts.get(NOT_FROM_BASE, {})
    changes = [s for model, s in facts.get(WEIGHT_CHANGE, {}).items() if model not in strangers]
    sizes = sorted(statement.number.value for statement in changes)
    if facts.get(SCALED) or len(sizes) < 2 or sizes[-1] < UNEQUAL * sizes[0]:
        return ""
    return f" Weight changes range from {text_of(sizes[0])} to {text_of(sizes[-1])}."
