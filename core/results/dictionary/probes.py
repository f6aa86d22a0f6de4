"""The data dictionary of probes: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

TARGET = (
    "what the probe predicts: pos (part of speech), label (of a dependency) or distance (of the "
    "head)"
)

MODEL_OR_BASELINE = (
    "reference of the model; or a baseline without a model: position only, static window, parts of "
    "speech (alone, or with those of the words on either side: three words), identity of the word "
    "(word-lookup baseline), majority, linear chain, random tree, or parser"
)

POLAR = (
    "the score: las (edges predicted with head and label), uas (with head), uuas (without either), "
    "label (of gold edges, given the head) and direction (of gold edges), all per cent of edges"
)

COLUMNS: Mapping[str, str] = {
    **{
        f"{table}.model": MODEL_OR_BASELINE
        for table in ("scores", "edges", "polar", "codes", "arcs")
    },
    **{
        f"{table}.{end}": f"{side} end of the 95 % interval of the value (the metric's unit); of "
        "two draws of control trees or labels, or two probes of one layer alone, of the range of "
        "the intervals of both"
        for table in ("scores", "edges", "polar")
        for end, side in (("low", "lower"), ("high", "upper"))
    },
    "best_layers.metric": "the score: uuas, uas, las, root, accuracy, and label and direction of "
    "gold edges (all per cent); dspr and nspr (rank correlations)",
    "best_layers.probe": TARGET,
    "best_layer": "the layer that scores highest on development sentences",
    "best_layers.difference": "the score at the best layer minus that at this layer (the metric's "
    "unit)",
    "best_layers.low": "lower end of the interval of the difference, 95 % for all layers of the "
    "model together (the metric's unit)",
    "best_layers.high": "upper end of the interval of the difference, 95 % for all layers of the "
    "model together (the metric's unit)",
    "best_layers.level": "level of the interval of the difference at one layer (a share)",
    "tied": "whether the layer is not distinguishable from the best one: the interval of the "
    "difference is not above 0",
    "arcs": "which edges of the parse, by the distance of their words in the sentence: adjacent, "
    "2 words, 3 words, 4 or more words; or not adjacent, all but the adjacent ones",
    "arcs.edges": "number of these edges in the parses of the test sentences",
    "arcs.value": "UUAS of these edges, of each layer's first probe (per cent)",
    "arc_margins.rival_value": "the baseline's UUAS of these edges (per cent)",
    "arc_margins.margin": "UUAS of these edges minus the baseline's (points)",
    "added.rival": "what the layer beside the window is compared with: the static window alone, or "
    "layer 0 beside the window, which adds only what a reduction of the window lost",
    "added.rival_value": "the score of the static window (beside structural probes reduced to the "
    "layer's width), alone or with layer 0 (the metric's unit)",
    "added.margin": "the score of the layer beside the window minus that score (the metric's unit; "
    "of bits, a gain is below 0)",
    # edge probes
    "added.probe": TARGET,
    "edges.probe": TARGET,
    "codes.probe": TARGET,
    "edge_margins.probe": TARGET,
    "labels": "real; control, one random label per word type; or selectivity, the difference of "
    "the two",
    "edges.metric": "accuracy; unseen, the accuracy on unseen words (both per cent); bits of "
    "online code per label",
    "edge_margins.metric": "accuracy; unseen, the accuracy on unseen words (both per cent); bits "
    "per label",
    "edges.dev": "accuracy on development sentences, on which layers are chosen (per cent)",
    "edges.probes": "number of sets of control labels that the score averages; 1 for real labels",
    "edges.sd": "standard deviation of the score over these sets (the metric's unit)",
    "edge_margins.rival": "the baseline, a simpler explanation of the labels: majority, identity "
    "of the word, position only, parts of speech (alone, or of three words), the static window "
    "(the model's embeddings of a word and its neighbours), layer 0 (the model's embeddings), or "
    "the reference of an untrained model",
    "kilobits": "online code length of all training labels (kilobits)",
    "uniform_kilobits": "length of the uniform code of the same labels (kilobits)",
    "compression": "how many times shorter the online code is than the uniform one",
    "penalty": "ridge penalty of the classifier, chosen on development sentences unless it was "
    "set; empty for tables of counts",
    "reach": "words to each side that the static window reads, chosen on development sentences; "
    "empty for others",
    # polar probes
    "polar.labels": "real; control, one random label per type of dependent; or selectivity, the "
    "difference of the two",
    "polar.metric": POLAR,
    "polar.dev": "las on development sentences, on which layers are chosen (per cent)",
    "polar.probes": "number of probes that the score averages, with different initial maps and "
    "orders of sentences, or different control labels",
    "polar_margins.metric": POLAR,
    "polar_margins.rival": "the baseline, a simpler explanation of the score: position only, the "
    "linear chain, the static window (the model's embeddings of a word and its neighbours), layer "
    "0 (the model's embeddings), or the reference of an untrained model",
    # probes through training
    "best.layer": "best layer on the development sentences; 0 is the embeddings",
    "best.clear": "whether the layer is better than every other: the 95 % interval of each "
    "difference is above 0",
    "end_layer": "best layer of the final model",
    "ahead": "the score minus that of the final model's best layer in the same model (the metric's "
    "unit)",
    "ahead_low": "lower end of the interval of that difference, 95 % for all steps together (the "
    "metric's unit)",
    "ahead_high": "upper end of the interval of that difference, 95 % for all steps together (the "
    "metric's unit)",
    # one sentence in probe trees
    "sentence_words.position": "position of the word in its sentence, from 1",
    "sentence_words.word": "the word",
    "punctuation": "whether the word is punctuation, which is not part of the tree",
    "parse_head": "position of the word's head in the parse; 0 for the root",
    "predicted_head": "position of the word's head in the predicted tree; 0 for the root",
    "parse_label": "dependency label of the word in the parse, without its subtype; _ for none",
    "predicted_label": "dependency label that the polar probe predicts for the word; _ for none",
    "parse_depth": "edges between the word and the root of the parse",
    "predicted_depth": "squared norm of the word's vector under the depth probe; empty without a "
    "depth probe",
    "sentence_words.x": "first principal component of the distance probe's space (its units)",
    "sentence_words.y": "second principal component of the distance probe's space (its units)",
    "first_position": "position of the first word of the pair, from 1",
    "second_position": "position of the second word of the pair, from 1",
    "first_word": "the first word of the pair",
    "second_word": "the second word of the pair",
    "parse_distance": "edges between the two words in the parse",
    "predicted_distance": "squared distance of the two words under the distance probe",
}
