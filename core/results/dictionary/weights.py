"""The data dictionary of weight changes: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: Mapping[str, str] = {
    "label": (
        "what models are grouped by: task, data set, base, or the label in the table of labels"
    ),
    "task": "what the model was trained for, as its card says",
    "data": "what it was trained on, as its card says",
    "data_from": "where the data set was read for a model of the Hub: its card, or its name where "
    "the card has none",
    "cluster": "number of its cluster",
    "nearest": "reference of the nearest other model",
    "distance": "distance to the nearest other model (by the study's vector)",
    "predicted": "label predicted by a vote of its nearest neighbours",
    "votes": "share of nearest neighbours that vote for the predicted label",
    "correct": "whether the predicted label is the model's label",
    "relative_delta": "Frobenius norm of the weight change over that of the base's weights (share)",
    "relative_norm": "Frobenius norm of the matrix's change over that of the base's matrix (share)",
    "x": "first coordinate of the plot (no unit)",
    "y": "second coordinate of the plot (no unit)",
    "z": "third coordinate of the map by classical MDS (no unit); empty for t-SNE and UMAP",
    "k": "number of nearest neighbours",
    "share": "share of nearest neighbours with the same label",
    "attainable": "the largest share that these groups of labels allow: a group of m has m - 1 "
    "neighbours to offer",
    "chance": "the share expected with random labels: (m - 1) / (Gm - 1)",
    "p_value": "p-value: share of permutations of the labels that reach at least this share",
    "smallest_p": "smallest p-value possible with these labels, that of the highest share any "
    "permutation reaches",
    "vector": "the vector that describes a weight change: projector, spectrum, norms, delta, "
    "factors or original; where models were run, also activations_top and activations_middle",
    "gauge_safe": "whether the vector is independent of the signs and rotations of its singular "
    "vectors",
    "ari": "adjusted Rand index of clusters and labels",
    "nmi": "normalised mutual information of clusters and labels",
    "nmi_chance": "normalised mutual information expected with random labels",
    "family": "matrix family: query, key, value, output, ff1, ff2, or all of them",
    "of": "which matrix: the weight change (delta), or the model's weights (weights)",
    "rows": "rows of the matrix",
    "columns": "columns of the matrix",
    "stable_rank": "stable rank: squared Frobenius norm over squared spectral norm",
    "entropy_rank": "exponential of the entropy of the singular values' shares of their sum",
    "null_rank": "effective rank of a Gaussian matrix of that shape",
    "null_stable_rank": "stable rank of a Gaussian matrix of that shape",
    "null_entropy_rank": "entropy rank of a Gaussian matrix of that shape",
    "threshold": "share of energy at which the effective rank is counted",
    "ranks.rank": "effective rank: number of leading directions that hold the threshold's share of "
    "energy",
    "intruders": "leading directions whose cosine with every direction of the base is below the "
    "threshold",
    "rare": "intruders that resemble the base's directions less than after a random update of "
    "equal norm (p < .01)",
    "null_mean": "intruders after a random update of equal norm, on average",
    "significant": "intruders that are significant on their own: p < .05 corrected for all "
    "leading directions of all models",
    "families.null_low": "lower end of the 95 % range of intruders after a random update of equal "
    "norm",
    "families.null_high": "upper end of the 95 % range of intruders after a random update of equal "
    "norm",
    "turned_mean": "intruders after a random update with the same singular values, on average",
    "turned_low": "lower end of the 95 % range of intruders after such an update",
    "turned_high": "upper end of the 95 % range of intruders after such an update",
    "turned_p": "p-value: share of such updates with at least as many intruders",
    "turned_draws": "number of such updates",
    "corrected_turned_p": "that p-value, corrected for the models tested together (Bonferroni), at "
    "most 1",
    "corrected_p": "p-value, corrected for the models tested together (Bonferroni), at most 1",
    "families.p_value": "p-value: share of random updates of equal norm with at least as many "
    "intruders",
    "intruders.p_value": "p-value: share of random updates of equal norm with at least as many "
    "intruders",
    "directions.p_value": "p-value: share of random updates of equal norm after which a direction "
    "resembles the base's as little",
    "directions.corrected_p": "p-value for all leading directions of all models together: share of "
    "draws whose lowest cosine in any matrix is as low, corrected for the models tested together "
    "(Bonferroni), at most 1",
    "looked": "number of leading directions examined",
    "direction": "number of the direction, from 1, the largest singular value first",
    "singular_value": "its singular value in the fine-tuned matrix (the weights' unit)",
    "cosine": "largest absolute cosine with any left singular vector of the base",
    "intruder": "whether that cosine is below the threshold",
    "scaling.metric": "what is measured: the task's score (accuracy, tag accuracy or UAS), or the "
    "masked loss",
    "scaling.way": "which directions are scaled: intruder dimensions (intruders), random ones of "
    "equal size (random), or others of the same matrices with the nearest singular values (other)",
    "scaling.scale": "factor by which the directions are scaled: 1 for the model as it is, 0 for "
    "directions removed",
    "scaling.scaled": "how many intruder dimensions are scaled together",
    "scaling.value": "share of right answers, or nats per masked subword; a mean over draws for "
    "random directions",
    "scaling.change": "the value minus that of the model as it is (its unit)",
    "scaling.change_low": "lower end of the 95 % interval of the change, over sentences and draws",
    "scaling.change_high": "upper end of the 95 % interval of the change, over sentences and draws",
    "scaling.excess": "the value with scaled intruder dimensions minus that with the whole update "
    "of the same matrices shrunk by an equal norm (its unit); empty in other ways",
    "scaling.excess_low": "lower end of the 95 % interval of that difference, over sentences",
    "scaling.excess_high": "upper end of the 95 % interval of that difference, over sentences",
    "scaling.beyond": "the value with scaled intruder dimensions minus that with random directions "
    "(its unit); empty in other rows",
    "scaling.beyond_low": "lower end of the 95 % interval of that difference, over sentences and "
    "draws",
    "scaling.beyond_high": "upper end of the 95 % interval of that difference, over sentences and "
    "draws",
    "kind": "trend of the layers' mean rank with depth, chosen by AICc: constant, linear or "
    "quadratic; not tested",
    "equation": "the equation of the trend",
    "coefficients": "its coefficients, lowest power first",
    "trends.r2": "share of the means' variance that the trend explains",
    "aicc_constant": "AICc of a constant (only differences are meaningful)",
    "aicc_linear": "AICc of a line; infinite where there are too few layers",
    "aicc_quadratic": "AICc of a parabola; infinite where there are too few layers",
    "unchanged": "matrices that equal the base's bit for bit",
    "dose": "learning rate relative to that of the task's other runs, from its card",
    "frozen": "number of frozen lowest layers (the embeddings are frozen too), from its card",
    "to_task": "mean distance to the runs of its task with the standard settings (by the row's "
    "vector)",
    "to_dose": "mean distance to the models of other tasks with weight changes of the most similar "
    "size (by the row's vector)",
    "lies_with": "task or dose: the group of which every model is nearer than every model of the "
    "other group; else neither",
    "same_dose": "the models of other tasks with weight changes of the most similar size",
    "projector": "distance of the two models by projectors (share of the largest)",
    "spectrum": "distance of the two models by the shapes of their singular values (no unit)",
    "norms": "distance of the two models by relative norms of their matrices' changes (no unit)",
    "delta": "distance of the two models on the unit sphere of changes, sqrt(2 - 2 cosine)",
    "factors": "distance of the two models by averaged factors, sqrt(2 - 2 cosine); about 1.4 "
    "even for one and the same update, factored otherwise",
    "original": "distance of the two models by averaged left singular vectors, "
    "sqrt(2 - 2 cosine); about 1.4 even for one and the same update, factored otherwise",
    "activations_top": "distance of the two models by the mean changes of their top layer's hidden "
    "states, sqrt(2 - 2 cosine)",
    "activations_middle": "distance of the two models by the mean changes of their middle layer's "
    "hidden states, sqrt(2 - 2 cosine)",
    # lineage
    "lineage.verdict": "root (of a tree), descends (from its parent), unrelated (to every other "
    "model), identical (same files of weights), unchanged (same attention and feed-forward "
    "matrices), or left out",
    "parent": "reference of its parent in the tree; of a copy, the model that it equals; empty "
    "without one",
    "lineage.root": "reference of the model at which its tree begins; empty for a copy",
    "generation": "steps from the root of its tree; empty for a copy",
    "lineage.relative_delta": "Frobenius norm of the difference of its weights and the parent's, "
    "over that of the parent's weights (share)",
    "lineage.cosine": "cosine of its weights and the parent's",
    "norm": "Frobenius norm of its attention and feed-forward matrices (the weights' unit)",
    "norm_change": "its norm over the parent's, minus 1 (share)",
    "kurtosis": "kurtosis of the entries of a matrix, mean over matrices: 3 for a Gaussian",
    "kurtosis_root": "reference of the model at which that tree begins by the highest kurtosis; "
    "the root is undecided where the two differ",
    "lineage.nearest": "reference of the related model at the smallest distance; empty without one",
    "recorded": "reference of the base on its card or, for a checkpoint, of the one before it in "
    "its run; empty if that is not among the models",
    "agrees": "whether the parent in the tree is the one on record",
    "relatives.other": "reference of the other model",
    "relatives.distance": "Frobenius norm of the difference of their weights (the weights' unit)",
    "relatives.cosine": "cosine of their weights",
    "permuted_cosine": "the same cosine with the rows of the other model's matrices permuted",
    "siblings.other": "reference of the other model",
    "siblings.base": "reference of their base: on record, or the parent of both in the tree",
    "siblings.cosine": "cosine of the changes of the two models' weights from the base",
    "changes.other": "reference of the other model",
    "changes.base": "reference of their base: on record, or the parent of both in the tree",
    "changes.cosine": "cosine of the changes of the two models' matrix from the base; empty where "
    "one of them did not change it",
    "rules.kind": "models scored: fine-tune, or checkpoint of a run",
    "growth.kind": "models scored: fine-tune, or checkpoint of a run",
    "rule": "how a parent is found: tree from the smallest norm, tree from the highest kurtosis, "
    "tree without direction, tree from a random model, nearest model, nearest by norms of "
    "matrices, or nearest with rows permuted",
    "right": "models whose parent on record is found; the expected number for random roots",
    "rules.of": "models with a parent on record",
    "rules.share": "share of these models whose parent on record is found",
    "rules.p_value": "p-value: probability that trees from random roots find as many or more; "
    "empty where a rule does not choose roots",
    "property": "norm or kurtosis",
    "rising": "models in which it is larger than in the parent on record",
    "growth.of": "models with a parent on record",
    "starts": "different parents among these: only as many comparisons are independent",
}
