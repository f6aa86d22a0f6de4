"""The data dictionary: the meaning and unit of every column of every exported table.

A column that means the same in every table is listed by its name, one with a meaning of its own in
a table as `table.column`. A test runs every study and looks each of its columns up here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.results.dictionary import behaviour, maps, models, probes, weights

if TYPE_CHECKING:
    import pandas as pd

GENERAL: Mapping[str, str] = {
    # what a row is about
    "model": "reference of the model",
    "base": "reference of the base model, with which the model is compared",
    "source": "reference of the source model of the map",
    "target": "reference of the target model of the map",
    "other": "reference of the other model of the pair",
    "corpus": "the text, with the genres kept",
    "layer": "layer number; 0 is the embeddings",
    "base_layer": "layer number of the base; 0 is the embeddings",
    "source_layer": "layer number of the source; 0 is the embeddings",
    "target_layer": "layer number of the target; 0 is the embeddings",
    "source_head": "number of the source's attention head in its layer, from 0",
    "target_head": "number of the target's attention head in its layer, from 0",
    "head": "number of the attention head in its layer, from 0",
    "match": "number of the matched attention head of the target, from 0",
    "method": "the map: a value of --methods",
    "group": "the group of models: models, against for the second group, or second run for a seed "
    "and a second training of it",
    "split": "the part of the split: train or test; only test is reported as a result",
    "words": "which words: all, seen in training, or unseen",
    "part": "what the row is about, in addition to the model",
    # similarities and their noise
    "similarity": (
        "similarity of the two spaces by the chosen measure (no unit; 1 for equal spaces)"
    ),
    "functions.similarity": "similarity of the output of the model's layer on the base's input to "
    "the base's own output, by the chosen measure (no unit; 1 for equal outputs)",
    "random_similarity": "mean similarity of the layer's output to the base's after the model's "
    "weight change was rotated at random (no unit)",
    "ratio": "distance of the layer's output from the base's (1 - similarity), divided by that "
    "after random changes of equal spectrum (geometric mean; no unit; 1 for as far)",
    "low": "lower end of the 95 % interval of the value in the column before it (its unit)",
    "high": "upper end of the 95 % interval of that value (its unit)",
    "null_low": "lower end of the 95 % range of chance (unit of the value)",
    "null_high": "upper end of the 95 % range of chance (unit of the value)",
    "calibrated": "the similarity calibrated by chance level: (s - t) / (1 - t), with t the upper "
    "end of the range of chance (no unit; 0 at chance, 1 for equal spaces)",
    "calibrated_low": "lower end of the 95 % interval of the calibrated similarity, for a known "
    "chance level",
    "calibrated_high": "upper end of the 95 % interval of the calibrated similarity, for a known "
    "chance level",
    "relative_change": (
        "Frobenius norm of the weight change over that of the base's weights (share)"
    ),
    "apart": "how far the weights are from the base's, as a share of the distance of unrelated "
    "weights of equal norms (median over matrices)",
    "scaled": "share of the weight change that the model keeps: 1, or less where weight changes "
    "are matched in size",
    "runs": "how many fine-tuning runs the row averages",
    # probes
    "probe": "what the probe predicts: distance or depth (with control: of random trees), heads, "
    "label or pos",
    "metric": "the score: uuas, uas, las, root, accuracy and unseen, label and direction (of gold "
    "edges; all per cent); dspr and nspr (rank correlations); bits (per label); with selectivity: "
    "the score on real minus that on control trees",
    "value": "the score, in the metric's unit",
    "dev": "the score on development sentences, on which layers are chosen (the metric's unit)",
    "probes": "number of probes that the score averages, with different initial maps and "
    "orders of sentences, or different control trees",
    "sd": "standard deviation of the score over these probes (the metric's unit)",
    "rival": "the baseline, a simpler explanation of the score: position only, parts of speech "
    "(alone, or of three words), the static window (the model's embeddings of a word and its "
    "neighbours), layer 0 (the model's embeddings), or the reference of an untrained model",
    "rival_layer": "the baseline's layer; empty where it has none",
    "rival_value": "the baseline's score (the metric's unit)",
    "margin": "the score minus the baseline's (the metric's unit)",
    "difference": "the value minus that of its baseline (the value's unit)",
    "rank": "rank of the probe's linear map",
    # layer swaps
    "way": "which layers were swapped: below, above, layer, only, truncated or removed, with those "
    "of the base, noise or random weights",
    "score": "share of correct answers (of all answers of all sentences)",
    "loss": "the unmodified fine-tune's score minus this one (share)",
    "loss_low": "lower end of the 95 % interval of the loss (share)",
    "loss_high": "upper end of the 95 % interval of the loss (share)",
    "random_scale": "factor by which the random change was scaled so that the layer's output moves "
    "as far as when the layer is reverted (no unit; mean over draws)",
    "excess": "the loss minus that after a random change that moves the output as far (share)",
    "excess_low": "lower end of the 95 % interval of the excess (share)",
    "excess_high": "upper end of the 95 % interval of the excess (share)",
    "kept": "share of the way from chance to the unmodified fine-tune's score",
    "own.task": "what the task head predicts: sentence, words (tags) or arcs (heads)",
    "answers": "the source of the correct answers: labels, a parse, or the text's own annotation",
    "own.chance": "the majority baseline's score (share)",
    "commonest": "the majority answer among the examples; for heads, their most frequent relative "
    "position",
    "items": "number of answers scored",
    "sentences": "number of sentences with these answers",
    "self_difference": "largest difference of a logit after a swap with a copy of the model; 0 is "
    "identical, bit for bit",
    "whole_difference": "largest difference from the base's top state after a swap of all layers "
    "with the base's",
    "frozen_difference": "largest difference of a logit after a swap of layers that did not change",
    "sizes.unchanged": "whether every weight of the layer equals the base's, bit for bit",
    "frozen.of": "reference of the fine-tune of the same task without frozen layers",
    "frozen.layer": "highest frozen layer; all lower layers are frozen too",
    # benchmark with known answers
    "finder": "the score that ranks layers: a measure, depth (layer number) or weights (size of "
    "the weight change)",
    "truth.truth": "the known answer: frozen (fine-tunes with frozen lower layers) or planted "
    "(layers inserted into the base)",
    "reading": "what is compared at a layer: its state, the drop from the layer below, or (answer) "
    "its output on the base's input",
    "matched": "whether weight changes were scaled to the smallest one of their group",
    "rounding": "size of the rounding of the other model's matrices, over that of its weight "
    "change; 0 for no rounding",
    "auc": "area under the ROC curve: probability that a changed layer has a higher score than an "
    "unchanged one",
    "low_together": "lower end of the AUC, such that the ends of all measures hold together at "
    "97.5 %",
    "same_depth": "AUC over pairs of layers with the same number, for which depth is no help",
    "truth.changed": "number of changed layers",
    "truth.unchanged": "number of unchanged layers",
    "truth.models": "number of models with these layers",
    "fine_tunes": "number of fine-tunes that these models are, or were planted from",
    # through training
    "steps": "optimiser steps so far, from the card or the name",
    "tokens": "tokens seen so far, from the card",
    "loss.loss": "held-out loss on masked tokens (nats), from the card",
    "beyond": "the similarity minus that of another run's final model at the same layer (the first "
    "of --others)",
    "null_most": "upper end of the 95 % range of chance for the most similar of all layers (unit "
    "of the value)",
    "peaks.calibrated": "the similarity calibrated by chance for the most similar of all layers: "
    "(s - t) / (1 - t), with t = null_most (no unit; 0 at chance, 1 for equal spaces)",
    "clear": "whether the layer's interval is above every other layer's",
    # token map
    "word": "the word",
    "position": "its position in the passage, from 0",
    "highlighted": "whether it was chosen or belongs to the question, the answer or a supporting "
    "sentence",
    "role": "its role: question, answer, supporting sentence, highlighted, or other words",
    "tokens.predicted": "whether it is in the answer predicted by the model's span head at this "
    "layer",
    "first": "position of the answer's first word in the passage, from 0",
    "last": "position of the answer's last word in the passage, from 0",
    "span": "the words of the answer",
    "spans.chance": "probability of the answer's first and last subword among those of the passage",
    "f1": "F1 of its words and those of the given answer, as in SQuAD",
    "nearness.layer": "layer number at which the question is closest to its answer",
    "nearness.ratio": "the question's mean distance to its answer divided by that to the other "
    "words (below 1: closer to the answer)",
    "nearness.corrected_p": "p-value: share of equally long spans that are as close to the "
    "question at any layer; corrected for the models tested together (Bonferroni), at most 1",
    "equal_spans": "number of these spans, the answer among them",
    "axis": "axis of the plot, from 1",
    "explained": "share of the variance of all vectors along the axis",
    "tokens.x": "first principal component (units of scaled layers)",
    "tokens.y": "second principal component (units of scaled layers)",
}
COLUMNS: Mapping[str, str] = {
    **GENERAL,
    **behaviour.COLUMNS,
    **maps.COLUMNS,
    **models.COLUMNS,
    **probes.COLUMNS,
    **weights.COLUMNS,
}


def meaning(table: str, column: str) -> str | None:
    """Look up the meaning of a column of a table; None if it has none."""
    return COLUMNS.get(f"{table}.{column}", COLUMNS.get(column))


def describe(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, str]]:
    """Map each table to its columns and their meanings, without columns that have none."""
    return {
        name: {
            str(column): text for column in table.columns if (text := meaning(name, str(column)))
        }
        for name, table in tables.items()
    }
