"""Words for tables on a page: a title for each, and a short label for each column; files keep the raw names.

What a column means stands in the data dictionary, `core.results.columns`.
"""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    # RSA
    "similarity": "Similarity by layer",
    "runs": "Similarity of each run",
    "references": "Similarity of the references",
    "grid": "Every layer with every layer",
    "domains": "Similarity by layer on two texts",
    "tokens": "Words of the passage",
    "axes": "Variance along the axes",
    "spans": "Answers of the span heads",
    "swap": "Scores after layer swaps",
    "own": "Scores of the unmodified models",
    "sizes": "Size of each layer's change",
    "frozen": "Frozen layers",
    "truth": "How well each measure finds changed layers",
    "training": "Similarity through training",
    "peaks": "Layer closest to the final model at each step",
    "loss": "Held-out loss through training",
    "others": "Similarity of the other runs",
    # probes
    "scores": "Scores by layer",
    "differences": "Differences from the baseline",
    "margins": "Scores compared with simpler explanations",
    "best": "Best layer at each step",
    "sweep": "Scores by rank of the probe",
    "edges": "Scores by layer",
    "sentence_words": "Words of the sentence",
    "sentence_distances": "Distances between words",
    "edge_margins": "Scores compared with simpler explanations",
    "codes": "Lengths of the online codes",
    # weights
    "models": "Models",
    "neighbours": "Neighbours",
    "vectors": "Vectors compared",
    "predictions": "Labels predicted by the neighbours",
    "distances": "Distances between models",
    "ranks": "Ranks of the matrices",
    "trends": "Trends of the rank with depth",
    "doses": "Runs with another learning rate",
    "families": "Intruder dimensions by matrix family",
    "intruders": "Intruder dimensions by matrix",
    "directions": "Leading directions",
    # alignment
    "alignment": "Errors by layer, pair and method",
    "layers": "Errors by layer",
    "methods": "Errors by method",
    "curves": "Loss through training",
    "check": "Errors on known bijections",
    "stitching": "Scores of the stitched models",
    "heads": "Matched attention heads",
    "head_matrix": "Correlation of all attention heads",
    "outputs": "Errors on attention outputs",
    "findings": "Findings of the paper",
    "claims": "Verdicts by protocol",
    "errors": "Errors by protocol",
}

LABELS: Mapping[str, str] = {
    "low": "Lower end",
    "high": "Upper end",
    "null_low": "Chance, lower end",
    "null_high": "Chance, upper end",
    "rival": "Simpler explanation",
    "rival_layer": "Its layer",
    "rival_value": "Its score",
    "sd": "Standard deviation",
    "dev": "Development score",
    "nmse": "Variance unexplained",
    "l2": "Euclidean distance",
    "r2": "R²",
    "mse": "Squared error",
    "inverse_error": "Round-trip error",
    "p_value": "p-value",
    "corrected_p": "p-value, corrected",
    "smallest_p": "Smallest possible p-value",
    "k": "Neighbours",
    "ari": "ARI",
    "nmi": "NMI",
    "nmi_chance": "NMI by chance",
    "auc": "AUC",
    "f1": "F1",
    "finder": "Measure",
    "way": "Layers swapped",
    "aicc_constant": "AICc, constant",
    "aicc_linear": "AICc, linear",
    "aicc_quadratic": "AICc, quadratic",
    "gauge_safe": "Independent of signs",
    "to_task": "Distance to its task",
    "to_dose": "Distance to equal changes",
    "lies_with": "Nearest group",
    "same_dose": "Models with equal changes",
    "dose": "Relative learning rate",
    "frozen": "Frozen layers",
    "of": "Matrix of",
    "said_by": "Source",
    "says": "Finding",
    "changed_by": "Verdict changes with",
    "ours": "Our protocol",
    "published": "Published protocol",
    "loss_low": "Loss, lower end",
    "loss_high": "Loss, upper end",
    "excess_low": "Excess, lower end",
    "excess_high": "Excess, upper end",
    "ahead_low": "Ahead, lower end",
    "ahead_high": "Ahead, upper end",
    "beyond": "Less another run",
    "clear": "Distinguishable",
    "other": "Other model",
    "match": "Matched head",
    "scaled": "Share of the change kept",
    "votes": "Share of votes",
    "uniform_kilobits": "Kilobits of the uniform code",
    "relative_delta": "Relative change",
    "data": "Data set",
    "data_from": "Data set read from",
    "label": "Label",
    "nearest": "Nearest model",
    "predicted": "Predicted label",
    "unchanged": "Unchanged matrices",
    "looked": "Directions examined",
    "null_rank": "Rank by chance",
    "null_stable_rank": "Stable rank by chance",
    "null_entropy_rank": "Entropy rank by chance",
    "null_mean": "Intruders by chance",
    "rare": "Significant intruders",
    "commonest": "Majority answer",
    "chance": "Chance level",
    "end_layer": "Best layer at the end",
    "frozen.of": "Compared with",
    "truth.unchanged": "Unchanged layers",
    "truth.changed": "Changed layers",
    "tokens.predicted": "In the predicted answer",
    "sizes.unchanged": "Unchanged",
    "self_difference": "Difference, copy as donor",
    "whole_difference": "Difference, all layers swapped",
    "frozen_difference": "Difference, frozen layers swapped",
    "kept": "Share kept",
    "sweep.rank": "Rank of the probe",
}


def title_of_table(name: str) -> str:
    """What a table shows, for its heading."""
    return TITLES.get(name) or in_words(name)


def label_of(table: str, column: str) -> str:
    """A column's heading in words."""
    return LABELS.get(f"{table}.{column}") or LABELS.get(column) or in_words(column)


def in_words(name: str) -> str:
    """A raw name as words: `source_layer` is "Source layer"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
