"""Which layers of a model differ from the base's, and the statements that the headline is made
from.

A layer differs when its whole band lies more than THRESHOLD of the way from 1 (identical) down to
chance level (the upper end of the null, sentences shuffled): for RSA, whose null is near 0, when
the band lies below .90; for mean CCA with a null of .40, when it lies below .94. The rule is the
same for every measure, every number of items and dimensions, and with or without reference models.
Where chance level reaches 1, as that of CCA does when items are not more than dimensions, equal and
unrelated spaces score alike: nothing is said of a model with such a layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.maths.similarity.scoring import UNCHANGED, saturated
from core.models.changes import shares_no_start
from core.models.zoo import second_run
from core.results.differences import banded_differences
from core.studies.kit import Result
from core.studies.text_kit import Estimate, Statement, estimate_of, layers_in_words

THRESHOLD = 0.10
EQUAL = 0.9999  # similarities above are those of equal vectors, stored in 16 bits
EQUALS = "vectors equal the base's up to this layer"  # no layers: at none
COMPARED = "compared"  # the layers that could be measured
UNMEASURED = "no layer can be measured"
SATURATED = "chance level reaches 1"
DIFFERS = "differs"
NO_DIFFERENCE = "no detectable difference"
MAY_DIFFER = "may differ"  # the threshold lies inside the bands of these layers
LOWEST = "least similar"
AT_CHANCE = "least similar, at chance level"
NOT_FROM_BASE = "not trained from the base"
WEIGHT_CHANGE = "relative size of the weight change"
SCALED = "weight change scaled to"
RUNS = "runs pooled"
REFERENCE, SECOND_RUN = "another pretraining seed", "a second run"
SAME_LAYER = "every layer is most similar to the same layer"
OTHER_LAYER = "layers are most similar to another layer"
NEAREST, IN_PLACE = "the most similar layer of the base", "the same layer of the base"
CHANGED_MOST = "least similar output on the base's input"
BEYOND_RANDOM = "output moved most, compared with random changes of equal spectrum"
LIKE_RANDOM = "no output moved further than after random changes of equal spectrum"
TEXTS_DIFFER = "similarity differs between the texts"
TEXTS_ALIKE = "no detectable difference between the texts"
TEXTS_COMPARED, TEXTS_APART = "comparisons of the texts", "comparisons in which the texts differ"
OF_VIEWS = frozenset({SAME_LAYER, OTHER_LAYER, TEXTS_COMPARED})  # one is there with a grid or texts


def differing_layers(rows: pd.DataFrame) -> list[int]:
    """List the layers, in order, whose whole band lies below the threshold, of one model's rows;
    none without a band, and none where chance level reaches 1."""
    rows = measured(rows)
    return sorted(int(layer) for layer in rows.loc[rows["high"] < _threshold(rows), "layer"])


def uncertain_layers(rows: pd.DataFrame) -> list[int]:
    """List the layers whose band contains the threshold, in order: they may differ or not."""
    rows = measured(rows)
    threshold = _threshold(rows)
    inside = (rows["low"] < threshold) & (rows["high"] >= threshold)
    return sorted(int(layer) for layer in rows.loc[inside, "layer"])


def equal_statements(table: pd.DataFrame, base: str) -> tuple[Statement, ...]:
    """State of each model up to which layer its vectors equal the base's."""
    equal = table[table["similarity"] > EQUAL].groupby("model", sort=False)["layer"].max()
    return tuple(
        Statement(model, EQUALS, layers=tuple(map(int, equal[equal.index == model])), baseline=base)
        for model in dict.fromkeys(table["model"])
    )


