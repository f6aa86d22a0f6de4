"""Notices and methods of the study: its sentences beside the headline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.similarity.kernels import KERNELS
from core.maths.similarity.rdm import COMPARISONS
from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, saturated
from core.models.changes import shares_no_start
from core.results.names import layers_in_words, short_name
from core.results.notices import sentence_notices
from core.results.numbers import text_of
from core.results.words import words_beside
from core.studies.rsa.layers.differences import THRESHOLD
from core.studies.rsa.layers.runs import runs_of
from core.studies.rsa.layers.spec import ITEMS, RsaSpec

said = words_beside(__file__).sentence
NO_SIZE = said("no_size")
HIGH_CHANCE = 0.5
UNEQUAL = 1.5  # weight changes whose sizes differ by more are said to
PER_CENT = text_of(THRESHOLD, "per cent")
RULE = (
    f"A layer is said to differ when its whole band lies more than {PER_CENT} of the way from 1 "
    f"(identical) down to "
    "chance level (sentences shuffled)."
)


def measure_notices(spec: RsaSpec, values: Mapping[tuple[str, str], Value]) -> list[str]:
    """Tell what a reader of the numbers must see: items left out, a high chance level, undefined
    layers.

    Args:
        spec: The study.
        values: Outputs of its tasks, by part and model.
    """
    notices = [notice for value in values.values() for notice in value["notices"]]
    label = MEASURES[spec.measure].label
    scored = {role: value for role, value in values.items() if "null_high" in value}
    notices += saturation_notices(label, scored.values())
    for value in scored.values():
        items = int(value["items"])
        chance = float(np.nanmax(np.append(value["null_high"], -1.0)))
        if chance > HIGH_CHANCE and not saturated(chance):
            notices.append(high_chance(label, chance))
        if MEASURES[spec.measure].of_size:
            notices.append(same_size(label, items))
        notices += sentence_notices(int(value["sentences"]))
    for (_, model), value in scored.items():
        flat = np.flatnonzero(np.isnan(value["similarity"])).tolist()
        if flat:
            notices.append(flat_layers(model, flat))
    return list(dict.fromkeys(notices))


def saturation_notices(label: str, values: Iterable[Value]) -> list[str]:
    """Say that numbers mean nothing where chance level reaches 1.

    Args:
        label: Of the measure.
        values: Outputs of `tasks.compare_models`.
    """
    notices = [
        too_few_items(label, int(value["items"]), int(value["d_model"]))
        for value in values
        if saturated(value["null_high"]).any()
    ]
    return list(dict.fromkeys(notices))


def too_few_items(label: str, items: int, width: int) -> str:
    """Say that a measure is near 1 whatever the spaces are."""
    return (
        f"{label} compares {items:,} items in {width:,} dimensions. With so few items it is 1 for "
        f"any two spaces, so these numbers mean nothing. {_more_or_another(label)}"
    )


def high_chance(label: str, chance: float) -> str:
    """Say that unrelated spaces score high too."""
    return (
        f"Chance level is high: {label} is up to {text_of(chance)} when sentences are shuffled. "
        f"Compare each curve with the grey band. {_more_or_another(label)}"
    )


def _more_or_another(label: str) -> str:
    """Advise more text, or another measure than this one."""
    others = " or ".join(name for name in ("RSA", "debiased CKA") if name != label)
    return f"Sample more words, from more sentences, or choose {others}."


def same_size(label: str, items: int) -> str:
    """Say that a band of a measure that depends on the sample's size covers its value at this
    size."""
    return (
        f"The bands of {label} contain its value for samples of {items:,} items. The measure "
        "depends on that number, so its value on all text may lie outside; compare only curves "
        "with equally many items."
    )


def flat_layers(model: str, layers: Sequence[int]) -> str:
    """Say at which layers there is no similarity."""
    return (
        f"{short_name(model)} has no similarity at {layers_in_words(layers)}, because the items' "
        "vectors are all equal there."
    )


def moved_sizes(table: pd.DataFrame) -> pd.Series[float]:
    """Give the sizes of the weight changes of the models that may have been trained from the
    base."""
    first = table.drop_duplicates("model")
    sizes: pd.Series[float] = first.loc[
        ~first["apart"].map(shares_no_start).astype(bool), "relative_change"
    ].dropna()
    return sizes


def size_notices(spec: RsaSpec, table: pd.DataFrame) -> list[str]:
    """Tell what the sizes of the weight changes leave open."""
    if spec.matched_size:
        return [said("interpolated")]
    sizes = moved_sizes(table)
    if len(sizes) < 2 or sizes.max() < UNEQUAL * sizes.min():
        return []
    return [unequal_sizes(float(sizes.min()), float(sizes.max()))]


def unequal_sizes(least: float, most: float) -> str:
    """Say that a longer or faster training may explain a larger difference."""
    return (
        f"The weight changes differ in size ({text_of(least)} to {text_of(most)} of the base's "
        f"weights), so a larger "
        "difference may only mean longer or faster training. Turn on “Matched size” to compare "
        "changes of equal size."
    )


# why a model is missing where weight changes are matched in size
WITHOUT_SIZE = (
    "Its weight change cannot be scaled, because it is zero or cannot be measured. Turn off "
    "“Matched size”."
)


def make_methods(spec: RsaSpec, models: Sequence[str], items: int, sentences: int) -> str:
    """Write a methods paragraph, ready to paste.

    Args:
        spec: The study.
        models: References of the models compared.
        items: Items compared.
        sentences: Sentences that were read.
    """
    measure = MEASURES[spec.measure]
    how = (
        f" ({KERNELS[spec.kernel]}; {COMPARISONS[spec.comparison]})"
        if spec.measure == "rsa"
        else ""
    )
    parts = [
        f"We compared {spec.base} with {', '.join(models)} layer by layer (layer 0: embeddings) by "
        f"{measure.label}{how}: {measure.formula}.",
        items_in_words(spec, items, sentences),
    ]
    if spec.one_per_word:
        parts.append(said("once"))
    if spec.drop_rogue:
        parts.append(
            f"The {spec.drop_rogue} dimensions with the largest mean square were dropped from each "
            f"space."
        )
    if spec.standardise:
        parts.append(said("standardised"))
    if spec.drop_influential:
        parts.append(influence_in_words(spec.drop_influential))
    parts.append(jackknife_in_words(sentences))
    if spec.measure == "rsa" and spec.comparison != "pearson":
        parts.append(said("ranks"))
    if measure.of_size:
        parts.append(same_size(measure.label, items))
    if spec.pool_runs and len(runs_of(spec.base, models)) < len(models):
        parts.append(said("pooled"))
    parts.append(said("size"))
    if spec.matched_size:
        parts.append(said("matched"))
    parts += [said("null"), RULE]
    return " ".join(parts)


def items_in_words(spec: RsaSpec, items: int, sentences: int) -> str:
    """Say what was compared: "Items were 1,000 words from 200 sentences of demo ..."."""
    kind = ITEMS[spec.items].split(":")[0].split(",")[0]
    return (
        f"Items were {items:,} {kind} from {sentences:,} sentences of {spec.corpus}; the vector of "
        f"a word is the mean "
        "of its subwords' vectors."
    )


def influence_in_words(percent: float) -> str:
    """Say which items were dropped from each layer."""
    return (
        f"From each layer, the {percent:g} % of the items were dropped without which RSA changes "
        "most, upward or downward, one item left out at a time; bands and chance level are of the "
        "items that are left, taken as given."
    )


def jackknife_in_words(sentences: int) -> str:
    """Say how bands are made."""
    return (
        f"Bands are 95 % t-intervals from a jackknife that leaves out one of "
        f"{min(JACKKNIFE_GROUPS, sentences)} groups of sentences at a time."
    )
