"""Titles of tables and labels of columns on a page; files keep the raw names.

The meaning of each column is in the data dictionary, `core.results.columns`.
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
    "spans": "Predicted answers",
    "swap": "Scores after layer swaps",
    "own": "Scores of the unmodified models",
    "sizes": "Size of each layer's change",
    "frozen": "Frozen layers",
    "truth": "AUC of each measure",
    "training": "Similarity through training",
    "peaks": "Layer closest to the final model at each step",
    "loss": "Held-out loss through training",
    "others": "Similarity of the other runs",
    # probes
    "scores": "Scores by layer",
    "differences": "Differences from the baseline",
    "margins": "Scores compared with baselines",
    "best": "Best layer at each step",
    "sweep": "Scores by rank of the probe",
    "edges": "Scores by layer",
    "sentence_words": "Words of the sentence",
    "sentence_distances": "Distances between words",
    "edge_margins": "Scores compared with baselines",
    "codes": "Online code lengths",
    # weights
    "models": "Models",
    "neighbours": "Nearest neighbours",
    "vectors": "Comparison of the vectors",
    "predictions": "Labels predicted by nearest neighbours",
    "distances": "Distances between models",
    "ranks": "Ranks of the matrices",
    "trends": "Trends of the rank with depth",
    "doses": "Runs trained with other settings",
    "families": "Intruder dimensions by matrix family",
    "intruders": "Intruder dimensions by matrix",
    "directions": "Leading directions",
    # alignment
    "alignment": "Errors by layer, pair and method",
    "layers": "Errors by layer",
    "methods": "Errors by method",
    "curves": "Error during training",
    "check": "Errors on known bijections",
    "stitching": "Accuracy of each stitched pair",
    "means": "Accuracy, mean over pairs",
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
    "rival": "Baseline",
    "rival_layer": "Baseline's layer",
    "rival_value": "Baseline's score",
    "sd": "Standard deviation",
    "dev": "Development score",
    "nmse": "Error (variance unexplained)",
    "method": "Map",
    "other_method": "Compared with",
    "retrieval": "Retrieval accuracy",
    "converged": "Converged",
    "truth.truth": "Known answer",
    "truth": "Form of the bijection",
    "survives": "Holds with both",
    "l2": "Euclidean distance",
    "r2": "R²",
    "mse": "Squared error",
    "inverse_error": "Round-trip error",
    "p_value": "p-value",
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
    "gauge_safe": "Independent of signs and rotations",
    "to_task": "Distance to its task",
    "to_dose": "Distance to changes of similar size",
    "lies_with": "Nearest group",
    "same_dose": "Models with changes of similar size",
    "dose": "Relative learning rate",
    "frozen": "Frozen layers",
    "of": "Matrix of",
    "said_by": "Source",
    "says": "Finding",
    "changed_by": "Changes that change the verdict",
    "ours": "Our protocol",
    "published": "Published protocol",
    "loss_low": "Loss, lower end",
    "loss_high": "Loss, upper end",
    "excess_low": "Excess, lower end",
    "excess_high": "Excess, upper end",
    "ahead": "Lead over the final model's best layer",
    "ahead_low": "Lead, lower end",
    "ahead_high": "Lead, upper end",
    "beyond": "Similarity above another run's",
    "clear": "Distinguishable",
    "other": "Other model",
    "match": "Matched head",
    "scaled": "Share of the change kept",
    "votes": "Share of votes",
    "uniform_kilobits": "Kilobits of the uniform code",
    "relative_delta": "Relative weight change",
    "relative_change": "Relative weight change",
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
    "end_layer": "Best layer of the final model",
    "frozen.of": "Compared with",
    "truth.unchanged": "Unchanged layers",
    "truth.changed": "Changed layers",
    "tokens.predicted": "In the predicted answer",
    "sizes.unchanged": "Unchanged",
    "reading": "Compared",
    "self_difference": "Difference, copy swapped in",
    "whole_difference": "Difference, all layers swapped",
    "frozen_difference": "Difference, frozen layers swapped",
    "kept": "Share kept",
    "sweep.rank": "Rank of the probe",
}


def title_of_table(name: str) -> str:
    """Title of a table on a page."""
    return TITLES.get(name) or in_words(name)


def label_of(table: str, column: str) -> str:
    """Label of a column on a page."""
    return LABELS.get(f"{table}.{column}") or LABELS.get(column) or in_words(column)


def in_words(name: str) -> str:
    """Write a raw name as words: `source_layer` is "Source layer"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
