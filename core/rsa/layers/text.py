"""The study in a sentence, and its method in a paragraph: made from the numbers, true for whatever was run.

A layer counts as changed when its whole band lies more than CHANGED of the way from identity (1) down to what
sentences paired at random score (the upper end of the null): for RSA, whose null is near 0, when the band lies below
.90; for mean CCA with a null of .40, when it lies below .94. The rule is the same for every measure, every n and d,
and with or without reference models. Where the threshold falls inside the band of the layer below the first changed
one, the layer is given as "about".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.models.changes import shares_no_start
from core.results.estimates import estimate_of
from core.results.names import short_names
from core.results.numbers import text_of
from core.rsa.layers.runs import runs_of
from core.rsa.layers.spec import ITEMS, RsaSpec
from core.rsa.measures.kernels import KERNELS
from core.rsa.measures.rdm import COMPARISONS
from core.rsa.measures.registry import JACKKNIFE_GROUPS, MEASURES

if TYPE_CHECKING:
    import pandas as pd

CHANGED = 0.10
PER_CENT = text_of(CHANGED, "per cent")
RULE = (
    " A layer counts as changed when its whole band lies more than "
    f"{PER_CENT} of the way to sentences paired at random."
)
CHANGES, DIFFERS = "changes", "does not come from the base and differs in"
MOST_NAMED = 4  # models that get a clause of their own where there are many; the others are counted


def changed_layers(rows: pd.DataFrame) -> list[int]:
    """Layers of one model whose whole band lies below the threshold, in order.

    Args:
        rows: Rows of the study's table for one model. A layer without a band (one sentence, a layer that does not
            vary) is never called changed.
    """
    return sorted(int(layer) for layer in rows.loc[rows["high"] < _threshold(rows), "layer"])


def uncertain_layers(rows: pd.DataFrame) -> list[int]:
    """Layers of one model in whose band the threshold lies, in order: they may have changed or not."""
    threshold = _threshold(rows)
    return sorted(int(layer) for layer in rows.loc[(rows["low"] < threshold) & (rows["high"] >= threshold), "layer"])


def verb_of(rows: pd.DataFrame) -> str:
    """What one model is said to do to layers: a model that was not trained from the base changes nothing of it."""
    return DIFFERS if shares_no_start(float(rows.iloc[0]["apart"])) else CHANGES


def _threshold(rows: pd.DataFrame) -> pd.Series[float]:
    return 1.0 - CHANGED * (1.0 - rows["null_high"])


def make_headline(table: pd.DataFrame, references: pd.DataFrame, measure: str, base: str) -> str:
    """One sentence on which layers each model changes, or two where there is a reference model.

    Args:
        table: The study's table (model, layer, similarity, low, high, null_low, null_high).
        references: The same for the reference models; may be empty.
        measure: One of `MEASURES`.
        base: Reference of the base model.
    """
    if table.empty:
        return "No model could be compared; the reasons are below."
    models = tuple(dict.fromkeys(table["model"]))
    names = short_names(models)
    label = MEASURES[measure].label
    clauses: list[str] = []
    named = len(models) if len(models) <= MOST_NAMED + 1 else MOST_NAMED
    for model in models[:named]:
        rows = table[table["model"] == model].sort_values("layer")
        clauses.append(f"{names[model]}{_about(rows)} {_clause(rows, label if not clauses else '')}")
    if len(models) > named:
        rest = [table[table["model"] == model] for model in models[named:]]
        changed = sum(bool(changed_layers(rows)) and verb_of(rows) == CHANGES for rows in rest)
        count = "all" if changed == len(rest) else "none" if not changed else str(changed)
        clauses.append(f"of the other {len(rest)} models {count} {'change' if changed != 1 else 'changes'} a layer")
    sentence = "; ".join(clauses) + "."
    return sentence + RULE + _reference_sentence(table, references, label, base)


def layers_in_words(changed: Sequence[int], layers: Sequence[int], uncertain: Sequence[int] = ()) -> str:
    """Which layers: "every layer", "every layer from 2 up", "only the top two layers", "layers 1, 3 and 5" ...

    "about" where the layer below the first one may have changed or not.

    Args:
        changed: Layers that changed, in order.
        layers: All layers, in order.
        uncertain: Layers in whose band the threshold lies.
    """
    if not changed:
        return "no layer for certain" if uncertain else "no layer"
    if list(changed) == list(layers):
        return "every layer"
    runs_to_the_top = list(changed) == list(layers)[-len(changed) :]
    if runs_to_the_top:
        if changed[0] - 1 in uncertain:
            if len(changed) == 1:
                return "only the top layer for certain"
            return f"every layer from about {changed[0]} up"
        words = {1: "only the top layer", 2: "only the top two layers", 3: "only the top three layers"}
        if len(changed) == 1 or (2 * len(changed) < len(layers) and len(changed) in words):
            return words[len(changed)]
        return f"every layer from {changed[0]} up"
    if len(changed) == 1:
        return f"only layer {changed[0]}"
    if list(changed) == list(range(changed[0], changed[-1] + 1)) and len(changed) > 2:
        return f"layers {changed[0]} to {changed[-1]}"
    return f"layers {', '.join(str(layer) for layer in changed[:-1])} and {changed[-1]}"


def make_methods(spec: RsaSpec, models: Sequence[str], items: int, sentences: int) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        models: References of the models compared.
        items: Items compared.
        sentences: Sentences that were read.
    """
    measure = MEASURES[spec.measure]
    how = f" ({KERNELS[spec.kernel]}; {COMPARISONS[spec.comparison]})" if spec.measure == "rsa" else ""
    parts = [
        f"We compared {spec.base} with {', '.join(models)} layer by layer (layer 0: embeddings) by "
        f"{measure.label}{how}: {measure.formula}.",
        f"Items were {items:,} {ITEMS[spec.items].split(':')[0].split(',')[0]} from {sentences:,} sentences of "
        f"{spec.corpus}; words are means of their subwords.",
    ]
    if spec.one_per_word:
        parts.append("Each word was drawn once, upper and lower case alike.")
    if spec.drop_rogue:
        parts.append(f"The {spec.drop_rogue} dimensions with the largest mean square were dropped from each space.")
    if spec.standardise:
        parts.append("Dimensions were standardised over items.")
    if measure.draws is not None:
        parts.append(
            f"Bands are 95 % percentile intervals of {spec.draws:,} bootstrap draws over sentences; pairs of an item "
            "with its own copy are dropped."
        )
        if spec.measure == "rsa" and spec.comparison != "pearson":
            parts.append("Ranks are those of the full sample.")
    else:
        parts.append(
            f"Bands are 95 % intervals from a jackknife that leaves out one of {min(JACKKNIFE_GROUPS, sentences)} "
            "groups of sentences at a time, since drawing with replacement biases this measure upwards."
        )
    if spec.pool_runs and len(runs_of(spec.base, models)) < len(models):
        parts.append(
            "Runs of one task are one curve, their mean; its band is a 95 % t-interval whose variance is that over "
            "runs plus that over sentences (Welch's degrees of freedom)."
        )
    parts.append(
        "The relative size of a weight change is |W - W_base| / |W_base|, Frobenius norms over all matrices of the "
        "layers."
    )
    if spec.matched_size:
        parts.append(
            "Weight changes were matched in size: each model's weights are W_base + c (W - W_base), c the smallest "
            "size over its own. These are interpolated weights, not those of a shorter training."
        )
    parts.append(
        "The null is the central 95 % of the measure with whole sentences of one space paired at random with sentences "
        "of about as many items of the other, words in their order. A layer is called changed when its "
        f"whole band lies more than {PER_CENT} of the way from 1 to the null's upper end."
    )
    return " ".join(parts)


