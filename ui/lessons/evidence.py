"""What a lesson's figure says about each of its questions: a sentence made from the result that the
page shows.

A lesson's answers hold for any model and text; the numbers beside them come from here, at run time:
from what the study states, and from its tables where it states nothing of the kind. A sentence is
"" if the result does not have its number, as in a study without controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from core.errors import listed
from core.results.estimates import Estimate, estimate_of, estimates_of
from core.results.metrics import OF_SELECTIVITY
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.studies.alignment.seeds.tables import rows_between
from core.studies.probes.trees.statements import (
    BASELINE,
    CHOSEN_BY,
    UNTRAINED,
    stated,
    stated_scores,
)
from core.studies.probes.trees.tables import CHAIN, PARSED
from core.studies.rsa.layers.differences import equal_layers
from core.studies.weights.clusters.tables import NORMS
from core.studies.weights.clusters.text import EXPECTED
from core.studies.weights.ranks import CHANCE

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result
    from core.results.statements import Statement

Evidence = Callable[["Result"], str]


class LackingError(Exception):
    """The result does not have the number."""


def or_nothing(evidence: Evidence) -> Evidence:
    """Let a question's evidence be "" where the result does not have its number."""

    @wraps(evidence)
    def said(result: Result) -> str:
        try:
            return evidence(result)
        except LackingError:
            return ""

    return said


def nothing(result: Result) -> str:
    """Say nothing: the question is about no number of the figure."""
    return ""


def _top_similarity(result: Result) -> str:
    row = _top(result).iloc[0]
    return (
        f"In this figure the similarity of {short_name(str(row['model']))} to the base at layer "
        f"{int(row['layer'])} is {estimate_of(row, 'similarity').text}, although no vector of one "
        "model was compared with one of the other."
    )


def _chance_band(result: Result) -> str:
    top = _top(result).dropna(subset="null_low")
    low, high = _first(top["null_low"].sort_values()), top["null_high"].max()
    return (
        f"In this figure chance level reaches from {text_of(low)} to {text_of(high)} at layer "
        f"{int(top['layer'].iloc[0])}."
    )


def _changes_of_weights(result: Result) -> str:
    top = _top(result).sort_values("similarity")
    if len(top) < 2 or top["relative_change"].isna().any():
        raise LackingError
    names = short_names(top["model"])
    parts = [
        f"{names[row['model']]} ends at {text_of(row['similarity'])} after a weight change of "
        f"{text_of(row['relative_change'])}"
        for _, row in top.iloc[[0, -1]].iterrows()
    ]
    return f"In this figure {parts[0]}, and {parts[1]}."


def _equal_layers(result: Result) -> str:
    equal = equal_layers(result)
    if not equal:
        return "In this figure no model's similarity is exactly 1 at any layer."
    names = short_names(equal)
    parts = [f"{names[ref]} up to layer {layer}" for ref, layer in equal.items()]
    return f"In this figure the similarity is exactly 1 for {listed(parts)}."


def _dropped_dimensions(result: Result) -> str:
    dropped, standardised = int(result.spec["drop_rogue"]), result.spec["standardise"]
    most = f"the {dropped} largest dimensions are"
    left_out = {0: "no dimension is", 1: "the largest dimension is"}.get(dropped, most)
    scaled = "standardised" if standardised else "not standardised"
    return f"In this figure {left_out} left out, and dimensions are {scaled}."


def _top(result: Result) -> pd.DataFrame:
    table = result.tables["similarity"]
    return table[table["layer"] == table["layer"].max()].dropna(subset="similarity")


def _selectivity(result: Result) -> str:
    facts = stated(result, f"uuas{OF_SELECTIVITY}")
    return "".join(
        f"In this study the score of {short_name(each.subject)} on parse trees at layer "
        f"{each.layers[0]} is {each.number.text} above its score on control trees."
        for each in facts[:1]
    )


def _selection(result: Result) -> str:
    best = _best(result)
    (layer,) = best.layers
    chosen_by = _first([*stated_scores(result, CHOSEN_BY).values()])
    return (
        f"In this study layer {layer} of {short_name(best.subject)} is best on the development "
        f"sentences (UUAS {chosen_by.value_text}); its score on the test sentences is "
        f"{best.number.value_text}."
    )


def _parser(result: Result) -> str:
    score = _baseline(result, PARSED).value_text
    return f"In this study the parser itself scores a UUAS of {score} on gold trees."


def _untrained(result: Result) -> str:
    best = _first([*stated_scores(result, UNTRAINED).values()])
    return (
        f"In this study the untrained model reaches {best.value_text} at its best layer, and "
        f"linking adjacent words gives {_baseline(result, CHAIN).value_text}."
    )


