"""Papers and methods of the study."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.weights.families import family_label
from core.results.numbers import text_of
from core.studies.weights.activations import SENTENCES, every_vector
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import Scored
from core.studies.weights.ranks import Spectra
from core.studies.weights.unlabelled import WORDS

CITATIONS = (
    "vectorsinthewild",
    "hu2022",
    "ilharco2023",
    "roy2007",
    "marchenko1967",
    "phipson2010",
    "hubert1985",
    "hurvich1989",
    "kruskal1964",
)
STATE_CITATIONS = ("xu2025",)  # where delta activations are computed


def make_methods(
    spec: WeightsSpec, members: Sequence[Member], scored: Scored, spectra: Spectra
) -> str:
    """A methods paragraph, ready to paste."""
    families = (
        ", ".join(dict.fromkeys(map(family_label, spectra.matrices["family"])))
        if len(spectra.matrices)
        else "none"
    )
    vector = every_vector()[spec.vector]
    text = [
        f"We compared {len(members)} fine-tunes of {spec.base} by their weight updates (fine-tuned",
        f"minus base) in these matrices of every layer: {families}.",
        "Singular values are the square roots of the eigenvalues of float64 Gram matrices.",
        f"Models were compared by the vector '{spec.vector}'. {vector.meaning}",
        "Projectors and spectra were compared on the matrices that changed in both models.",
    ]
    if vector.ranked:
        text.append(f"The {spec.rank} leading directions of each matrix were used.")
    if spec.reads_states:
        text.append(
            "Delta activations are the mean over the first "
            f"{SENTENCES} sentences of the included text of the fine-tune's hidden states minus "
            "the base's, compared by their cosine: at the last word in decoders, averaged over "
            "the words of a sentence in other models."
        )
    if scored.k:
        text.append(
            "For each k we report the share of a model's k nearest neighbours that have its "
            f"{WORDS[spec.label_by]}, averaged over models. Chance is its exact expectation under "
            "permuted labels, the mean of (m - 1) / (n - 1) over models, each in a group of m "
            f"among n. One-sided p-values come from {spec.permutations:,} permutations, or from "
            "all arrangements of the labels where there are fewer; they are not corrected for "
            "the number of k and vectors. What the norms of the updates reach, without any "
            "direction, is the baseline. "
            f"A model's {WORDS[spec.label_by]} is named by a vote of its {scored.k} nearest "
            "neighbours, in a tie by the nearest; chance is the mean number of right names under "
            "the same permutations."
        )
    method = (
        "average-linkage agglomerative clustering" if spec.method == "agglomerative" else "HDBSCAN"
    )
    text.append(f"Clusters were found by {method} on the distances; no number depends on the map.")
    text.append(
        "The rank of a matrix is the number of directions that hold "
        f"{text_of(spec.threshold, 'setting')} of its energy (the sum of squared singular "
        "values), compared with the rank of a Gaussian matrix of the same shape "
        "(Marchenko-Pastur). Trends were fitted to the means of layers; a criterion of fit (AICc) "
        "chose between a constant, a line and a parabola, which describes the layers and tests "
        "nothing."
    )
    return " ".join(text)
