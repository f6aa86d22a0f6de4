"""The data dictionary of minimal pairs: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

KIND = "kind of minimal pairs: agreement, reflexive, polarity, determiner or arguments; or all"
ACCURACY = "accuracy: share of pairs whose grammatical sentence is more probable (per cent)"

COLUMNS: Mapping[str, str] = {
    "behaviour.model": "reference of the model; or bigram, the baseline",
    "behaviour.kind": KIND,
    "behaviour.metric": ACCURACY,
    "behaviour.pairs": "number of minimal pairs",
    "behaviour_margins.kind": KIND,
    "behaviour_margins.metric": ACCURACY,
    "behaviour_margins.rival": "what the model is compared with: bigram, or the reference of the "
    "first step of its run",
    "behaviour_margins.rival_value": "accuracy of what it is compared with (per cent)",
    "behaviour_margins.margin": "accuracy of the model minus that of what it is compared with "
    "(points)",
    "beside.probe": "what the probe predicts: distance (of two words in the tree, by a structural "
    "probe; of the head, by a classifier), label or pos",
    "beside.metric": "the score: uuas of structural probes, accuracy of classifiers (per cent)",
    "beside.layer": "the model's best layer on the development sentences",
    "beside.behaviour": "accuracy on minimal pairs of all kinds (per cent)",
    "beside.behaviour_low": "lower end of the 95 % interval of that accuracy (per cent)",
    "beside.behaviour_high": "upper end of the 95 % interval of that accuracy (per cent)",
    "rank_correlations.probe": "what the probe predicts: distance (of two words in the tree, or of "
    "the head), label or pos",
    "rank_correlations.metric": "the probe's score: uuas or accuracy",
    "rank_correlations.kind": KIND,
    "among": "the models: all models, steps of a run, or final models",
    "rank_correlations.models": "number of models",
    "rank_correlations.correlation": "Spearman's correlation of the probe's score with accuracy on "
    "pairs, over models",
    "rank_correlations.p_value": "two-sided permutation p-value of the correlation, not corrected",
    "rank_correlations.corrected_p": "p-value, corrected for the correlations of the kind of pairs "
    "that are tested together (Bonferroni), at most 1",
    "rank_correlations.smallest_p": "smallest corrected p-value that so many models can give",
}
