"""The sentences of the alignment study, except those of its views, which are in `view_text`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.maths.evaluation.judging import JUDGED
from core.maths.evaluation.split import SHARES
from core.maths.maps.registry import METHODS
from core.maths.statistics import LEVEL
from core.options.layer_numbers import which_layers
from core.studies.alignment.seeds.spec import AGAIN, AlignSpec
from core.studies.alignment.seeds.statements import (
    BESIDE,
    BETTER,
    EQUAL,
    FIRST,
    HIGHEST,
    LAYERS,
    LOWEST,
    PREDICTS,
    PREDICTS_NOTHING,
    SECOND,
    SEEN,
    WINDOW,
    WORSE,
    find,
)
from core.studies.text_kit import (
    Statement,
    layers_in_words,
    listed,
    sentence_of,
    text_of,
    words_beside,
)

WHICH = {"unseen": "unseen words", "all": "held-out rows", "seen": "words seen in training"}
NAMES = {  # of maps whose labels are no names within a sentence
    "lookup": "a per-word average",
    "static-window": "static window",
    "inn": "invertible network",
    "mlp": "MLP",
}
WITH_THE = ("static-window", "inn", "mlp")
ROWS = {
    "words": "a word (the mean of its subwords)",
    "cls": "the [CLS] vector of a sentence",
    "mean": "the mean of a sentence's words",
}
said = words_beside(__file__).sentence


def make_headline(facts: Sequence[Statement], words: str) -> str:
    """Write the headline of the statements of `statements_of`; `words` is what `judged` says."""
    if not facts:
        return said("no_pair")
    sentences = [
        lead_sentence(facts, words),
        again_sentence(facts),
        gain_sentence(facts),
        beside_sentence(facts),
        _comparison_sentences(facts),
        _identity_sentence(facts),
        seen_sentence(facts),
        _layer_sentence(facts),
        *(_group_sentence(fact) for fact in facts if fact.subject == SECOND),
    ]
    return " ".join(filter(None, sentences))


def lead_sentence(facts: Sequence[Statement], words: str) -> str:
    """Say how much the best map predicts, compared with the static window, or where there is none
    with ridge and the per-word average."""
    best, share = facts[0], facts[0].number
    if best.verdict == PREDICTS_NOTHING:
        return (
            f"On {WHICH[words]}, no map predicts better than the target's mean; the best is "
            f"{named(best.subject)} (error {share.text})."
        )
    again, whose = find(facts, AGAIN, best.subject), "variance of the other model's vectors"
    part = ""
    if again is not None and again.verdict == PREDICTS:
        whose = f"other model's variance ({amount(again)} of a second run's)"
        beyond = find(facts, AGAIN, FIRST)
        part = "In part: " if beyond is not None and beyond.verdict == BETTER else ""
    on = f"{part}{'on' if part else 'On'} {WHICH[words]}"
    text = f"{on}, {best_named(best.subject)} predicts {share.value_text} of the {whose}"
    window = find(facts, WINDOW)
    if window is not None and window.verdict != PREDICTS_NOTHING:
        return f"{text}, words alone (static window) {amount(window)}."
    ridge, average = (find(facts, name) for name in ("ridge", "lookup"))
    parts = (
        text,
        _beside(ridge, find(facts, best.subject, "ridge")) if ridge and ridge is not best else "",
        f"; {named('lookup')} predicts {amount(average)}" if average else "",
    )
    return f"{''.join(parts)}."


def again_sentence(facts: Sequence[Statement]) -> str:
    """Say what is predicted of a second run, unless the first sentence does; "" without one."""
    fact = next((fact for fact in facts if fact.subject == AGAIN), None)
    if fact is None or fact.baseline == facts[0].subject:
        return ""
    return f"Of a second run's vectors, {named(fact.baseline)} predicts {amount(fact)}."


def gain_sentence(facts: Sequence[Statement]) -> str:
    """Say how much more states predict than the static window, and at which layer most; "" without
    a window."""
    overall, by_layer = find(facts, LAYERS, WINDOW), _by_layer(facts, LAYERS)
    if overall is None or overall.layers or not by_layer:
        return ""
    most = max(by_layer.values(), key=lambda fact: fact.number.value)
    size = overall.number.size
    alone = "words alone (static window"
    compared = {
        BETTER: f"{size} more than {alone})",
        EQUAL: f"not detectably more than {alone}; {size})",
        WORSE: f"{size} less than {alone})",
    }
    unclear = [
        layer
        for layer, fact in by_layer.items()
        if fact.verdict == EQUAL and overall.verdict != EQUAL
    ]
    at_most = f", most at layer {most.layers[0]} ({most.number.value_text})"
    parts = (
        f"{_upper(layers_in_words(list(by_layer)))} predict {compared[overall.verdict]}",
        at_most if most.verdict == BETTER else "",
        f" and not detectably more at {layers_in_words(unclear)}" if unclear else "",
    )
    return f"{''.join(parts)}."


def beside_sentence(facts: Sequence[Statement]) -> str:
    """Say what layers add to the static window where both are read; "" where they are not."""
    added = _by_layer(facts, BESIDE)
    if not added:
        return ""
    values = [fact.number.value for fact in added.values()]
    places = [layer for layer, fact in added.items() if fact.verdict == BETTER]
    clear = f"detectably at {layers_in_words(places)}" if places else "nothing detectable"
    ends = " to ".join(dict.fromkeys(text_of(end(values), "points") for end in (min, max)))
    return f"Beside the static window, layers add {ends} points, {clear}."


def _beside(ridge: Statement, compared: Statement | None) -> str:
    if compared is not None and compared.verdict == BETTER:
        return f" and ridge significantly less ({amount(ridge)})"
    return f" and ridge {amount(ridge)}" + (f" ({EQUAL})" if compared is not None else "")


def _by_layer(facts: Sequence[Statement], subject: str) -> dict[int, Statement]:
    return {fact.layers[0]: fact for fact in facts if fact.subject == subject and fact.layers}


def amount(fact: Statement) -> str:
    """Write what a map predicts, a share of the variance or "none"."""
    return "none" if fact.verdict == PREDICTS_NOTHING else fact.number.value_text


def named(method: str) -> str:
    """Write a map's name within a sentence."""
    return "the " * (method in WITH_THE) + _bare(method)