def equal_layers(result: Result) -> dict[str, int]:
    """Read the last layer of each model whose vectors equal the base's; models without one have no
    entry. A result saved before this was stated has it in its table."""
    stated = [each for each in result.statements if each.verdict == EQUALS]
    facts = stated or equal_statements(result.tables["similarity"], result.spec.get("base", ""))
    return {each.subject: each.layers[-1] for each in facts if each.layers}


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the layers of which something can be said: those with a similarity, of models whose
    chance level is below 1 in every layer."""
    full = rows.loc[saturated(rows["null_high"].astype(float)), "model"]
    return rows[rows["similarity"].notna() & ~rows["model"].isin(full)]


def _threshold(rows: pd.DataFrame) -> pd.Series[float]:
    return 1.0 - THRESHOLD * (1.0 - rows["null_high"])


def statements_of(
    table: pd.DataFrame, references: pd.DataFrame, base: str
) -> tuple[Statement, ...]:
    """State what the table `similarity` shows of each compared model, and how similar another
    pretraining seed and a second run of the base are; `references` may be empty."""
    statements = [
        statement
        for model, rows in table.groupby("model", sort=False)
        for statement in _of_model(str(model), rows.sort_values("layer"), base)
    ]
    left = measured(table)
    if left.empty or references.empty:
        return tuple(statements)
    layer = int(left.loc[left["similarity"].idxmin(), "layer"])
    there = references[(references["layer"] == layer) & references["similarity"].notna()]
    for _, row in there[~there["model"].str.startswith("random:")].iterrows():
        score, again = estimate_of(row, "similarity"), row["model"] == second_run(base)
        verdict = SECOND_RUN if again else REFERENCE
        statements.append(Statement(str(row["model"]), verdict, score, (layer,), base))
    return tuple(statements)


def _of_model(model: str, rows: pd.DataFrame, base: str) -> list[Statement]:
    """State which layers of one model differ, where most, and how far its weights moved."""
    left = measured(rows)
    if left.empty:
        verdict = SATURATED if rows["similarity"].notna().any() else UNMEASURED
        return [Statement(model, verdict, baseline=base)]
    differing, uncertain = tuple(differing_layers(rows)), tuple(uncertain_layers(rows))
    least = left.loc[left["similarity"].idxmin()]
    level = AT_CHANCE if least["low"] <= least["null_high"] else LOWEST
    size, runs, scaled = (
        float(rows[name].iloc[0]) for name in ("relative_change", "runs", "scaled")
    )
    place = (int(least["layer"]),)
    facts: tuple[tuple[str, Estimate | None, tuple[int, ...], bool], ...] = (  # whether it holds
        (COMPARED, None, tuple(left["layer"].astype(int)), True),
        (DIFFERS if differing else NO_DIFFERENCE, None, differing, True),
        (level, estimate_of(least, "similarity"), place, True),
        (MAY_DIFFER, None, uncertain, bool(uncertain)),
        (NOT_FROM_BASE, None, (), shares_no_start(float(rows["apart"].iloc[0]))),
        (RUNS, Estimate(runs, kind="whole"), (), runs > 1),
        (WEIGHT_CHANGE, Estimate(size), (), size == size),
        (SCALED, Estimate(size * scaled), (), size == size and scaled < 1),
    )
    return [
        Statement(model, verdict, estimate, layers, base)
        for verdict, estimate, layers, holds in facts
        if holds
    ]


def function_statements(
    table: pd.DataFrame, base: str, ratios: pd.DataFrame | None = None
) -> tuple[Statement, ...]:
    """State which layers of each model changed most, by their outputs on the base's input compared
    with random changes, or, of a model that `ratios` lacks, by similarity alone: with the number of
    the first, and with those whose bands overlap with its."""
    statements = []
    for model, rows in measured(table).groupby("model", sort=False):
        if rows["similarity"].min() > 1.0 - UNCHANGED:
            continue
        against = (
            None if ratios is None else ratios[ratios["model"] == model].dropna(subset=["ratio"])
        )
        if against is None or against.empty:
            most = rows.loc[rows["similarity"].idxmin()]
            among = rows[(rows["low"] <= most["high"]) | (rows.index == most.name)]
            verdict, score = CHANGED_MOST, estimate_of(most, "similarity")
        else:
            further = against[against["low_together"] > 1.0]
            verdict = LIKE_RANDOM if further.empty else BEYOND_RANDOM
            most = against.loc[(against if further.empty else further)["ratio"].idxmax()]
            among = against[(against["high"] >= most["low"]) | (against.index == most.name)]
            score = estimate_of(most, "ratio", "amount")
        layers = tuple(sorted(int(layer) for layer in among["layer"]))
        statements.append(Statement(str(model), verdict, score, layers, base))
    return tuple(statements)


def view_statements(tables: Mapping[str, pd.DataFrame], base: str) -> tuple[Statement, ...]:
    """State what `grid` and `domains` show, where they are among the tables."""
    grid, texts = tables.get("grid"), tables.get("domains")
    statements: list[Statement] = []
    if grid is not None and len(grid):
        # A grid has no chance levels of its own; those of the layers themselves stand for it.
        curves = tables["similarity"]
        without = set(curves["model"]) - set(measured(curves)["model"])
        statements += grid_statements(grid[~grid["model"].isin(without)], base)
    if texts is not None and texts["corpus"].nunique() > 1:
        statements += text_statements(texts)
    return tuple(statements)


def grid_statements(grid: pd.DataFrame, base: str) -> tuple[Statement, ...]:
    """State of each model the layer that leads least in similarity to the same layer of the base
    over any other: negative, with the verdict OTHER_LAYER, where another layer is more similar;
    then with how similar that one is, and the same one."""
    statements = []
    for model, rows in grid.dropna(subset=["similarity"]).groupby("model", sort=False):
        same = rows[rows["layer"] == rows["base_layer"]].set_index("layer")["similarity"]
        others = rows[rows["layer"] != rows["base_layer"]].groupby("layer")["similarity"].max()
        leads = (same - others).dropna()
        if leads.empty:
            continue
        least, layer = Estimate(float(leads.min())), int(leads.idxmin())
        verdict = SAME_LAYER if least.value >= 0 else OTHER_LAYER
        statements.append(Statement(str(model), verdict, least, (layer,), base))
        if verdict == OTHER_LAYER:
            to = rows[rows["layer"] == layer].set_index("base_layer")["similarity"]
            for which, place in ((NEAREST, int(to.idxmax())), (IN_PLACE, layer)):
                score = Estimate(float(to[place]))
                statements.append(Statement(str(model), which, score, (place,), base))
    return tuple(statements)


def text_statements(table: pd.DataFrame) -> tuple[Statement, ...]:
    """State in how many comparisons with a band two texts differ, and the largest difference, of
    the significant ones if there are any; nothing of that where no difference has a band."""
    first, second = dict.fromkeys(table["corpus"])
    pairs = text_differences(table).dropna(subset=["low"])
    apart = pairs[(pairs["low"] > 0) | (pairs["high"] < 0)]
    counts = (
        Statement(second, verdict, Estimate(float(len(rows)), kind="whole"), baseline=first)
        for verdict, rows in ((TEXTS_COMPARED, pairs), (TEXTS_APART, apart))
    )
    if pairs.empty:
        return tuple(counts)
    row = (apart if len(apart) else pairs).loc[lambda rows: rows["difference"].abs().idxmax()]
    largest, layers = estimate_of(row, "difference"), (int(row["layer"]),)
    verdict = TEXTS_DIFFER if len(apart) else TEXTS_ALIKE
    return (*counts, Statement(str(row["model"]), verdict, largest, layers, first))


def text_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Subtract the first text's similarity from the second's, with bands that hold together: model,
    layer, difference, low, high, of layers that both texts could measure."""
    first, second = dict.fromkeys(table["corpus"])
    here, away = (measured(table[table["corpus"] == corpus]) for corpus in (first, second))
    return banded_differences(here, away, ("model", "layer"), "similarity")


def place_in_words(differing: Sequence[int], layers: Sequence[int], *, only: bool = True) -> str:
    """Say where a model differs: "in every layer", "from layer 2 upward", "only in layer 3";
    without `only` the others may differ too."""
    if not differing:
        return "in no layer"
    if list(differing) == list(layers):
        return "in every layer"
    few = "only " if only else ""
    if list(differing) == list(layers)[-len(differing) :]:
        top = {1: "the top layer", 2: "the top two layers", 3: "the top three layers"}
        if len(differing) == 1 or (2 * len(differing) < len(layers) and len(differing) in top):
            return f"{few}in {top[len(differing)]}"
        return f"from layer {differing[0]} upward"
    return f"{few if len(differing) == 1 else ''}in {layers_in_words(differing)}"