def _about(rows: pd.DataFrame) -> str:
    """In brackets behind a name: how many runs, how far the weights moved."""
    first = rows.iloc[0]
    parts = [f"{int(first['runs'])} runs"] if first["runs"] > 1 else []
    if first["relative_change"] == first["relative_change"]:
        scaled = f", scaled to {text_of(first['relative_change'] * first['scaled'])}" if first["scaled"] < 1 else ""
        size = "weight change" if verb_of(rows) == CHANGES else "distance of the weights"
        parts.append(f"{size} {text_of(first['relative_change'])}{scaled}")
    return f" ({', '.join(parts)})" if parts else ""


def _clause(rows: pd.DataFrame, label: str) -> str:
    """What one model does: which layers, and the layer that changes most, in numbers."""
    measured = rows[rows["similarity"].notna()]
    if measured.empty:
        return "has no layer that can be compared"
    changed = changed_layers(rows)
    most = measured.loc[measured["similarity"].idxmin()]
    where = f"{label + ' ' if label else ''}{estimate_of(most, 'similarity').text} at layer {int(most['layer'])}"
    text = f"{verb_of(rows)} {layers_in_words(changed, measured['layer'].astype(int).tolist(), uncertain_layers(rows))}"
    if most["low"] <= most["null_high"]:
        return f"{text} ({where}, no closer than sentences paired at random)"
    return f"{text} ({where})" if changed else f"{text} (lowest {where})"


