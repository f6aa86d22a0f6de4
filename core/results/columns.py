"""The data dictionary: what every column of every exported table is, and in which unit.

Most columns mean the same in every table and stand under their name; one that means something of its own in a table
stands under `table.column`. A test runs every study and finds each of its columns here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Mapping[str, str] = {
    # what a row is about
    "model": "reference of the model",
    "base": "reference of the model that it is held against",
    "source": "reference of the model that a map starts from",
    "target": "reference of the model that a map leads to",
    "other": "reference of the other model of the pair",
    "corpus": "the text, with the genres kept",
    "layer": "layer number; 0 is the embedding output",
    "base_layer": "layer number of the base; 0 is the embedding output",
    "source_layer": "layer number of the source; 0 is the embedding output",
    "target_layer": "layer number of the target; 0 is the embedding output",
    "head": "number of the attention head in its layer, from 0",
    "match": "number of the target's attention head that it is matched with, from 0",
    "method": "the map: a name that --methods takes",
    "group": "the group of models: models, or against for the second one",
    "split": "the part of the split: train or test; only test is called a result",
    "words": "which test words: all, seen in training, or unseen",
    "part": "what the row is about, beside the model",
    # similarities and their noise
    "similarity": "similarity of the two spaces by the study's measure (no unit; 1 for equal spaces)",
    "low": "lower end of the 95 % band of the value before it (its unit)",
    "high": "upper end of the 95 % band of the value before it (its unit)",
    "null_low": "lower end of the central 95 % of the null (unit of the value)",
    "null_high": "upper end of the central 95 % of the null (unit of the value)",
    "relative_change": "Frobenius norm of the weight change over that of the base's weights (share)",
    "scaled": "share of its weight change that the model keeps: 1, or less where changes are matched in size",
    "runs": "how many fine-tuning runs the row is the mean of",
    # probes
    "probe": "what was probed: distance or depth, real or control trees, or a baseline",
    "metric": "the score: uuas (per cent), dspr, root_accuracy (per cent), nspr",
    "value": "the score, in the metric's unit",
    "dev": "the score on development sentences, by which layers are chosen (the metric's unit)",
    "probes": "probes that the score is the mean of: other initial maps, or other control trees",
    "sd": "standard deviation of the score over those probes (the metric's unit)",
    "rival": "what explains the score more plainly: position only, or an untrained model",
    "rival_layer": "the rival's layer; 0 where it has none",
    "rival_value": "the rival's score (the metric's unit)",
    "margin": "the score less the rival's (the metric's unit)",
    "difference": "value minus that of what it is held against (the value's unit)",
    "rank": "rank of the probe's map",
    # edge probes
    "edges.probe": "what was asked: pos (part of speech), label (of a dependency) or distance (of the head)",
    "codes.probe": "what was asked: pos (part of speech), label (of a dependency) or distance (of the head)",
    "edge_margins.probe": "what was asked: pos (part of speech), label (of a dependency) or distance (of the head)",
    "labels": "real; control, one random label for each word type; or selectivity, the difference of the two",
    "edges.metric": "accuracy; unseen, the same on words not in training (both per cent); bits of online code a label",
    "edge_margins.metric": "accuracy; unseen, the same on words not in training (both per cent); bits a label",
    "edges.dev": "accuracy on development sentences, by which layers are chosen (per cent)",
    "edges.probes": "draws of control labels that the score is the mean of; 1 for real labels",
    "edges.sd": "standard deviation of the score over those draws (the metric's unit)",
    "edge_margins.rival": "what explains the labels more plainly: majority, word, position, or an untrained model",
    "kilobits": "online code length of all training labels (kilobits)",
    "uniform_kilobits": "length of the uniform code of as many labels (kilobits)",
    "compression": "how many times shorter the online code is than the uniform one",
    # maps
    "nmse": "fraction of the target's variance unexplained (FVU): squared error over squared spread; 0 is perfect",
    "l2": "mean Euclidean distance of mapped and true vector (units of the target space)",
    "r2": "one minus the fraction of variance unexplained",
    "retrieval": "share of vectors whose nearest mapped neighbour is their own",
    "inverse_error": "round-trip error: fraction of the source's variance that mapping there and back loses",
    "other_group": "group of the method that it is held against",
    "other_method": "method that it is held against",
    "level": "level of the band: .95, or more where several methods are held against one at once",
    "converged": "whether training ended because the validation loss no longer fell",
    "step": "training step",
    "training": "loss on training rows (fraction of variance unexplained)",
    "validation": "loss on validation rows (fraction of variance unexplained)",
    "truth": "the planted bijection: its form",
    "blocks": "coupling blocks of the planted bijection",
    "accuracy": "share of labelled sentences classified right",
    "correlation": "correlation of the two heads' attention, over positions",
    # weights
    "label": "what models are grouped by: task, data set, base, or the table's label",
    "task": "what the model was trained for, as its card says",
    "data": "what it was trained on, as its card says",
    "cluster": "number of the cluster it falls into",
    "nearest": "reference of the nearest other model",
    "distance": "distance to the nearest other model (of the study's vector)",
    "predicted": "label that the vote of its neighbours gives",
    "votes": "share of neighbours that vote for it",
    "correct": "whether the vote gives its own label",
    "relative_delta": "Frobenius norm of the weight change over that of the base's weights (share)",
    "relative_norm": "Frobenius norm of the matrix's change over that of the base's matrix (share)",
    "x": "first coordinate of the plot (no unit)",
    "y": "second coordinate of the plot (no unit)",
    "k": "neighbours looked at",
    "share": "share of nearest neighbours with the same label",
    "chance": "that share where labels are dealt at random: (m - 1) / (Gm - 1)",
    "p_value": "share of permutations of the labels that reach the share",
    "smallest_p": "p-value of the highest share that any permutation of these labels reaches: none can be smaller",
    "vector": "the vector that a weight change is told by",
    "gauge_safe": "whether the vector is the same whichever signs and rotations its singular vectors have",
    "ari": "adjusted Rand index of clusters and labels",
    "nmi": "normalised mutual information of clusters and labels",
    "nmi_chance": "the same with labels dealt at random, on average",
    "family": "matrix family: query, key, value, output, ff1, ff2",
    "of": "whose matrix: the change (delta), or the model's own (weights)",
    "rows": "rows of the matrix",
    "columns": "columns of the matrix",
    "stable_rank": "stable rank: squared Frobenius norm over squared spectral norm",
    "entropy_rank": "exponential of the entropy of the singular values' shares of their sum",
    "null_rank": "effective rank of a Gaussian matrix of that shape",
    "null_stable_rank": "stable rank of a Gaussian matrix of that shape",
    "null_entropy_rank": "entropy rank of a Gaussian matrix of that shape",
    "threshold": "share of energy that the effective rank holds",
    "ranks.rank": "effective rank at the energy threshold: directions that hold that share of energy",
    "intruders": "leading directions whose cosine with every direction of the base stays below the threshold",
    "rare": "intruders that resemble the base's less than a Gaussian change of equal norm makes one at p < .01",
    "null_mean": "intruders that Gaussian changes of equal norm make, on average",
    "families.null_low": "lower end of the central 95 % of intruders that Gaussian changes of equal norm make",
    "families.null_high": "upper end of the central 95 % of intruders that Gaussian changes of equal norm make",
    "families.p_value": "share of Gaussian changes of equal norm that make as many intruders, itself counted",
    "intruders.p_value": "share of Gaussian changes of equal norm that make as many intruders, itself counted",
    "directions.p_value": "share of Gaussian changes after which any direction resembles the base's as little",
    "looked": "leading directions looked at",
    "direction": "number of the direction, from 1, the largest singular value first",
    "singular_value": "its singular value in the tuned matrix (the weights' unit)",
    "cosine": "largest absolute cosine with any left singular vector of the base",
    "intruder": "whether that cosine stays below the threshold",
    "kind": "trend of the rank over the means of layers, chosen by AICc: constant, linear or quadratic",
    "equation": "the trend written out",
    "coefficients": "its coefficients, lowest power first",
    "trends.r2": "share of the means' variance that the trend explains",
    "aicc_constant": "AICc of a constant (only differences mean anything)",
    "aicc_linear": "AICc of a line; infinite where there are too few layers for it",
    "aicc_quadratic": "AICc of a parabola; infinite where there are too few layers for it",
    "unchanged": "matrices that equal the base's bit for bit",
    "dose": "learning rate relative to that of the task's other runs, as its card says",
    "frozen": "lowest layers that did not train, with the embeddings, as its card says",
    "to_task": "mean distance to the runs of its task that were trained alike (of the row's vector)",
    "to_dose": "mean distance to the models of other tasks that moved most nearly as far (of the row's vector)",
    "lies_with": "task or dose: the group whose every model is nearer than every one of the other; else neither",
    "same_dose": "the models of other tasks that moved most nearly as far",
    "projector": "distance of the two models by projectors (share of the largest)",
    "spectrum": "distance of the two models by the shapes of their singular values (no unit)",
    "norms": "distance of the two models by relative norms of their matrices' changes (no unit)",
    "delta": "distance of the two models on the unit sphere of changes, sqrt(2 - 2 cosine)",
    "factors": "distance of the two models by averaged factors, sqrt(2 - 2 cosine)",
    "original": "distance of the two models by averaged left singular vectors, sqrt(2 - 2 cosine)",
    # token map
    "word": "the word",
    "position": "its place in the passage, from 0",
    "highlighted": "whether it was chosen",
    "axis": "axis of the plot, from 1",
    "explained": "share of the variance of all vectors along the axis",
    "tokens.x": "first principal component (units of scaled layers)",
    "tokens.y": "second principal component (units of scaled layers)",
}


def meaning(table: str, column: str) -> str | None:
    """What a column of a table is; None if the dictionary does not know it."""
    return COLUMNS.get(f"{table}.{column}", COLUMNS.get(column))


def describe(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, str]]:
    """Table -> column -> meaning, for every column of the tables that is known."""
    return {
        name: {str(column): text for column in table.columns if (text := meaning(name, str(column)))}
        for name, table in tables.items()
    }