def best_named(method: str) -> str:
    """Write the best map's name within a sentence, after plain words."""
    return f"the best map ({_bare(method)})"


def _bare(method: str) -> str:
    return NAMES.get(method, METHODS[method].label)


def _comparison_sentences(facts: Sequence[Statement]) -> str:
    compared = [fact for fact in facts if fact.baseline == "ridge" and fact.subject != AGAIN]
    clauses = [
        f"{named(fact.subject)} is not detectably different from ridge "
        f"({fact.number.direction('more', 'less')})"
        if fact.verdict == EQUAL
        else f"{named(fact.subject)} predicts {fact.number.direction('more', 'less')} than ridge"
        for fact in compared
    ]
    if not clauses:
        return ""
    tried = round((1 - LEVEL) / (1 - max(fact.number.level for fact in compared)))
    corrected = f" Intervals are corrected for {tried} non-linear maps." if tried > 1 else ""
    return f"{sentence_of(*clauses)}{corrected}"


def _identity_sentence(facts: Sequence[Statement]) -> str:
    fact = find(facts, "identity")
    if fact is None:
        return ""
    if fact.verdict == PREDICTS_NOTHING:
        return f"Without a map the error is {fact.number.value_text} times the target's variance."
    return f"Without a map {fact.number.value_text} of the variance are predicted."


def seen_sentence(facts: Sequence[Statement]) -> str:
    """Say what the per-word average and ridge leave on words seen in training; "" without them."""
    average, ridge = find(facts, "lookup" + SEEN), find(facts, "ridge" + SEEN, "lookup")
    if average is None:
        return ""
    text = (
        f"On {WHICH['seen']}, {named('lookup')}, which ignores the source model, leaves "
        f"{average.number.text} of the variance unexplained"
    )
    if ridge is None:
        return f"{text}."
    equal = f" ({EQUAL})" if ridge.verdict == EQUAL else ""
    return f"{text}; ridge leaves {ridge.number.direction('less', 'more')}{equal}."


