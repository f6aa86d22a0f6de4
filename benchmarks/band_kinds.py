"""Which benchmark simulates which band: every function of `core` that computes ends of a band.

A test walks the code of `core` and compares, so that no band is drawn whose coverage nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import coverage

TABLES = ("coverage.txt", "band_coverage.txt", "seed_bands.txt")
SIMULATED: Mapping[str, tuple[str, ...]] = {
    "core.alignment.seeds.bands._band": (
        *("error of a map", "difference of maps", "app: jackknife, t"),
    ),
    "core.alignment.stitching.study._accuracy": ("share of texts",),
    "core.probes.behaviour.tables.behaviour_table": ("share of pairs (Wilson)",),
    "core.probes.behaviour.tables._margins": ("difference of shares of pairs",),
    "core.probes.behaviour.tables.correlation_table": ("rank correlation over models",),
    "core.probes.removal.tables._estimate": (
        *("erasure, loss", "erasure, cost", "erasure, cost of random subspaces"),
        "erasure, cost above random subspaces",
    ),
    "core.probes.structural.bands.summary": (
        *("probe score", "probe difference of models", "probe margin over a baseline"),
        *("lead of the best layer, all layers", "probe score, control trees", "probe selectivity"),
        *("linear chain, control trees", "accuracy, over sentences", "code length, over sentences"),
    ),
    "core.probes.trees.tables.attachment_row": ("attachment score",),
    "core.rsa.divergence.tables.correlate": ("rank correlation over words",),
    "core.rsa.divergence.tables.mean_band": ("mean divergence",),
    "core.rsa.layers.runs.pooled_band": (
        *("pooled runs, runs vary most", "pooled runs, runs vary as much"),
        "pooled runs, runs vary least",
    ),
    "core.rsa.measures.scoring.sentence_band": tuple(
        f"{measure}, {kind}" for kind in coverage.KINDS for measure in coverage.MEASURES
    ),
    "core.rsa.swap.scores.own_row": ("share of texts",),
    "core.rsa.swap.scores.exchange_rows": (
        *("swap, score", "swap, loss", "swap, excess", "swap, score of random changes"),
        "swap, loss of random changes",
    ),
    "core.rsa.truth.areas.area_band": ("AUC of states, planted models", "AUC of outputs"),
    "core.weights.intruders.scaling_tables._rows": (
        *("scaled directions, value", "scaled directions, change"),
        "scaled directions, beyond random ones",
    ),
}  # function -> names of its rows in TABLES
RANGES: Mapping[str, str] = {
    "core.alignment.attention.study._head_columns": "similarities of shuffled heads",
    "core.alignment.rotation.tables.error_tables": "errors of planted rotations",
    "core.alignment.rotation.tables.spectrum_table": "spectra of planted rotations",
    "core.rsa.measures.scoring.score": "chance level: sentences shuffled",
    "core.rsa.training.tasks.shuffle_layers": "chance level of the highest layer",
    "core.weights.intruders.tables.family_row": "counts of random updates",
    "core.weights.vectors.neighbours.calc_neighbour_shares": "shares of permuted labels",
}  # middle 95 % of draws under a null or a plant: they claim to hold no true value
UNBANDED: Mapping[str, str] = {
    "core.alignment.rotation.text._unevenness": "percentiles of singular values",
    "core.alignment.seeds.charts._boxes": "boxes of pairs",
    "core.probes.sentence.word_charts.distance_charts": "the end of a colour scale",
    "core.rsa.truth.areas._critical_value": "a t-statistic, of whose test `coverage` counts errors",
    "core.statistics.bootstrap_interval": "the percentile interval of an estimate itself",
    "core.statistics.interval": "the percentile interval itself",
    "core.statistics.jackknife_interval": "the jackknife's interval itself",
}  # quantiles that are no band
LABELS: Mapping[str, str] = {
    "probe margin over a baseline": "margin of a probe over a baseline of one row | 97 %",
    "probe score, control trees": "with 2 sets of control trees: the range of the intervals",
    "probe selectivity": "control trees and selectivity with 3 sets | 97 to 98 %",
    "linear chain, control trees": "the range of the intervals of both | 81 to 84 %",
    "swap, score of random changes": "swap with 10 random changes: their score and loss | 97 %",
    "swap, loss of random changes": "swap with 10 random changes: their score and loss | 97 %",
    "attachment score": "attachment scores and mean divergences from 30 sentences | 91 to 92 %",
    "accuracy, over sentences": "accuracy, attachment scores and mean divergences from 30",
    "mean divergence": "mean divergences from 30 sentences | 91 to 92 %",
    "rank correlation over words": "rank correlation over words | 91 to 94 %",
    "rank correlation over models": "rank correlation over 6 models | 99 %",
}  # row outside .93 to .97 -> what docs/statistics.md says of it
