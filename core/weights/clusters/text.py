"""The study in a few sentences, its methods in a paragraph: both made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.results.names import short_name
from core.results.numbers import text_of
from core.weights.clusters.members import Member
from core.weights.clusters.tables import Scored
from core.weights.vectors.ranks import Spectra
from core.weights.vectors.registry import VECTORS

if TYPE_CHECKING:
    import pandas as pd

    from core.weights.clusters.spec import WeightsSpec

SIGNIFICANT = 0.05
NORMS = "norms"
WORDS = {"task": "task", "data": "data set", "base": "base", "table": "label"}
CITATIONS = (
    "vectorsinthewild",
    "hu2022",
    "ilharco2023",
    "roy2007",
    "marchenko1967",
    "phipson2010",
    "hubert1985",
    "hurvich1989",
)


def make_headline(
    spec: WeightsSpec,
    scored: Scored,
    models: pd.DataFrame,
    ranks: pd.DataFrame,
    members: Sequence[Member],
    doses: pd.DataFrame,
) -> str:
    """Do neighbours share labels beyond chance, and do norms alone do as well; ranks where nobody can be scored."""
    parts = [
        _neighbours(spec, scored, models),
        _norms(spec, scored, members),
        _others(spec, scored),
        _doses(spec, doses),
    ]
    text = " ".join(part for part in parts if part) or describe_ranks(spec, ranks)
    return text or "Too few models could be compared for a sentence; the tables say what there is."


def describe_ranks(spec: WeightsSpec, ranks: pd.DataFrame) -> str:
    """How full the ranks are, against those of Gaussian matrices; "" where none was measured."""
    of = "weights" if spec.of == "weights" else "delta"
    rows = ranks[(ranks["threshold"] == spec.threshold) & (ranks["of"] == of) & (ranks["rank"] > 0)]
    if rows.empty:
        return ""
    ratio = float((rows["rank"] / rows["null_rank"]).median())
    what = "delta" if of == "delta" else "weight matrix"
    return (
        f"The median {what} has rank {text_of(rows['rank'].median(), 'whole')} at "
        f"{text_of(spec.threshold, 'setting')} of its energy, "
        f"{text_of(ratio, 'per cent')} of what a Gaussian matrix of its shape has."
    )


def make_methods(spec: WeightsSpec, members: Sequence[Member], scored: Scored, spectra: Spectra) -> str:
    """A methods paragraph, ready to paste."""
    families = ", ".join(dict.fromkeys(spectra.matrices["family"])) if len(spectra.matrices) else "none"
    vector = VECTORS[spec.vector]
    text = [
        f"We compared {len(members)} fine-tunes of {spec.base} by their weight deltas (fine-tuned minus base), in",
        f"the matrices {families} of every layer.",
        "Singular values are the roots of the eigenvalues of float64 Gram matrices.",
        f"Distances between models were those of the vector '{spec.vector}': {vector.meaning}",
        "Matrices that equal the base's have no directions: pairs of models were compared where both moved.",
    ]
    if vector.ranked:
        text.append(f"The {spec.rank} leading directions of each matrix were used.")
    if scored.k:
        text.append(
            "For k from 1 up we report the share of each model's k nearest neighbours with its own "
            f"{WORDS[spec.label_by]}, against its exact expectation under permuted labels, the mean of "
            f"(m - 1) / (n - 1) over models, with one-sided p-values from {spec.permutations:,} permutations, or from "
            "every arrangement of the labels where there are no more (not corrected for the number of k and vectors), "
            "and beside it the share that the matrices' norms alone reach."
        )
    method = "average-linkage agglomerative clustering" if spec.method == "agglomerative" else "HDBSCAN"
    text.append(f"Clusters are those of {method} on the distances; maps play no part in any number.")
    text.append(
        f"Ranks are the number of directions that hold {text_of(spec.threshold, 'setting')} of the energy, "
        "beside the rank of a "
        "Gaussian matrix of the same shape (Marchenko-Pastur); trends over the means of layers are constant, linear "
        "or quadratic, chosen by AICc."
    )
    return " ".join(text)


def _row(scored: Scored, vector: str) -> pd.Series:
    table = scored.vectors
    return table[(table["vector"] == vector) & (table["k"] == scored.k)].iloc[0]


def _neighbours(spec: WeightsSpec, scored: Scored, models: pd.DataFrame) -> str:
    if not scored.k:
        return ""
    row = _row(scored, spec.vector)
    vector = VECTORS[spec.vector].title.lower() + (f", rank {spec.rank}" if VECTORS[spec.vector].ranked else "")
    near = "nearest" if scored.k == 1 else f"{scored.k} nearest"
    word, share, chance = WORDS[spec.label_by], text_of(row["share"], "per cent"), text_of(row["chance"], "per cent")
    if row["smallest_p"] >= SIGNIFICANT:
        return (
            f"Too few to tell whether neighbours share a {word}: {share} of each model's {near} do (chance {chance}; "
            f"{vector}), and with {len(scored.predictions)} models the smallest {text_of(row['smallest_p'], 'p')}."
        )
    beyond = row["p_value"] < SIGNIFICANT
    verdict = f"Neighbours share a {word}" if beyond else f"Neighbours do not share a {word} more often than chance"
    labelled = models[models["predicted"].notna()]
    right = int((labelled["predicted"] == labelled["label"]).sum())
    return (
        f"{verdict}: {share} of each model's {near} do (chance {chance}, {text_of(row['p_value'], 'p')}; {vector}), "
        f"and their vote is right for {right} of {len(labelled)} models."
    )


def _norms(spec: WeightsSpec, scored: Scored, members: Sequence[Member]) -> str:
    """What the sizes of the changes reach without a direction, and what decides those sizes."""
    if not scored.k:
        return ""
    chosen, norms = _row(scored, spec.vector), _row(scored, NORMS)
    if norms["smallest_p"] >= SIGNIFICANT:
        return "" if spec.vector == NORMS else f"Norms alone reach {text_of(norms['share'], 'per cent')}."
    if norms["p_value"] >= SIGNIFICANT:
        reached = (
            f"Norms alone reach {text_of(norms['share'], 'per cent')} ({text_of(norms['p_value'], 'p')}), no "
            "more than chance"
        )
        return "" if spec.vector == NORMS else f"{reached}: how far the matrices moved does not give it away."
    if spec.vector == NORMS:
        return f"That is how far each matrix moved and no direction{_training(members)}."
    enough = norms["share"] >= chosen["share"]
    verdict = "enough" if enough else "a part of it"
    return (
        f"Norms alone reach {text_of(norms['share'], 'per cent')} ({text_of(norms['p_value'], 'p')}): how "
        "far each matrix moved, "
        f"without any direction, is {verdict}{_training(members)}."
    )


def _training(members: Sequence[Member]) -> str:
    """What is known of learning rates and steps, which decide how far weights move, as the end of a sentence."""
    recipes = {member.recipe for member in members if not member.variant}
    if "" in recipes:
        return ", and learning rate and steps decide that too"
    if len(recipes) == 1:
        return f", though all were trained alike ({next(iter(recipes))})"
    return ", and the models differ in learning rate or steps, which decide that too"


def _others(spec: WeightsSpec, scored: Scored) -> str:
    """What every other vector reaches."""
    if not scored.k:
        return ""
    shares = [
        f"{vector.title[0].lower()}{vector.title[1:]} {text_of(_row(scored, name)['share'], 'per cent')}"
        for name, vector in VECTORS.items()
        if name not in (spec.vector, NORMS)
    ]
    return f"The other vectors: {', '.join(shares)}."


def _doses(spec: WeightsSpec, doses: pd.DataFrame) -> str:
    """Whether models trained faster or slower lie with their task or with their dose, by vector and by norms."""
    sentences = []
    for vector in dict.fromkeys((spec.vector, NORMS)):
        rows = doses[doses["vector"] == vector]
        for where, words in (
            ("task", "with their own task"),
            ("dose", "with models of other tasks that moved as far"),
            ("neither", "neither with their task nor with models of other tasks that moved as far"),
        ):
            names = [short_name(ref) for ref in rows.loc[rows["lies_with"] == where, "model"]]
            if names:
                listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
                verb = "lie" if len(names) > 1 else "lies"
                place = words if len(names) > 1 else words.replace("their", "its")
                sentences.append(f"By {VECTORS[vector].title.lower()} {listed} {verb} {place}.")
    return " ".join(sentences)


CAVEATS = {
    "The original vector depends on accidents.": (
        "A singular vector is known up to its sign, and up to a rotation where singular values "
        "are close; *Original* averages such vectors over layers, and *Factors* too, weighted by "
        "the roots of their singular values, so the same delta can give two vectors that share "
        "nothing. The other four do not change with signs or rotations."
    ),
    "Chance is not one in G.": (
        "A model is not its own neighbour: with six tasks of three runs, two others of seventeen "
        "share the label, 12 %, not 17 %. The p-values are for one vector and one k; whoever "
        "tries six vectors and ten k finds a small one more easily."
    ),
    "Few models can say nothing.": (
        "With two tasks of two runs perfect neighbours have p = .33: the labels have no more "
        "arrangements. Where no arrangement could come below .05 the page says that there are too "
        "few to tell."
    ),
    "The same task is not all that runs share.": (
        "Runs of one task also share learning rate and number of steps. *Norms* and *Spectrum* "
        "see those first: a task that was trained longer has moved farther. What norms alone "
        "reach therefore stands beside every vector; only where the models were trained alike "
        "does it speak of the task."
    ),
    "What was frozen has no direction.": (
        "A matrix that equals the base's has norm and rank 0. Projectors and spectra compare two "
        "models where both moved, so that frozen layers make nobody alike."
    ),
    "Six layers carry a plain trend at most.": (
        "Trends are fitted to the means of layers and chosen by AICc between none, a line and a "
        "parabola: points of all models at once would call most data without a trend a parabola."
    ),
    "A rank says little without its null.": (
        "A full matrix of noise needs 391 of 768 directions for 90 % of its energy. Compare with "
        "the dashed line, not with the width of the matrix."
    ),
    "Maps are for the eye.": (
        "t-SNE and UMAP make islands out of anything and their gaps mean nothing. Clusters and "
        "neighbours are computed from the distances, never from the map."
    ),
    "Rounding has full rank.": (
        "Weights rounded to 16 bits add a full-rank floor of about 0.0002 of the weights' norm to "
        "every delta (bfloat16: 0.002). Where a delta is hardly larger, its rank is that of the "
        "rounding, and a notice says so."
    ),
    "Another base has other directions.": (
        "Models that started elsewhere are left out, or compared with their own base: then "
        "*Spectrum* and *Norms* can be read, *Projectors*, *Delta* and *Factors* cannot."
    ),
}
FORMULAS = {
    "Projectors: mean over matrices and sides of squared sines of principal angles between leading subspaces": (
        r"d(A, B)^2 = \frac{1}{2r} \lVert P_A - P_B \rVert_F^2 = \frac{1}{r} \sum_{i=1}^{r} \sin^2 \theta_i,"
        r"\qquad \cos \theta_i = \sigma_i\bigl(U_A^\top U_B\bigr)"
    ),
    "Chance level of sharing a label, for a model in a group of m among n; (m - 1) / (Gm - 1) for G equal groups": (
        r"\frac{m - 1}{n - 1}"
    ),
    "Rank at an energy threshold, stable rank, entropy rank": (
        r"\min \Bigl\{ k : \sum_{i \le k} \sigma_i^2 \ge \tau \sum_i \sigma_i^2 \Bigr\}, \qquad"
        r"\frac{\sum_i \sigma_i^2}{\sigma_1^2}, \qquad \exp\Bigl(-\sum_i p_i \log p_i\Bigr),"
        r"\; p_i = \frac{\sigma_i}{\sum_j \sigma_j}"
    ),
}
