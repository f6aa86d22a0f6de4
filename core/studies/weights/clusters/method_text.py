"""What a reader must know beside the headline: purpose, methods, reading aids, caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.models.weights.families import family_label
from core.results.numbers import text_of
from core.studies.weights.activations import SENTENCES, every_vector
from core.studies.weights.clusters.text import WORDS

if TYPE_CHECKING:
    from core.studies.weights.clusters.members import Member
    from core.studies.weights.clusters.spec import WeightsSpec
    from core.studies.weights.clusters.tables import Scored
    from core.studies.weights.ranks import Spectra

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
REASON = (
    "Run it to see whether the weight update alone tells what a model was fine-tuned on, and how "
    "many directions the update of each layer needs."
)
MAP, NEIGHBOURS, DISTANCES, DEPTH = "Map", "Neighbours", "Distances", "Rank by depth"  # views
HOW_TO_READ = {
    MAP: (
        "Each point is a fine-tune; near points have similar updates. Stress above .1 means "
        "distorted distances; t-SNE and UMAP gaps mean nothing."
    ),
    NEIGHBOURS: (
        "Height is the share of a model's k nearest models with its label, at most the dotted "
        "line; the grey band is chance level."
    ),
    DISTANCES: (
        "Each cell is the distance of two updates: 0 if equal; for projectors, 1 if no direction "
        "is shared. The tree joins similar models."
    ),
    DEPTH: (
        "Height is how many directions hold the chosen share of an update's energy (squared "
        "singular values); dashed grey is a random matrix."
    ),
}


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
            "the number of k and vectors. The share that the norms of the updates reach, without "
            "any direction, is the baseline."
        )
    method = (
        "average-linkage agglomerative clustering" if spec.method == "agglomerative" else "HDBSCAN"
    )
    text.append(f"Clusters were found by {method} on the distances; no number depends on the map.")
    text.append(
        "The rank of a matrix is the number of directions that hold "
        f"{text_of(spec.threshold, 'setting')} of its energy (the sum of squared singular "
        "values), compared with the rank of a Gaussian matrix of the same shape "
        "(Marchenko-Pastur). Trends were fitted to the means of layers; AICc chose between a "
        "constant, a line and a parabola, which describes the layers and tests nothing."
    )
    return " ".join(text)


CAVEATS = {
    "The original vector depends on arbitrary choices.": (
        "A singular vector is defined up to its sign, and up to a rotation where singular values "
        "are close. *Original* averages such vectors over layers, and so does *Factors*, "
        "weighted by the square roots of the singular values: the same update can give two "
        "unrelated vectors. The other four vectors do not change with signs or rotations."
    ),
    "Chance is not one in G.": (
        "A model is not its own neighbour: with six tasks of three runs each, two of the "
        "seventeen others share its label, which is 12 %, not 17 %. The p-values are for one "
        "vector and one k; whoever tries six vectors and ten k finds a small one more easily."
    ),
    "A few models cannot show anything.": (
        "With two tasks of two runs each, perfect neighbours have p = .33, because the labels "
        "have so few arrangements. Where no arrangement could reach .05, the page says that "
        "there are too few models."
    ),
    "Runs of a task share more than the task.": (
        "They also share learning rate and number of steps, which *Norms* and *Spectrum* see "
        "first: a model that was trained longer has moved further. The share that the size of "
        "the update alone reaches is therefore shown with every vector. It speaks of the task "
        "only where all models were trained with the same settings."
    ),
    "Frozen layers have no direction.": (
        "A matrix that equals the base's has norm and rank 0. Projectors and spectra compare two "
        "models on matrices that changed in both, so that frozen layers make no two models "
        "similar."
    ),
    "A trend of few layers is a description.": (
        "Trends are fitted to the means of layers, and AICc chooses between none, a line and a "
        "parabola. A fit to the points of all models at once would find a parabola in most data "
        "without a trend. Neighbouring layers are alike, and AICc takes up to nine of ten smooth "
        "series without a trend for one: the curve describes these layers, and has no p-value."
    ),
    "A rank means little without its baseline.": (
        "A square matrix of noise needs 391 of 768 directions for 90 % of its energy. Compare a "
        "rank with the dashed line, not with the width of the matrix."
    ),
    "Maps are illustrations.": (
        "t-SNE and UMAP make islands of anything, and the gaps between them mean nothing. The "
        "stress of PCA, also called classical MDS, is the root of the summed squared errors of "
        "its distances over the summed squared distances (Kruskal 1964): 0 if it keeps them all. "
        "Below a stress of .1, distances can be read from a map with care; models that are all "
        "about equally far from each other have a high stress in two and in three dimensions. "
        "Clusters and neighbours are computed from the distances, never from the map."
    ),
    "Rounding has full rank.": (
        "Weights stored in 16 bits add full-rank noise of about 0.0002 of the weights' norm to "
        "every update (bfloat16: 0.002). Where an update is hardly larger, its rank is that of "
        "the rounding; a note then says so."
    ),
    "Another base has other directions.": (
        "Fine-tunes of another base are left out, or compared with their own base. Then "
        "*Spectrum* and *Norms* can be interpreted; *Projectors*, *Delta* and *Factors* cannot."
    ),
    "Delta activations depend on the sentences.": (
        f"Base and fine-tunes read {SENTENCES} short included sentences, and the mean change of "
        "their hidden states is compared. Other sentences give other vectors. Fine-tunes of "
        "another base, or with another tokenizer, cannot be compared in this way: their states "
        "have other axes, or belong to other tokens. Encoders have no last token that sums up a "
        "sentence, so their states are averaged over its words."
    ),
}
FORMULAS = {
    "Projectors: squared distance, averaged over matrices and both sides; θ are principal angles": (
        r"d(A, B)^2 = \frac{1}{2r} \lVert P_A - P_B \rVert_F^2"
        r" = \frac{1}{r} \sum_{i=1}^{r} \sin^2 \theta_i,"
        r"\qquad \cos \theta_i = \sigma_i\bigl(U_A^\top U_B\bigr)"
    ),
    "Chance of sharing a label in a group of m among n; (m - 1) / (Gm - 1) for G equal groups": (
        r"\frac{m - 1}{n - 1}"
    ),
    "Rank at an energy threshold, stable rank, and entropy rank": (
        r"\min \Bigl\{ k : \sum_{i \le k} \sigma_i^2 \ge \tau \sum_i \sigma_i^2 \Bigr\}, \qquad"
        r"\frac{\sum_i \sigma_i^2}{\sigma_1^2}, \qquad \exp\Bigl(-\sum_i p_i \log p_i\Bigr),"
        r"\; p_i = \frac{\sigma_i}{\sum_j \sigma_j}"
    ),
}
