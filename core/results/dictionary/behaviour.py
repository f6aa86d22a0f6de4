"""The data dictionary of minimal pairs: see `core.results.columns`."""

from __future__ import annotations

from collections.abc import Mapping

KIND = "kind of minimal pairs: agreement, reflexive, polarity, determiner or arguments; or all"
ACCURACY = (
    "accuracy: share of pairs whose critical region is more probable in the grammatical sentence "
    "(per cent)"
)

ERASED = "the score: accuracy on minimal pairs or uas (both per cent), or loss (nats per token)"

COLUMNS: Mapping[str, str] = {
    "behaviour.model": "reference of the model; or bigram, the baseline",
    "behaviour.kind": KIND,
    "behaviour.metric": ACCURACY,
    "behaviour.pairs": "number of minimal pairs",
    "behaviour.groups": "number of groups of pairs with the same differing words, which are not "
    "independent",
    "behaviour_margins.kind": KIND,
    "behaviour_margins.metric": ACCURACY,
    "behaviour_margins.rival": "what the model is compared with: bigram, the reference of the "
    "first step of its run, or whole sentences (the model itself, scored on all words)",
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
    # erased subspaces
    "removal.layer": "layer at which the subspace is erased; 0 is the embeddings",
    "erased": "what is erased: nothing, probe (the probe's subspace), random (random subspaces of "
    "the same rank), or random, equal change (scaled to the probe's change)",
    "removal.metric": ERASED,
    "removal.value": "the score; the mean over random subspaces (the metric's unit)",
    "cost": "how much worse the score is than with nothing erased (the metric's unit; points)",
    "cost_low": "lower end of the 95 % interval of the cost (the metric's unit; points)",
    "cost_high": "upper end of the 95 % interval of the cost (the metric's unit; points)",
    "change": "mean squared length of the change, over the variance of the states (share)",
    "removal_excess.layer": "layer at which the subspace is erased; 0 is the embeddings",
    "removal_excess.metric": ERASED,
    "removal_excess.rival": "random subspaces that the probe's is compared with: random, or "
    "random, equal change",
    "removal_excess.rival_value": "mean cost of erasing these (the metric's unit; points)",
    "removal_excess.margin": "cost of erasing the probe's subspace minus that mean (the metric's "
    "unit; points)",
    "rank_correlations.probe": "what the probe predicts: distance (of two words in the tree, or of "
    "the head), label or pos",
    "rank_correlations.metric": "the probe's score: uuas or accuracy",
    "rank_correlations.kind": KIND,
    "among": "the models: all models, steps of a run, or unrelated models (one of each origin)",
    "rank_correlations.models": "number of models",
    "rank_correlations.origins": "number of models that share no run and no base; a correlation is "
    "tested only where these are all",
    "rank_correlations.correlation": "Spearman's correlation of the probe's score with accuracy on "
    "pairs, over models",
    "rank_correlations.p_value": "two-sided permutation p-value of the correlation, not corrected; "
    "empty where models share a run or a base",
    "rank_correlations.corrected_p": "p-value, corrected for all correlations that are tested "
    "(Bonferroni), at most 1",
    "rank_correlations.smallest_p": "smallest corrected p-value that so many models can give",
}
