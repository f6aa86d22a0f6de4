"""Notices and methods of the study: its sentences beside the headline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.similarity.kernels import KERNELS
from core.maths.similarity.rdm import COMPARISONS
from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, saturated
from core.models.changes import shares_no_start
from core.studies.kit import Value, sentence_notices
from core.studies.rsa.layers.differences import THRESHOLD
from core.studies.rsa.layers.runs import runs_of
from core.studies.rsa.layers.spec import ITEM_NAMES, RsaSpec
from core.studies.text_kit import layers_in_words, listed, short_name, text_of, words_beside

said = words_beside(__file__).sentence
HIGH_CHANCE = 0.5
UNEQUAL = 1.5  # weight changes whose sizes differ by more are said to
RULE = said("rule", threshold=text_of(THRESHOLD, "per cent"))


def measure_notices(spec: RsaSpec, values: Mapping[tuple[str, str], Value]) -> list[str]:
    """Tell what a reader of the numbers must see: a high chance level, undefined layers."""
    label = MEASURES[spec.measure].label
    scored = {role: value for role, value in values.items() if "null_high" in value}
    notices = saturation_notices(label, scored.values())
    for value in scored.values():
        items = int(value["items"])
        chance = float(np.nanmax(np.append(value["null_high"], -1.0)))
        if chance > HIGH_CHANCE and not saturated(chance):
            notices.append(
                said("high_chance", label=label, chance=text_of(chance), others=others_than(label))
            )
        if MEASURES[spec.measure].of_size:
            notices.append(said("same_size", label=label, items=items))
        notices += sentence_notices(int(value["sentences"]))
    for (_, model), value in scored.items():
        flat = np.flatnonzero(np.isnan(value["similarity"])).tolist()
        if flat:
            notices.append(said("flat", model=short_name(model), layers=layers_in_words(flat)))
    return notices


def saturation_notices(label: str, values: Iterable[Value]) -> list[str]:
    """Say that numbers mean nothing where chance level reaches 1."""
    return [
        said(
            "too_few_items",
            label=label,
            items=int(value["items"]),
            width=int(value["d_model"]),
            others=others_than(label),
        )
        for value in values
        if saturated(value["null_high"]).any()
    ]


def others_than(label: str) -> str:
    """Name the measures that are advised in place of this one."""
    return " or ".join(name for name in ("RSA", "debiased CKA") if name != label)


def moved_sizes(table: pd.DataFrame) -> pd.Series[float]:
    """Give the sizes of the weight changes of the models that may have been trained from the
    base."""
    first = table.drop_duplicates("model")
    strangers = first["apart"].map(shares_no_start).astype(bool)
    return first.loc[~strangers, "relative_change"].dropna()


def size_notices(spec: RsaSpec, table: pd.DataFrame) -> list[str]:
    """Tell what the sizes of the weight changes leave open."""
    if spec.matched_size:
        return [said("interpolated")]
    same = [short_name(ref) for ref in table.loc[table["relative_change"] == 0, "model"].unique()]
    notices = [said("unchanged", models=listed(same), base=spec.base)] if same else []
    sizes = moved_sizes(table)[lambda size: size > 0]
    if len(sizes) < 2 or sizes.max() < UNEQUAL * sizes.min():
        return notices
    return [*notices, said("unequal", least=text_of(sizes.min()), most=text_of(sizes.max()))]


def make_methods(spec: RsaSpec, models: Sequence[str], items: int, sentences: int) -> str:
    """Write a methods paragraph, ready to paste."""
    measure = MEASURES[spec.measure]
    how = (
        f" ({KERNELS[spec.kernel]}; {COMPARISONS[spec.comparison]})"
        if spec.measure == "rsa"
        else ""
    )
    parts = (
        said(
            "compared",
            base=spec.base,
            models=", ".join(models),
            measure=f"{measure.label}{how}: {measure.formula}",
        ),
        items_in_words(spec, items, sentences),
        said("once") if spec.one_per_word else "",
        said("rogue", count=spec.drop_rogue) if spec.drop_rogue else "",
        said("standardised") if spec.standardise else "",
        said("influence", percent=spec.drop_influential) if spec.drop_influential else "",
        jackknife_in_words(sentences),
        said("ranks") if spec.measure == "rsa" and spec.comparison != "pearson" else "",
        said("same_size", label=measure.label, items=items) if measure.of_size else "",
        said("pooled") if spec.pool_runs and len(runs_of(spec.base, models)) < len(models) else "",
        said("size"),
        said("matched") if spec.matched_size else "",
        said("null"),
        RULE,
    )
    return " ".join(filter(None, parts))


def items_in_words(spec: RsaSpec, items: int, sentences: int) -> str:
    """Say what was compared: "Items were 1,000 words from 200 sentences of demo ..."."""
    return (
        f"Items were {items:,} {ITEM_NAMES[spec.items]} from {sentences:,} sentences of "
        f"{spec.corpus}; the vector of a word is the mean of its subwords' vectors."
    )


def jackknife_in_words(sentences: int) -> str:
    """Say how bands are made."""
    return (
        f"Bands are 95 % t-intervals from a jackknife that leaves out one of "
        f"{min(JACKKNIFE_GROUPS, sentences)} groups of sentences at a time."
    )