def _baseline(result: Result, name: str) -> Estimate:
    scores = stated_scores(result, BASELINE)
    score: Estimate = _first([scores[name]] if name in scores else [])
    return score


def _decoded(result: Result) -> str:
    best = _best(result)
    return (
        f"In this study the UUAS at layer {best.layers[0]} of {short_name(best.subject)} is "
        f"{best.number.text}; whether the model uses these edges is not measured."
    )


def _best(result: Result) -> Statement:
    """The statement of the first probed model's UUAS at its best layer, whatever the headline is
    about."""
    best: Statement = _first(stated(result, "uuas"))
    return best


def _chance(result: Result) -> str:
    expected = _first([each for each in result.statements if each.verdict == EXPECTED])
    models, chance = len(result.table), expected.number.value_text
    return f"In this study of {models} models chance is {chance}."


def _smallest_p(result: Result) -> str:
    vectors, k = result.tables["vectors"], result.arrays.get("k")
    _first(vectors)
    rows = vectors[(vectors["k"] == k) & (vectors["vector"] == result.spec["vector"])]
    smallest = text_of(_first(rows["smallest_p"]), "p")
    return (
        f"With the {len(result.table)} models of this study, the smallest p-value that the "
        f"permutation test can give is {smallest}."
    )


def _size_alone(result: Result) -> str:
    directed, sized = shares_of(result, str(result.spec["vector"]), NORMS)
    return (
        f"In this study {sized.value_text} of the nearest neighbours by the size of the update "
        f"alone share a label, and {directed.value_text} by the vector of the figure."
    )


def _explained(result: Result) -> str:
    shares = result.arrays.get("explained")
    if shares is None or len(shares) < 2 or not (shares == shares).all():
        raise LackingError
    return (
        f"The two axes of this study's map hold {text_of(float(shares[:2].sum()), 'per cent')} of "
        "the variance; the rest is not in the picture."
    )


def _signs(result: Result) -> str:
    averaged, projected = shares_of(result, "original", "projector")
    return (
        f"In this study {averaged.value_text} of the nearest neighbours share a label by the "
        f"averaged singular vectors, and {projected.value_text} by projectors, which have no sign."
    )


def shares_of(result: Result, *vectors: str) -> list[Estimate]:
    """The shares of neighbours with the same label by these vectors, as the headline states them.
    Raises LackingError if one has none."""
    shares = {fact.subject: fact.number for fact in result.statements if fact.baseline == CHANCE}
    return [_first([shares[vector]] if vector in shares else []) for vector in vectors]


def _without_map(result: Result) -> str:
    return f"In this study the error without a map is {error_of(result, 'identity').text}."


def _per_word_average(result: Result) -> str:
    average, ridge = error_of(result, "lookup").value, error_of(result, "ridge").value
    return (
        f"In this study the per-word average leaves {text_of(average, 'per cent')} of the variance "
        f"of unseen words unexplained, ridge {text_of(ridge, 'per cent')}."
    )


def _lowest_error(result: Result) -> str:
    plain, invertible = error_of(result, "mlp"), error_of(result, "inn")
    return (
        f"In this study the error of the MLP, which cannot be inverted, is {plain.text}, that of "
        f"the invertible network {invertible.text}."
    )


def _pairs(result: Result) -> str:
    pairs = result.tables["alignment"][["source", "target"]].drop_duplicates()
    pairs = pairs[pairs.isin(result.spec["models"]).all(axis=1)]  # none of a second run
    models = {*pairs["source"], *pairs["target"]}
    return f"This study has {len(models)} models in {len(pairs)} directed pairs."


def error_of(result: Result, name: str) -> Estimate:
    """An aligner's error for unseen words of the models' pairs. Raises LackingError if there is
    none: statements do not say whether their words are unseen."""
    rows = rows_between(result.tables["methods"], "unseen")
    error: Estimate = _first(estimates_of(rows[rows["method"] == name], "nmse"))
    return error


def _first(values: Any) -> Any:
    """The first of a list, a column or a table. Raises LackingError if it is empty."""
    if not len(values):
        raise LackingError
    return values.iloc[0] if hasattr(values, "iloc") else values[0]


# For each lesson, in the order of its questions.
_SAID: Mapping[str, tuple[Evidence, ...]] = {
    "rsa": (_top_similarity, _chance_band, _changes_of_weights, _equal_layers, _dropped_dimensions),
    "probe": (_selectivity, _selection, _parser, _untrained, _decoded),
    "weights": (_chance, _smallest_p, _size_alone, _explained, _signs),
    "alignment": (_without_map, _per_word_average, _lowest_error, _pairs, nothing),
}
EVIDENCE = {page: tuple(map(or_nothing, each)) for page, each in _SAID.items()}
