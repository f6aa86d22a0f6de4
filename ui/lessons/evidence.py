"""What a lesson's figure says about each of its questions: a sentence made from the result that the
page shows.

A lesson's answers hold for any model and text; the numbers beside them come from here, at run time.
A sentence is "" if the result does not have its number, as in a study without controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from core.errors import listed
from core.results.estimates import estimate_of
from core.results.metrics import OF_SELECTIVITY
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.studies.alignment.seeds.tables import rows_between
from core.studies.probes.trees.statements import statements_of
from core.studies.probes.trees.tables import best_row
from core.studies.rsa.layers.differences import equal_layers
from core.studies.weights.clusters.tables import NORMS
from core.studies.weights.ranks import CHANCE

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

Evidence = Callable[["Result"], str]


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
    top = _top(result)
    low, high = top["null_low"].min(), top["null_high"].max()
    if low != low:
        return ""
    return (
        f"In this figure chance level reaches from {text_of(low)} to {text_of(high)} at layer "
        f"{int(top['layer'].iloc[0])}."
    )


def _changes_of_weights(result: Result) -> str:
    top = _top(result).sort_values("similarity")
    if len(top) < 2 or top["relative_change"].isna().any():
        return ""
    names = short_names(top["model"])
    parts = [
        f"{names[row['model']]} ends at {text_of(row['similarity'])} after a weight change of "
        f"{text_of(row['relative_change'])}"
        for _, row in top.iloc[[0, -1]].iterrows()
    ]
    return f"In this figure {parts[0]}, and {parts[1]}."


def _equal_layers(result: Result) -> str:
    equal = equal_layers(result.tables["similarity"])
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
    probes: Any = result
    stated = statements_of(result.tables, list(probes.probes), f"uuas{OF_SELECTIVITY}")
    return "".join(
        f"In this study the score of {short_name(each.subject)} on parse trees at layer "
        f"{each.layers[0]} is {each.number.text} above its score on control trees."
        for each in stated[:1]
    )


def _selection(result: Result) -> str:
    row = _at_best(result, "uuas")
    if row is None or row["dev"] != row["dev"]:
        return ""
    return (
        f"In this study layer {int(row['layer'])} of {short_name(str(row['model']))} is best on "
        f"the development sentences (UUAS {text_of(row['dev'], 'points')} %); its score on the "
        f"test sentences is {text_of(row['value'], 'points')} %."
    )


def _parser(result: Result) -> str:
    rows = result.table[(result.table["model"] == "parser") & (result.table["metric"] == "uuas")]
    if rows.empty:
        return ""
    score = text_of(rows["value"].iloc[0], "points")
    return f"In this study the parser itself scores a UUAS of {score} % on gold trees."


def _untrained(result: Result) -> str:
    table = result.table
    scores = table[(table["metric"] == "uuas") & (table["probe"] == "distance")]
    untrained = scores[scores["model"].str.startswith("random:")]["value"]
    chain = scores[scores["model"] == "linear chain"]["value"]
    if untrained.empty or chain.empty:
        return ""
    return (
        f"In this study the untrained model reaches {text_of(untrained.max(), 'points')} % at its "
        f"best layer, and linking adjacent words gives {text_of(chain.iloc[0], 'points')} %."
    )


def _decoded(result: Result) -> str:
    row = _at_best(result, "uuas")
    if row is None:
        return ""
    return (
        f"In this study the UUAS at layer {int(row['layer'])} of {short_name(str(row['model']))} "
        f"is {estimate_of(row, 'value').text}; whether the model uses these edges is not measured."
    )


def _at_best(result: Result, metric: str) -> pd.Series | None:
    """Find the row of the first probed model at its best layer; None if there is none."""
    probes: Any = result
    if not probes.probes:
        return None
    return best_row(result.table, next(iter(probes.probes)), metric)


def _chance(result: Result) -> str:
    row, models = _vector(result, str(result.spec["vector"])), len(result.table)
    if row is None:
        return ""
    return f"In this study of {models} models chance is {text_of(row['chance'], 'per cent')}."


def _smallest_p(result: Result) -> str:
    row, models = _vector(result, str(result.spec["vector"])), len(result.table)
    if row is None:
        return ""
    smallest = text_of(row["smallest_p"], "p")
    return (
        f"With the {models} models of this study, the smallest p-value that the permutation test "
        f"can give is {smallest}."
    )


def _size_alone(result: Result) -> str:
    shares = _shares(result, str(result.spec["vector"]), NORMS)
    if not shares:
        return ""
    return (
        f"In this study {shares[1]} of the nearest neighbours by the size of the update alone "
        f"share a label, and {shares[0]} by the vector of the figure."
    )


def _explained(result: Result) -> str:
    shares = result.arrays.get("explained")
    if shares is None or len(shares) < 2 or not (shares == shares).all():
        return ""
    return (
        f"The two axes of this study's map hold {text_of(float(shares[:2].sum()), 'per cent')} of "
        "the variance; the rest is not in the picture."
    )


def _signs(result: Result) -> str:
    shares = _shares(result, "original", "projector")
    if not shares:
        return ""
    return (
        f"In this study {shares[0]} of the nearest neighbours share a label by the averaged "
        f"singular vectors, and {shares[1]} by projectors, which have no sign."
    )


def _shares(result: Result, *vectors: str) -> list[str]:
    """Write the shares of neighbours with the same label by these vectors; none if one lacks."""
    shares = {fact.subject: fact.number for fact in result.statements if fact.baseline == CHANCE}
    there = all(vector in shares for vector in vectors)
    return [shares[vector].value_text for vector in vectors] if there else []


def _vector(result: Result, name: str) -> pd.Series | None:
    """Find the row of a vector at the study's number of neighbours; None if there is none."""
    table = result.tables["vectors"]
    if table.empty:
        return None
    rows = table[(table["k"] == int(result.arrays["k"])) & (table["vector"] == name)]
    return rows.iloc[0] if len(rows) else None


