"""The study in a sentence, its methods in a paragraph: both made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.weights.members import Member
from core.weights.tables import Scored, Spectra
from core.weights.vectors import VECTORS

if TYPE_CHECKING:
    import pandas as pd

    from core.weights.spec import WeightsSpec

SIGNIFICANT = 0.05
WORDS = {"task": "task", "data": "data set", "base": "base", "table": "label"}
CITATIONS = (
    "Vectors in the wild: clustering fine-tuned models by low-rank factors of their weight deltas.",
    "Hu et al. 2022. LoRA: Low-Rank Adaptation of Large Language Models. ICLR.",
    "Ilharco et al. 2023. Editing Models with Task Arithmetic. ICLR.",
    "Roy & Vetterli 2007. The effective rank: a measure of effective dimensionality. EUSIPCO.",
    "Marchenko & Pastur 1967. Distribution of eigenvalues for some sets of random matrices. Mat. Sbornik.",
    "Phipson & Smyth 2010. Permutation p-values should never be zero. Stat. Appl. Genet. Mol. Biol.",
    "Hubert & Arabie 1985. Comparing partitions. Journal of Classification.",
)


def make_headline(spec: WeightsSpec, scored: Scored, models: pd.DataFrame, ranks: pd.DataFrame) -> str:
    """One or two sentences: do neighbours share labels beyond chance, and how full are the ranks."""
    parts = [text for text in (_neighbours(spec, scored, models), _ranks(spec, ranks)) if text]
    return " ".join(parts) or "Too few models could be compared for a sentence; the tables say what there is."


def make_methods(spec: WeightsSpec, members: Sequence[Member], scored: Scored, spectra: Spectra) -> str:
    """A methods paragraph, ready to paste."""
    families = ", ".join(dict.fromkeys(spectra.matrices["family"])) if len(spectra.matrices) else "none"
    vector = VECTORS[spec.vector]
    text = [
        f"We compared {len(members)} fine-tunes of {spec.base} by their weight deltas (fine-tuned minus base), in",
        f"the matrices {families} of every layer.",
        "Singular values are the roots of the eigenvalues of float64 Gram matrices.",
        f"Distances between models were those of the vector '{spec.vector}': {vector.meaning}",
    ]
    if spec.vector in ("projector", "factors"):
        text.append(f"The {spec.rank} leading directions of each matrix were used.")
    if scored.k:
        text.append(
            "For k from 1 up we report the share of each model's k nearest neighbours with its own "
            f"{WORDS[spec.label]}, against its exact expectation under permuted labels, the mean of "
            f"(m - 1) / (n - 1) over models, with one-sided p-values from {spec.permutations:,} permutations "
            "(not corrected for the number of k and vectors)."
        )
    method = "average-linkage agglomerative clustering" if spec.method == "agglomerative" else "HDBSCAN"
    text.append(f"Clusters are those of {method} on the distances; maps play no part in any number.")
    text.append(
        f"Ranks are the number of directions that hold {spec.threshold:.4g} of the energy, beside the rank of a "
        "Gaussian matrix of the same shape (Marchenko-Pastur); trends over layers are linear or quadratic, "
        "chosen by AIC."
    )
    return " ".join(text)


def percent(value: float) -> str:
    """A share in whole per cent."""
    return f"{100 * value:.0f} %"


def p_text(value: float) -> str:
    """A p-value as it is written: "p < .001", "p = .012"."""
    if value < 0.001:
        return "p < .001"
    return f"p = {value:.3f}".replace("0.", ".") if value < 0.1 else f"p = {value:.2f}".replace("0.", ".")


def _neighbours(spec: WeightsSpec, scored: Scored, models: pd.DataFrame) -> str:
    if not scored.k:
        return ""
    row = scored.neighbours[scored.neighbours["k"] == scored.k].iloc[0]
    rank = f", rank {spec.rank}" if spec.vector in ("projector", "factors") else ""
    near = "nearest" if scored.k == 1 else f"{scored.k} nearest"
    beyond = row["p_value"] < SIGNIFICANT
    verdict = "share" if beyond else "do not share"
    more = "" if beyond else " more often than chance"
    how = f"chance {percent(row['chance'])}, {p_text(row['p_value'])}; {VECTORS[spec.vector].title.lower()}{rank}"
    known = models[models["predicted"].notna()]
    right = int((known["predicted"] == known["label"]).sum())
    return (
        f"Neighbours {verdict} a {WORDS[spec.label]}{more}: {percent(row['share'])} of each model's {near} do ({how}), "
        f"and their vote is right for {right} of {len(known)} models."
    )


def _ranks(spec: WeightsSpec, ranks: pd.DataFrame) -> str:
    of = "weights" if spec.of == "weights" else "delta"
    rows = ranks[(ranks["threshold"] == spec.threshold) & (ranks["of"] == of) & (ranks["rank"] > 0)]
    if rows.empty:
        return ""
    ratio = float((rows["rank"] / rows["null_rank"]).median())
    what = "delta" if of == "delta" else "weight matrix"
    return (
        f"The median {what} has rank {rows['rank'].median():.0f} at {100 * spec.threshold:.4g} % of its energy, "
        f"{percent(ratio)} of what a Gaussian matrix of its shape has."
    )