def _reference_sentence(table: pd.DataFrame, references: pd.DataFrame, label: str, base: str) -> str:
    """What another pretraining seed scores at the layer that changes most, for scale."""
    seeds = references[~references["model"].str.startswith("random:")] if len(references) else references
    measured = table[table["similarity"].notna()]
    if seeds.empty or measured.empty:
        return ""
    layer = int(measured.loc[measured["similarity"].idxmin(), "layer"])
    there = seeds[seeds["layer"] == layer]
    if there.empty or there["similarity"].isna().all():
        return ""
    row = there.iloc[0]
    names = short_names((base, str(row["model"])))
    return f" For scale, {names[base]} and {names[row['model']]} score {text_of(row['similarity'])} at layer {layer}."


CAVEATS = {
    "Rogue dimensions.": (
        "Two outlier dimensions shared by both models, out of 768 on otherwise unrelated vectors, "
        "give RSA .998; standardised, .002. Compare the curve with *Standardise dimensions* on, "
        "or drop the largest few."
    ),
    "Biased CKA has a null far from 0.": (
        "With d = 768, unrelated spaces score .44 at 1,000 items and .13 at 5,000; debiased CKA "
        "scores .00 at both. Read each curve against its grey band."
    ),
    "Words are not independent.": (
        "Words of a sentence are alike in every model that reads it, so the grey band pairs whole "
        "sentences at random; words paired one by one would be exceeded by any two models. Words "
        "that come again are alike too, most of all in layer 0: *One occurrence per word* takes "
        "them out."
    ),
    "CCA needs many more items than dimensions.": (
        "With n ≤ d any two spaces correlate perfectly; at d = 768 mean CCA of unrelated spaces "
        "is still .83 at 1,000 items and .34 at 5,000. Sample more words, or use RSA or debiased "
        "CKA."
    ),
    "Similar is not the same.": (
        "The cosine compares vectors coordinate by coordinate; the other measures forgive a "
        "rotation of the whole space, CCA any invertible linear map. A high curve says that the "
        "geometry survived."
    ),
    "The band is over sentences, not over fine-tuning runs.": (
        "Another seed of the same fine-tune may lie outside it. The dashed lines show what a "
        "different pretraining seed and random weights score."
    ),
}
FORMULAS = {
    "RSA: correlation of two models' similarities of the same pairs of items": (
        r"\rho = \operatorname{corr}_{i<j}\bigl(k(x_i, x_j),\; k(y_i, y_j)\bigr),"
        r"\qquad k(a, b) = \frac{a \cdot b}{\lVert a \rVert \lVert b \rVert}"
    ),
    "Linear CKA, columns centred; debiased, each HSIC is replaced by its unbiased estimate": (
        r"\mathrm{CKA} = \frac{\lVert X^\top Y \rVert_F^2}{\lVert X^\top X \rVert_F \, \lVert Y^\top Y \rVert_F}"
    ),
    "Mean CCA over the canonical correlations; PWCCA weights them, SVCCA keeps 99 % of the variance first": (
        r"\bar\rho = \frac{1}{d} \sum_{i=1}^{d} \rho_i"
    ),
}