def _layer_sentence(facts: Sequence[Statement]) -> str:
    ends = [fact for fact in facts if fact.verdict in (LOWEST, HIGHEST)]
    return sentence_of(layer_clause(ends)) if len(ends) > 1 else ""


def layer_clause(ends: Sequence[Statement]) -> str:
    """Say where the error is lowest, of `layer_statements`: all layers that are not
    distinguishable."""
    most, least = ends
    if least.layers[0] in most.layers:
        return f"no layer agrees detectably most ({most.number.value_text} to {least.number.text})"
    agree = "agrees" if len(most.layers) == 1 else "agree"
    return (
        f"{layers_in_words(most.layers)} {agree} most (error {most.number.text}; elsewhere up to "
        f"{least.number.value_text})"
    )


def tie_clause(facts: Sequence[Statement]) -> str:
    """Say where the states do not predict detectably more than the static window; "" where they
    do."""
    by_layer = _by_layer(facts, LAYERS)
    ties = [layer for layer, fact in by_layer.items() if fact.verdict != BETTER]
    if not ties:
        return ""
    where = "every layer" if len(ties) == len(by_layer) else layers_in_words(ties)
    return f"; at {where} words alone (static window) are not detectably worse"


def _group_sentence(fact: Statement) -> str:
    if fact.verdict == EQUAL:
        size = fact.number.direction("more", "less")
        return f"The two groups are not detectably different (second: {size} variance predicted)."
    lower = "lower" if fact.verdict == BETTER else "higher"
    return f"The second group is aligned with {lower} error than the first, by {fact.number.size}."


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def make_methods(spec: AlignSpec, sentences: int, depths: Mapping[str, int]) -> str:
    """Write the methods paragraph, ready to paste."""
    parts = {"train": "training", "validation": "validation", "test": "test"}
    units = {"word": "word types", "sentence": "sentences"}[spec.split]
    pairs = len(spec.pairs())
    return said(
        "methods",
        pairs="the pair" if pairs == 1 else f"each of {pairs} pairs",
        sentences=sentences,
        corpus=spec.corpus,
        row=ROWS[spec.items],
        whole=_upper(units),
        units=units,
        shares=", ".join(f"{text_of(share, 'per cent')} {parts[p]}" for p, share in SHARES.items()),
        layers=which_layers(spec.layers, depths),
        maps=", ".join(METHODS[name].label for name in spec.methods),
        judged=JUDGED,
    )


def reaches_in_words(errors: pd.DataFrame) -> str:
    """Say how far the maps from the static window read, for the methods paragraph."""
    once = (errors["split"] == "test") & (errors["words"] == "all")
    reaches = errors.loc[once & (errors["method"] == WINDOW), "reach"].dropna().astype(int)
    clauses = [
        f"{count} read {reach}" for reach, count in reaches.value_counts().sort_index().items()
    ]
    if not clauses:
        return ""
    return (
        f" Of the {len(reaches)} maps from the static window, {listed(clauses)} words to each "
        "side, as validation rows chose; the table of errors names reach and ridge penalty of each "
        "map."
    )


def make_notices(values: Mapping[Any, Mapping[str, Any]]) -> list[str]:
    """Say what a reader must know of the fits, by (group, one, other, methods): too few rows, maps
    left out, sampled rows, unfinished training."""
    notices: list[str] = []
    for (_, first, second, methods), value in values.items():
        rows, width = value["rows"], max(value["d_one"], value["d_other"])
        notices += [said("too_few_rows", rows=rows, width=width)] if width >= rows else []
        for method in methods:
            label = METHODS[method].label
            refused = value.get(f"{method}/refused", "")
            left_out = value.get(f"{method}/left_out", 0)
            ended = np.asarray(value.get(f"{method}/converged", ()), dtype=bool)
            unended = int((~ended).sum())
            notices += (
                f"{first} and {second}: {refused}" if refused else "",
                said("sampled", label=_upper(label), used=rows - left_out, rows=rows)
                if left_out else "",
                said("unconverged", first=first, second=second, left=unended,
                     networks=ended.size, label=label) if unended else "",
            )  # fmt: skip
    return [*filter(None, notices)]