def _without_map(result: Result) -> str:
    row = row_of_map(result, "identity")
    if row is None:
        return ""
    return f"In this study the error without a map is {estimate_of(row, 'nmse').text}."


def _per_word_average(result: Result) -> str:
    average, ridge = row_of_map(result, "lookup"), row_of_map(result, "ridge")
    if average is None or ridge is None:
        return ""
    return (
        f"In this study the per-word average leaves {text_of(average['nmse'], 'per cent')} of the "
        f"variance of unseen words unexplained, ridge {text_of(ridge['nmse'], 'per cent')}."
    )


def _lowest_error(result: Result) -> str:
    plain, invertible = row_of_map(result, "mlp"), row_of_map(result, "inn")
    if plain is None or invertible is None:
        return ""
    return (
        "In this study the error of the MLP, which cannot be inverted, is "
        f"{estimate_of(plain, 'nmse').text}, that of the invertible network "
        f"{estimate_of(invertible, 'nmse').text}."
    )


def _pairs(result: Result) -> str:
    pairs = result.tables["alignment"][["source", "target"]].drop_duplicates()
    pairs = pairs[pairs.isin(result.spec["models"]).all(axis=1)]  # none of a second run
    models = {*pairs["source"], *pairs["target"]}
    return f"This study has {len(models)} models in {len(pairs)} directed pairs."


def row_of_map(result: Result, name: str) -> pd.Series | None:
    """Find an aligner's row for unseen words of the models' pairs; None if there is none."""
    rows = rows_between(result.tables["methods"], "unseen")
    rows = rows[rows["method"] == name]
    return rows.iloc[0] if len(rows) else None


# For each lesson, in the order of its questions.
EVIDENCE: Mapping[str, tuple[Evidence, ...]] = {
    "rsa": (_top_similarity, _chance_band, _changes_of_weights, _equal_layers, _dropped_dimensions),
    "probe": (_selectivity, _selection, _parser, _untrained, _decoded),
    "weights": (_chance, _smallest_p, _size_alone, _explained, _signs),
    "alignment": (_without_map, _per_word_average, _lowest_error, _pairs, nothing),
}
